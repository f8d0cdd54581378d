package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// methodGIN is the access method of inverted indexes.
const methodGIN = "gin"

// checkInverted refuses what inverted indexes don't have.
func checkInverted(p *pendingIndex) error {
	refuse := func(what string) error {
		return pgerr.Unsupported("access method \"gin\" does not support %s", what)
	}
	switch {
	case p.unique:
		return refuse("unique indexes")
	case len(p.stored) > 0:
		return refuse("included columns")
	case p.sharded:
		return pgerr.Unsupported("hash-sharded inverted indexes are not supported").At(p.loc.Pos)
	case len(p.keys) > 1:
		return pgerr.Unsupported("inverted indexes on several columns are not supported").At(p.keys[1].Pos)
	}
	k := &p.keys[0]
	switch {
	case k.Hash:
		return pgerr.Unsupported("hashed keys in inverted indexes are not supported").At(k.Pos)
	case k.Dir != ast.DirDefault:
		return refuse("ASC/DESC options")
	case k.Nulls != ast.NullsDefault:
		return refuse("NULLS FIRST/LAST options")
	}
	return nil
}

// invertedColumn checks the column of an inverted index and chooses its operator class.
func invertedColumn(ctx context.Context, e *statement.Env, t *catalog.Table, k *ast.IndexElem) (catalog.IndexColumn, string, error) {
	col, err := keyColumn(ctx, e, t, k, false)
	if err != nil {
		return catalog.IndexColumn{}, "", err
	}
	if len(k.OpArgs) > 0 {
		return catalog.IndexColumn{}, "", pgerr.Unsupported("parameters of operator classes are not supported").At(k.Pos)
	}
	class, err := operatorClass(k.OpClass, keyType(col))
	if err != nil {
		return catalog.IndexColumn{}, "", err
	}
	if x := catalog.ExtensionOfClass(class.Name); x != "" && !e.Coll.HasExtension(ctx, x) {
		return catalog.IndexColumn{}, "", errNoOperatorClass(class.Name).WithHint("CREATE EXTENSION %s brings an operator class of that name.", ast.QuoteIdent(x))
	}
	return catalog.IndexColumn{Column: col.ID}, class.Name, nil
}

func errNoOperatorClass(name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "operator class \"%s\" does not exist for access method \"gin\"", name)
}

// operatorClass returns the operator class of a name, or the default one of a type.
func operatorClass(name []ast.Name, declared *types.T) (*inverted.Class, error) {
	t := declared.BaseType()
	if len(name) == 0 {
		if c := inverted.DefaultFor(t); c != nil {
			return c, nil
		}
		return nil, errNoClass(methodGIN, declared)
	}
	last := name[len(name)-1]
	c := inverted.ByName(last)
	if c == nil {
		return nil, errNoOperatorClass(last)
	}
	if !c.Accepts(t) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "operator class \"%s\" does not accept data type %s", last, types.FormatType(declared))
	}
	return c, nil
}

// CheckClasses makes sure that the indexes over a column serve its new type, and moves those
// that have the default operator class of the type from to that of the new one.
func CheckClasses(t *catalog.Table, col *catalog.Column, from *types.T) error {
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if err := reclassKeys(t, ix, col, from); err != nil {
			return err
		}
		if ix.Method() != catalog.MethodInverted || !slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Column == col.ID }) {
			continue
		}
		var name []ast.Name
		if c := inverted.ByName(ix.Inverted); c != nil && !c.Default {
			name = []ast.Name{c.Name}
		}
		c, err := operatorClass(name, col.Type)
		if err != nil {
			return err
		}
		ix.Inverted = c.Name
	}
	return nil
}

// hasKeys makes sure that the method of an index has a default operator class for a column's type.
func hasKeys(ix *catalog.Index, col *catalog.Column) error {
	if ix.Method() == catalog.MethodInverted || hasClass("btree", col.Type) {
		return nil
	}
	return errNoClass("btree", keyType(col))
}

// reclassKeys is CheckClasses of the keys that are ordered.
func reclassKeys(t *catalog.Table, ix *catalog.Index, col *catalog.Column, from *types.T) error {
	for i := range ix.Columns {
		k := &ix.Columns[i]
		if t.DeclaredKey(k) != col.ID {
			continue
		}
		if k.Collate != nil && !col.Type.Collatable() {
			return pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s", types.FormatType(col.Type))
		}
		if k.OpClass == "" || k.OpClass == defaultClass(from) {
			k.OpClass = ""
			if err := hasKeys(ix, col); err != nil {
				return err
			}
			continue
		}
		if err := CheckOpClass(&ast.IndexElem{OpClass: []ast.Name{k.OpClass}}, "btree", col.Type); err != nil {
			return err
		}
	}
	return nil
}
