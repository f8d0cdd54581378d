package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// attributes are the fields of a composite type that a statement changes.
type attributes struct {
	t       *catalog.Table
	def     types.Def
	from    []int // see types.Reshape
	renamed storedtext.FieldNames
	dropped []string // fields under their old names
	retyped []string
}

// notComposite is the error for a name that is not that of a composite type, which is looked for among
// relations.
func notComposite(ctx context.Context, e *statement.Env, n ast.TableName) error {
	t, _, err := e.Relation(ctx, n)
	switch {
	case err != nil:
		return err
	case t == nil:
		return catalog.UndefinedTable(n.Schema, n.Table)
	}
	return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a composite type", n.Table)
}

// AlterComposite is ALTER TYPE ... ADD, DROP, ALTER and RENAME ATTRIBUTE. Stored values get
// the fields that are added and lose those that are dropped.
func AlterComposite(ctx context.Context, e *statement.Env, st *ast.AlterComposite) error {
	t, err := LockType(ctx, e, st.Name)
	if err != nil {
		return err
	}
	if t == nil || !t.IsComposite() {
		return notComposite(ctx, e, st.Name)
	}
	a := &attributes{t: t, def: *t.UserType.Def, renamed: storedtext.FieldNames{}}
	a.def.Fields = slices.Clone(a.def.Fields)
	for i := range a.def.Fields {
		a.from = append(a.from, i)
	}
	for i := range st.Cmds {
		if err := alterAttribute(ctx, e, a, &st.Cmds[i]); err != nil {
			return err
		}
	}
	c := t.Clone()
	c.UserType = types.NewUserType(t.Oid, t.Name, ast.QuoteIdent(t.Name), &a.def)
	r := &types.Reshape{Oid: t.Oid, Fields: a.def.Fields, From: a.from}
	x := &restatement{u: c.UserType, fields: a.renamed}
	if r.Changes(len(t.UserType.Def.Fields)) {
		x.reshape = r
	}
	if err := restateFields(ctx, e, t, x); err != nil {
		return err
	}
	if err := e.Coll.Put(ctx, c); err != nil {
		return err
	}
	users, err := retypeUsers(ctx, e, c, c.UserType)
	if err != nil {
		return err
	}
	if err := unreadFields(ctx, e, a); err != nil {
		return err
	}
	if err := rereadFields(ctx, e, a); err != nil {
		return err
	}
	return reshapeUsers(ctx, e, users, r, len(t.UserType.Def.Fields))
}

// rereadFields fails if fields with other types are read by domains that can't be planned with
// them, or by anything else: what was checked, stored or indexed had the old ones.
func rereadFields(ctx context.Context, e *statement.Env, a *attributes) error {
	if len(a.retyped) == 0 {
		return nil
	}
	e.NextCommand()
	all, err := e.TablesOf(ctx, a.t.Database)
	if err != nil {
		return err
	}
	name := "." + ast.QuoteIdent(a.t.Name) // as storedtext.PinNames has left it
	for _, t := range all {
		switch {
		case t.Kind != catalog.KindType && storedtext.Mentions(t, name):
			return pgerr.Unsupported("cannot alter type \"%s\" because %s uses it", a.t.Name, e.Describe(ctx, t))
		case t.Kind == catalog.KindType && slices.ContainsFunc(a.retyped, func(f string) bool { return storedtext.Mentions(t, f) }):
			if err := planStored(ctx, e, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// unreadFields fails if something reads fields that are gone.
func unreadFields(ctx context.Context, e *statement.Env, a *attributes) error {
	for _, name := range a.dropped {
		if err := unread(ctx, e, a.t.Database, name, displayField(a.t, name), false); err != nil {
			return err
		}
	}
	for name := range a.renamed {
		if err := unread(ctx, e, a.t.Database, name, displayField(a.t, name), true); err != nil {
			return err
		}
	}
	return nil
}

// unstored refuses to change the type of a field whose values a relation holds.
func unstored(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	u, c, err := storedIn(ctx, e, t)
	if err != nil || u == nil {
		return err
	}
	return pgerr.Unsupported("cannot alter type \"%s\" because column \"%s.%s\" uses it", t.Name, u.Name, c.Name)
}

// alterAttribute changes one field.
func alterAttribute(ctx context.Context, e *statement.Env, a *attributes, c *ast.AttributeCmd) error {
	at := func(name string) int {
		return slices.IndexFunc(a.def.Fields, func(f types.FieldDef) bool { return f.Name == name })
	}
	i, t := at(c.Name), a.t
	switch {
	case c.Kind == ast.AttributeAdd:
		if i >= 0 {
			return errFieldExists(t, c.Name)
		}
		ft, err := attributeType(ctx, e, t, c)
		if err == nil {
			a.def.Fields, a.from = append(a.def.Fields, types.FieldDef{Name: c.Name, Type: ft}), append(a.from, -1)
		}
		return err
	case i < 0 && c.IfExists:
		e.Skip(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", c.Name, t.Name)
		return nil
	case i < 0 && c.Kind == ast.AttributeRename:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Name)
	case i < 0:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c.Name, t.Name)
	case c.Kind == ast.AttributeDrop:
		a.def.Fields, a.from = slices.Delete(a.def.Fields, i, i+1), slices.Delete(a.from, i, i+1)
		a.dropped = append(a.dropped, c.Name)
		return nil
	case c.Kind == ast.AttributeRename:
		if at(c.NewName) >= 0 {
			return errFieldExists(t, c.NewName)
		}
		a.def.Fields[i].Name = c.NewName
		a.renamed[c.Name] = c.NewName
		return nil
	}
	if err := unstored(ctx, e, t); err != nil {
		return err
	}
	ft, err := attributeType(ctx, e, t, c)
	if err == nil {
		a.def.Fields[i].Type = ft
		a.retyped = append(a.retyped, c.Name)
	}
	return err
}

func errFieldExists(t *catalog.Table, name string) error {
	return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", name, t.Name)
}

// attributeType is the type that a field gets.
func attributeType(ctx context.Context, e *statement.Env, t *catalog.Table, c *ast.AttributeCmd) (*types.T, error) {
	ft, domain, err := relations.ColumnType(ctx, e, c.Name, c.Type)
	switch {
	case err != nil:
		return nil, err
	case catalog.UsesType(ft.WithDomain(domain), t.Oid):
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself", t.Name)
	case relations.Levels(ft) >= relations.MaxTypeLevels:
		return nil, relations.ErrTypeTooDeep()
	}
	ft, err = storedtext.Collated(ctx, e, c.Collate, ft, c.Pos)
	return ft.WithDomain(domain), err
}
