package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// collation finds the collation that a COLLATE clause gives to a type, nil without one.
func (e *Env) collation(ctx context.Context, name []ast.Name, t *types.T, pos int) (*types.Collation, error) {
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

// collated returns t with the collation of a COLLATE clause.
func (e *Env) collated(ctx context.Context, name []ast.Name, t *types.T, pos int) (*types.T, error) {
	c, err := e.collation(ctx, name, t, pos)
	if err != nil || c == nil {
		return t, err
	}
	return t.WithCollation(c), nil
}

// collationRef is the name by which SQL refers to a collation from anywhere.
func (e *Env) collationRef(ctx context.Context, c *types.Collation) []ast.Name {
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

// keyCollation is the collation written for a key, nil if it is the column's.
func (e *Env) keyCollation(ctx context.Context, k *ast.IndexElem, col *catalog.Column) (*types.Collation, error) {
	c, err := e.collation(ctx, k.Collate, col.Type, k.Pos)
	if err != nil {
		return nil, err
	}
	own := col.Type.Collation()
	switch {
	case c == nil && own == types.NoCollation:
		return nil, pgerr.New(pgerr.IndeterminateCollation, "could not determine which collation to use for index expression").
			WithHint("Use the COLLATE clause to set the collation explicitly.")
	case c == nil:
		c = own
	}
	if c == nil || own != nil && c.Oid == own.Oid {
		return nil, nil
	}
	return c, nil
}

// errNoCollation says that the query of a table or view leaves the collation of a column open.
func errNoCollation(t *catalog.Table, c *catalog.Column) error {
	err := pgerr.New(pgerr.IndeterminateCollation, "no collation was derived for column \"%s\" with collatable type %s", c.Name, c.Type.SQLName)
	if t.Kind == catalog.KindView && !t.Materialized() {
		err = pgerr.New(pgerr.IndeterminateCollation, "could not determine which collation to use for view column \"%s\"", c.Name)
	}
	return err.WithHint("Use the COLLATE clause to set the collation explicitly.")
}

// sortKeys makes a key column one of sort keys, where a language's collation orders it: then the
// index has rows in that order. The pattern operator classes ask for the order of bytes. That
// also serves unique indexes, unless the collation takes strings for equal that differ.
func (e *Env) sortKeys(ctx context.Context, t *catalog.Table, k *catalog.IndexColumn, unique bool) error {
	col, c := &t.Columns[t.ColumnByID(k.Column)], keyedBy(t, k)
	if c == nil || c.Bytewise() || unique && !c.Nondeterministic || col.Virtual || col.Type.Elem != nil || strings.HasSuffix(k.OpClass, "_pattern_ops") {
		return nil
	}
	key, err := e.expressionColumn(ctx, t, &ast.FuncCall{Name: ast.FuncName{Name: "collation_key"}, Args: []ast.Expr{
		&ast.ColumnRef{Column: col.Name}, &ast.StrLit{Val: c.Locale}, &ast.BoolLit{Val: !c.Nondeterministic},
	}})
	if err == nil {
		k.Column, k.SortKey = key.ID, true
	}
	return err
}

// keyedBy is the collation of a key column that is not one of sort keys, nil if its type has
// none.
func keyedBy(t *catalog.Table, k *catalog.IndexColumn) *types.Collation {
	if k.Collate != nil {
		return k.Collate
	}
	return t.Columns[t.ColumnByID(k.Column)].Type.Collation()
}

// byteKey refuses keys that are compared by their bytes though others are equal too.
func byteKey(t *catalog.Table, k *catalog.IndexColumn) error {
	if c := keyedBy(t, k); !k.SortKey && c != nil && c.Nondeterministic {
		return errByteKey(c)
	}
	return nil
}

func errByteKey(c *types.Collation) error {
	return pgerr.Unsupported("keys with the nondeterministic collation \"%s\" are not supported", c.Name).
		WithHint("CREATE UNIQUE INDEX makes such a column unique.")
}

// inKey reports whether a column is part of the key of an index or of a foreign key.
func inKey(t *catalog.Table, id catalog.ColumnID) bool {
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
