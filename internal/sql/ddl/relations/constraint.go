package relations

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// UnsupportedConstraint refuses the kinds of constraint that are not there yet.
func UnsupportedConstraint(c *ast.Constraint) error {
	return pgerr.Unsupported("this kind of constraint is not supported").At(c.Pos)
}

// Deferrable reports whether a constraint may be checked late: whether that was
// declared, or follows from what was.
func Deferrable(c *ast.Constraint) bool { return c.Deferrable || c.InitiallyDeferred }

func undefinedKeyColumn(name string) error {
	return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" named in key does not exist", name)
}

// dialectPrimary is the constraint name that one dialect gives every primary
// key; its index is called as usual.
const dialectPrimary = "primary"

// KeyConstraint makes the index of a PRIMARY KEY or UNIQUE constraint.
func KeyConstraint(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, c PendingConstraint) (catalog.Index, error) {
	keys := c.Keys
	if c.Column != "" {
		keys = []ast.IndexElem{{Loc: c.Loc, Column: c.Column}}
	}
	p := pendingIndex{
		loc: c.Loc, name: c.Name, unique: true, keys: keys, stored: c.Include, constraint: true,
		primary: c.Kind == ast.ConstrPrimaryKey, nullsNotDistinct: c.NullsNotDistinct,
		sharded: c.Sharded, buckets: c.Buckets, deferrable: Deferrable(c.Constraint), deferred: c.InitiallyDeferred,
	}
	if p.primary && c.Name == dialectPrimary {
		p.name = statement.ObjectName(t.Name, "", "pkey")
	}
	if c.Kind == ast.ConstrExclude {
		if err := equalityOnly(c.Constraint); err != nil {
			return catalog.Index{}, err
		}
		p.exclusion, p.where = true, c.Where
	}
	var err error
	if p.options, err = StorageOptions(e, nil, c.With, IndexParameters(c.Method)); err != nil {
		return catalog.Index{}, err
	}
	if c.Tablespace != "" && c.Tablespace != catalog.DefaultTablespace {
		return catalog.Index{}, pgerr.Unsupported("USING INDEX TABLESPACE is not supported").At(c.Pos).
			WithHint("ALTER INDEX ... SET TABLESPACE moves the index of a constraint.")
	}
	ix, err := newIndex(ctx, e, t, schema, p)
	if err != nil {
		return ix, err
	}
	ix.ConstraintName = ix.Name
	if p.primary && c.Name == dialectPrimary {
		ix.ConstraintName = dialectPrimary
	}
	if t.IndexByName(ix.ConstraintName) != nil {
		return ix, pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", ix.ConstraintName)
	}
	if ConstraintExists(t, ix.ConstraintName) {
		return ix, DuplicateConstraint(t, ix.ConstraintName)
	}
	ix.ConstraintOid, err = e.Coll.NewOid(ctx)
	return ix, err
}

// equalityOnly accepts the exclusion constraints that forbid rows with equal keys.
func equalityOnly(c *ast.Constraint) error {
	for _, op := range c.ExcludeOps {
		if op.Name != "=" {
			return pgerr.Unsupported("exclusion constraints with operator %s are not supported", op.Name).
				WithHint("Only = is.").At(c.Pos)
		}
	}
	switch c.Method {
	case "", "btree", "gist", "hash":
		return nil
	}
	return pgerr.Unsupported("access method \"%s\" does not support exclusion constraints", c.Method).At(c.Pos)
}

// ConstraintExists reports whether t has a constraint of that name.
func ConstraintExists(t *catalog.Table, name string) bool {
	return t.ForeignKeyByName(name) >= 0 ||
		slices.ContainsFunc(t.Checks, func(c catalog.Check) bool { return c.Name == name }) ||
		slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool { return ix.Constraint && ix.ConstraintName == name })
}

// DuplicateConstraint says that t has a constraint of that name.
func DuplicateConstraint(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", name, t.Name)
}

// AddCheck adds a CHECK constraint to t; the caller checks the expression.
func AddCheck(ctx context.Context, e *statement.Env, t *catalog.Table, c PendingConstraint) error {
	text, cols, err := storedtext.RowText(ctx, e, t, c.X, nil, storedtext.InCheck)
	if err != nil {
		return storedtext.Placed(e, err)
	}
	k := catalog.Check{Name: c.Name, Expr: text, Columns: cols, NoInherit: c.NoInherit}
	switch {
	case k.Name == "":
		part := ""
		if len(cols) == 1 {
			part = t.Columns[t.ColumnByID(cols[0])].Name
		}
		k.Name = statement.ObjectName(t.Name, part, "check")
		for n := 1; ConstraintExists(t, k.Name); n++ {
			k.Name = statement.ObjectName(t.Name, part, "check"+strconv.Itoa(n))
		}
	case ConstraintExists(t, k.Name):
		checked := t.Clone()
		checked.Checks = append(checked.Checks, k)
		if err := storedtext.CheckExprs(ctx, e, checked); err != nil {
			return err
		}
		return DuplicateConstraint(t, k.Name)
	}
	if k.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.Checks = append(t.Checks, k)
	return nil
}
