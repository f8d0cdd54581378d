package alter

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DropUsersOfExtension drops what depends on an extension, or says why not.
func DropUsersOfExtension(ctx context.Context, e *statement.Env, x *catalog.CreatedExtension, cascade bool) error {
	in, _ := e.Coll.PeekExtensionSchema(ctx, x.Name)
	if in == nil {
		return nil
	}
	d := newDropper(e, cascade)
	d.extension = x.Name
	var err error
	if d.all, err = e.TablesOf(ctx, e.Coll.CurrentDatabase().ID); err != nil {
		return err
	}
	d.used, d.casts = usedTypes(d.all), castTexts(d.all)
	for i, t := range types.OfExtension(x.Name) {
		if t.Elem == nil {
			d.target(typeAsObject(in, t, catalog.ID(i)))
		}
	}
	brought := len(d.objects)
	for _, t := range d.all {
		if t.Extension == x.Name {
			if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
				return err
			}
			d.target(t)
		}
	}
	for i := 0; i < len(d.objects); i++ {
		if err := d.expand(ctx, d.objects[i]); err != nil {
			return err
		}
	}
	if err := d.callersOfExtension(ctx, x.Name); err != nil {
		return err
	}
	d.classesOfExtension(x.Name)
	if err := d.report(ctx); err != nil {
		return err
	}
	return d.drop(ctx, d.objects[brought:])
}

// dropExtensionsIn drops, with CASCADE, the extensions whose objects are in a schema that is dropped.
func dropExtensionsIn(ctx context.Context, e *statement.Env, s *catalog.Schema, cascade bool) error {
	var gone []catalog.CreatedExtension
	for _, x := range e.Coll.CurrentDatabase().Extensions {
		if in, _ := e.Coll.PeekExtensionSchema(ctx, x.Name); in != nil && in.ID == s.ID {
			gone = append(gone, x)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	if !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", ast.QuoteIdent(s.Name)).
			WithDetail("extension %s depends on schema %s", gone[0].Name, ast.QuoteIdent(s.Name)).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	old, err := e.LockDatabaseTo(ctx, e.Coll.CurrentDatabase().Name, func(*catalog.Database) error { return nil })
	if err != nil || old == nil {
		return err
	}
	d := *old
	d.Extensions = slices.Clone(old.Extensions)
	for _, x := range gone {
		e.CascadeNotice([]string{"extension " + ast.QuoteIdent(x.Name)})
		if err := DropUsersOfExtension(ctx, e, &x, true); err != nil {
			return err
		}
		d.Extensions = slices.DeleteFunc(d.Extensions, func(c catalog.CreatedExtension) bool { return c.Name == x.Name })
	}
	return e.Coll.Put(ctx, &d)
}

// firstBroughtID is where the ids of descriptors begin that are made for types of extensions, which have none.
const firstBroughtID = catalog.ID(1) << 60

// belongs is the error for dropping what an extension brought, nil for anything else.
func (d *dropper) belongs(ctx context.Context, t *catalog.Table) error {
	if t.Extension == "" || t.Extension == d.extension {
		return nil
	}
	what, x := d.e.Describe(ctx, t), "extension "+ast.QuoteIdent(t.Extension)
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because %s requires it", what, x).WithHint("You can drop %s instead.", x)
}

// typeAsObject is a descriptor for a type of an extension, for those who look for what depends on one.
func typeAsObject(in *catalog.Schema, t *types.T, n catalog.ID) *catalog.Table {
	u := *t
	u.Def = &types.Def{Kind: types.DefDomain} // without casts of its own
	return &catalog.Table{ID: firstBroughtID + n, Oid: t.Oid, Name: t.Name, Database: in.Database, Schema: in.ID, Kind: catalog.KindType, UserType: &u}
}

// callersOfExtension notes what calls the functions of an extension that have names of their own.
func (d *dropper) callersOfExtension(ctx context.Context, extension string) error {
	if err := d.aggregatesOf(ctx, extension); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, o := range builtin.OfExtension(extension) {
		if o.Operator || seen[o.Name] || len(builtin.Functions(o.Name)) > 0 || len(builtin.Aggregates(o.Name)) > 0 {
			continue
		}
		seen[o.Name] = true
		on := "function " + call.CallText(o.Name, false, o.Args)
		if err := d.callersThat(ctx, func(*catalog.Table) func(string) bool { return callsOf(o.Name) }, on); err != nil {
			return err
		}
	}
	return nil
}

// aggregatesOf notes the aggregates that compute with a function of an extension, and what calls them.
func (d *dropper) aggregatesOf(ctx context.Context, extension string) error {
	brought := map[uint32]*call.Overload{}
	for _, o := range builtin.OfExtension(extension) {
		brought[o.Oid] = o
	}
	for _, t := range d.all {
		if t.Routine == nil || t.Routine.Aggregate == nil {
			continue
		}
		for _, f := range t.Routine.Aggregate.Functions() {
			o := brought[f.Oid]
			if o == nil || f.ID != 0 || d.in[t.ID] {
				continue
			}
			if err := d.e.Coll.LockExclusive(ctx, t.ID); err != nil {
				return err
			}
			d.dependent(t, "function "+call.CallText(o.Name, false, o.Args))
			if err := d.expand(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// callsOf returns a test whether a stored text calls a function of a name.
func callsOf(name string) func(text string) bool {
	return anyCall(name, func(c *ast.FuncCall) bool { return c.Name.Name == name })
}

// anyCall returns a test whether a stored text has a call of a name for which is holds.
func anyCall(name string, is func(c *ast.FuncCall) bool) func(text string) bool {
	return func(text string) bool {
		return strings.Contains(text, name) && anyNode(text, func(n ast.Node) bool {
			c, ok := n.(*ast.FuncCall)
			return ok && is(c)
		})
	}
}

// anyNode reports whether is holds for a node of a stored text, an expression or a statement.
func anyNode(text string, is func(ast.Node) bool) bool {
	var root ast.Node
	if x, err := parser.ParseExpr(text); err == nil {
		root = x
	} else if st, err := parser.ParseStored(text); err == nil {
		root = st.AST
	}
	found := false
	if root != nil {
		ast.Walk(root, func(n ast.Node) bool {
			found = found || is(n)
			return !found
		})
	}
	return found
}

// classesOfExtension notes the indexes with an operator class of an extension, other than those on columns of its types.
func (d *dropper) classesOfExtension(extension string) {
	for _, t := range d.all {
		for i := range t.Indexes {
			ix := &t.Indexes[i]
			for _, k := range ix.Columns {
				if k.OpClass != "" && catalog.ExtensionOfClass(k.OpClass) == extension {
					d.others = append(d.others, "index "+ast.QuoteIdent(ix.Name)+" depends on operator class "+k.OpClass)
				}
			}
		}
	}
}

// undroppable is the error for what does not go with an extension, though CASCADE asks for it.
func undroppable(list []string) error {
	return pgerr.Unsupported("dropping an extension with what else depends on it is not supported").
		WithDetail("%s", strings.Join(list, "\n")).WithHint("Drop it first.")
}
