package storedtext

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Collation finds the collation that a COLLATE clause gives to a type, nil without one.
func Collation(ctx context.Context, e *statement.Env, name []ast.Name, t *types.T, pos int) (*types.Collation, error) {
	if len(name) == 0 {
		return nil, nil
	}
	if !t.Collatable() {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", types.FormatType(t.WithTypmod(-1))).At(pos)
	}
	c, _, err := planner.FindCollation(ctx, name, e.Coll)
	if err != nil {
		return nil, pgerr.From(err).At(pos)
	}
	return c, nil
}

// Collated returns t with the collation of a COLLATE clause.
func Collated(ctx context.Context, e *statement.Env, name []ast.Name, t *types.T, pos int) (*types.T, error) {
	c, err := Collation(ctx, e, name, t, pos)
	if err != nil || c == nil {
		return t, err
	}
	return t.WithCollation(c), nil
}

// CollationRef is the name by which SQL refers to a collation from anywhere.
func CollationRef(ctx context.Context, e *statement.Env, c *types.Collation) []ast.Name {
	if c.BuiltIn() {
		return []ast.Name{"pg_catalog", c.Name}
	}
	if d := e.Coll.PeekByOid(ctx, c.Oid); d != nil {
		if s, err := e.Coll.Peek(ctx, d.Schema); err == nil && s != nil {
			return []ast.Name{s.Ident().Name, d.Name}
		}
	}
	return []ast.Name{c.Name}
}

// KeyCollation is the collation written for a key, nil if it is the column's.
func KeyCollation(ctx context.Context, e *statement.Env, k *ast.IndexElem, col *catalog.Column) (*types.Collation, error) {
	c, err := Collation(ctx, e, k.Collate, col.Type, k.Pos)
	if err != nil {
		return nil, err
	}
	own := col.Type.Collation()
	switch {
	case c == nil && own == types.NoCollation:
		return nil, pgerr.UndecidedCollation("index expression")
	case c == nil:
		c = own
	}
	if c == nil || own != nil && c.Oid == own.Oid {
		return nil, nil
	}
	return c, nil
}

// ErrNoCollation says that the query of a table or view leaves the collation of a column open.
func ErrNoCollation(t *catalog.Table, c *catalog.Column) error {
	err := pgerr.New(pgerr.IndeterminateCollation, "no collation was derived for column \"%s\" with collatable type %s", c.Name, c.Type.SQLName)
	if t.Kind == catalog.KindView && !t.Materialized() {
		err = pgerr.New(pgerr.IndeterminateCollation, "could not determine which collation to use for view column \"%s\"", c.Name)
	}
	return err.WithHint("Use the COLLATE clause to set the collation explicitly.")
}

// KeyedBy is the collation of a key column that is not one of sort keys, nil if its type has
// none.
func KeyedBy(t *catalog.Table, k *catalog.IndexColumn) *types.Collation {
	if k.Collate != nil {
		return k.Collate
	}
	return t.Columns[t.ColumnByID(k.Column)].Type.Collation()
}

// ByteKey refuses keys that are compared by their bytes though others are equal too.
func ByteKey(t *catalog.Table, k *catalog.IndexColumn) error {
	if c := KeyedBy(t, k); !k.SortKey && c != nil && c.Nondeterministic {
		return ErrByteKey(c)
	}
	return nil
}

// ErrByteKey says that a collation that calls different strings equal cannot order a key.
func ErrByteKey(c *types.Collation) error {
	return pgerr.Unsupported("keys with the nondeterministic collation \"%s\" are not supported", c.Name).
		WithHint("CREATE UNIQUE INDEX makes such a column unique.")
}

// InKey reports whether a column is part of the key of an index or of a foreign key.
func InKey(t *catalog.Table, id catalog.ColumnID) bool {
	for i := range t.Indexes {
		for _, k := range t.Declared(&t.Indexes[i]).Columns {
			if k.Column == id && k.Collate == nil {
				return true
			}
		}
	}
	for i := range t.ForeignKeys {
		if slices.Contains(t.ForeignKeys[i].Columns, id) {
			return true
		}
	}
	return false
}

// pinCollation gives the name of a user-defined collation its schema.
func pinCollation(ctx context.Context, e *statement.Env, n *ast.Collate) error {
	if len(n.Name) != 1 {
		return nil
	}
	t, err := e.Coll.FindCollation(ctx, "", n.Name[0])
	if err != nil || t == nil {
		return err
	}
	s, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err == nil {
		n.Name = []ast.Name{s.Name, n.Name[0]}
	}
	return err
}
