package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// alterComposite is ALTER TYPE ... ADD, DROP, ALTER and RENAME ATTRIBUTE. Stored values
// have the fields of their time, so only a type that no relation has columns of gets
// others; a name is changed at any time.
func (e *Env) alterComposite(ctx context.Context, st *ast.AlterComposite) error {
	t, err := e.lockType(ctx, st.Name)
	if err != nil {
		return err
	}
	if t == nil || t.UserType.Def.Kind != types.DefComposite {
		return e.undefinedRelation(ctx, st.Name)
	}
	def := *t.UserType.Def
	def.Fields = slices.Clone(def.Fields)
	for i := range st.Cmds {
		c := &st.Cmds[i]
		if c.Kind != ast.AttributeRename {
			if err := e.unstored(ctx, t); err != nil {
				return err
			}
		}
		if err := e.alterAttribute(ctx, t, &def, c); err != nil {
			return err
		}
	}
	return e.redefineType(ctx, t, &def)
}

// unstored refuses to change the fields of a type that a relation has a column of.
func (e *Env) unstored(ctx context.Context, t *catalog.Table) error {
	users, err := e.usersOfType(ctx, t)
	if err != nil {
		return err
	}
	for _, u := range users {
		for i := range u.Columns {
			if c := &u.Columns[i]; usesType(c, t.Oid) {
				return pgerr.Unsupported("cannot alter type \"%s\" because column \"%s.%s\" uses it", t.Name, u.Name, c.Name)
			}
		}
	}
	return nil
}

// alterAttribute changes one field of a definition.
func (e *Env) alterAttribute(ctx context.Context, t *catalog.Table, def *types.Def, c *ast.AttributeCmd) error {
	at := func(name string) int {
		return slices.IndexFunc(def.Fields, func(f types.FieldDef) bool { return f.Name == name })
	}
	i := at(c.Name)
	switch {
	case c.Kind == ast.AttributeAdd:
		if i >= 0 {
			return errFieldExists(t, c.Name)
		}
		ft, err := e.attributeType(ctx, t, c)
		if err == nil {
			def.Fields = append(def.Fields, types.FieldDef{Name: c.Name, Type: ft})
		}
		return err
	case i < 0 && c.IfExists:
		e.skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", c.Name, t.Name)
		return nil
	case i < 0 && c.Kind == ast.AttributeRename:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	case i < 0:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c.Name, t.Name)
	case c.Kind == ast.AttributeDrop:
		def.Fields = slices.Delete(def.Fields, i, i+1)
		return nil
	case c.Kind == ast.AttributeRename:
		if at(c.NewName) >= 0 {
			return errFieldExists(t, c.NewName)
		}
		def.Fields[i].Name = c.NewName
		return nil
	}
	ft, err := e.attributeType(ctx, t, c)
	if err == nil {
		def.Fields[i].Type = ft
	}
	return err
}

func errFieldExists(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", name, t.Name)
}

// maxTypeLevels bounds how deep composite types nest: each level may double the quotes in
// the text of a value, and what is stored nests no deeper than types.T.Fits allows.
const maxTypeLevels = 16

// levels returns how many composite types stand within each other in t.
func levels(t *types.T) int {
	n := 0
	switch {
	case t == nil:
	case t.Elem != nil:
		n = levels(t.Elem)
	case t.IsDomain():
		n = levels(t.Def.Base)
	case t.Family == types.RecordFamily:
		for _, f := range t.Fields() {
			n = max(n, levels(f.Type))
		}
		n++
	}
	return n
}

func errTypeTooDeep() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "composite types nest deeper than %d levels", maxTypeLevels)
}

// attributeType is the type that a field gets.
func (e *Env) attributeType(ctx context.Context, t *catalog.Table, c *ast.AttributeCmd) (*types.T, error) {
	ft, domain, err := e.columnType(ctx, c.Name, c.Type)
	switch {
	case err != nil:
		return nil, err
	case catalog.UsesType(ft.WithDomain(domain), t.Oid):
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself", t.Name)
	case levels(ft) >= maxTypeLevels:
		return nil, errTypeTooDeep()
	}
	ft, err = e.collated(ctx, c.Collate, ft, c.Pos)
	return ft.WithDomain(domain), err
}
