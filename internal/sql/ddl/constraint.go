package ddl

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// unsupportedConstraint refuses the kinds of constraint that are not there yet.
func unsupportedConstraint(c *ast.Constraint) error {
	return pgerr.Unsupported("this kind of constraint is not supported").At(c.Pos)
}

// deferrable reports whether a constraint may be checked late: whether that was
// declared, or follows from what was.
func deferrable(c *ast.Constraint) bool { return c.Deferrable || c.InitiallyDeferred }

func undefinedKeyColumn(name string) error {
	return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" named in key does not exist", name)
}

// dialectPrimary is the constraint name that one dialect gives every primary
// key; its index is called as usual.
const dialectPrimary = "primary"

// keyConstraint makes the index of a PRIMARY KEY or UNIQUE constraint.
func (e *Env) keyConstraint(ctx context.Context, t *catalog.Table, schema string, c pendingConstraint) (catalog.Index, error) {
	keys := c.Keys
	if c.column != "" {
		keys = []ast.IndexElem{{Loc: c.Loc, Column: c.column}}
	}
	p := pendingIndex{
		loc: c.Loc, name: c.Name, unique: true, keys: keys, stored: c.Include, constraint: true,
		primary: c.Kind == ast.ConstrPrimaryKey, nullsNotDistinct: c.NullsNotDistinct,
		sharded: c.Sharded, buckets: c.Buckets, deferrable: deferrable(c.Constraint), deferred: c.InitiallyDeferred,
	}
	if p.primary && c.Name == dialectPrimary {
		p.name = objectName(t.Name, "", "pkey")
	}
	if c.Kind == ast.ConstrExclude {
		if err := equalityOnly(c.Constraint); err != nil {
			return catalog.Index{}, err
		}
		p.exclusion, p.where = true, c.Where
	}
	var err error
	if p.options, err = e.storageOptions(nil, c.With, indexParameters(c.Method)); err != nil {
		return catalog.Index{}, err
	}
	if c.Tablespace != "" && c.Tablespace != catalog.DefaultTablespace {
		return catalog.Index{}, pgerr.Unsupported("USING INDEX TABLESPACE is not supported").At(c.Pos).
			WithHint("ALTER INDEX ... SET TABLESPACE moves the index of a constraint.")
	}
	ix, err := e.newIndex(ctx, t, schema, p)
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
	if constraintExists(t, ix.ConstraintName) {
		return ix, duplicateConstraint(t, ix.ConstraintName)
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

func constraintExists(t *catalog.Table, name string) bool {
	return t.ForeignKeyByName(name) >= 0 ||
		slices.ContainsFunc(t.Checks, func(c catalog.Check) bool { return c.Name == name }) ||
		slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool { return ix.Constraint && ix.ConstraintName == name })
}

func duplicateConstraint(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", name, t.Name)
}

// addCheck adds a CHECK constraint to t; the caller checks the expression.
func (e *Env) addCheck(ctx context.Context, t *catalog.Table, c pendingConstraint) error {
	text, cols, err := e.rowText(ctx, t, c.X, nil, inCheck)
	if err != nil {
		return e.placed(err)
	}
	k := catalog.Check{Name: c.Name, Expr: text, Columns: cols, NoInherit: c.NoInherit}
	switch {
	case k.Name == "":
		part := ""
		if len(cols) == 1 {
			part = t.Columns[t.ColumnByID(cols[0])].Name
		}
		k.Name = objectName(t.Name, part, "check")
		for n := 1; constraintExists(t, k.Name); n++ {
			k.Name = objectName(t.Name, part, "check"+strconv.Itoa(n))
		}
	case constraintExists(t, k.Name):
		checked := t.Clone()
		checked.Checks = append(checked.Checks, k)
		if err := e.checkExprs(ctx, checked); err != nil {
			return err
		}
		return duplicateConstraint(t, k.Name)
	}
	if k.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.Checks = append(t.Checks, k)
	return nil
}
