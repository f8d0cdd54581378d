package ddlevents

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// dropped collects what a statement has dropped.
type dropped struct {
	Names
	named map[string]bool // by DROP
	of    ast.ObjectKind  // what the names of DROP are, if it has any
	cast  bool            // DROP CAST
	rows  []call.DroppedObject
}

// Dropped lists what a statement has dropped: objects with what was part of them, and parts of objects that stay.
func Dropped(stmt ast.Statement, changes []catalog.Changed, n Names) []call.DroppedObject {
	d := &dropped{Names: n, named: map[string]bool{}}
	switch s := stmt.(type) {
	case *ast.DropCast:
		d.cast = true
	case *ast.Drop:
		d.of = s.Kind
		for _, name := range s.Names {
			d.named[name.Table] = true
		}
	case *ast.DropRoutine:
		for _, r := range s.Refs {
			d.named[r.Name.Table] = true
		}
	}
	for _, original := range []bool{true, false} { // the statement's own objects come first
		for _, c := range changes {
			if c.New != nil {
				continue
			}
			switch old := c.Old.(type) {
			case *catalog.Schema:
				if d.named[old.Name] == original {
					name := ast.QuoteIdent(old.Name)
					d.rows = append(d.rows, call.DroppedObject{
						Class: pgNamespace, Oid: old.Oid, Original: original, Normal: !original, Type: "schema", Name: name, Identity: name, Names: []string{old.Name},
					})
				}
			case *catalog.Table:
				if (d.named[old.Name] && d.of != ast.ObjStatistics) == original {
					d.object(old, original)
				}
			}
		}
	}
	drop, objects := stmt.(*ast.Drop)
	objects = objects && drop.Kind != ast.ObjIndex
	if _, ok := stmt.(*ast.DropRoutine); ok {
		objects = true
	}
	each(changes, func(old, t *catalog.Table) { d.parts(old, t, !objects) })
	for _, c := range changes {
		if old, ok := c.Old.(*catalog.Database); ok {
			if now, ok := c.New.(*catalog.Database); ok {
				d.extensions(old, now)
			}
		}
	}
	return d.rows
}

func (d *dropped) extensions(old, now *catalog.Database) {
	for i := range old.Extensions {
		if x := &old.Extensions[i]; now.ExtensionNamed(x.Name) == nil {
			name := ast.QuoteIdent(x.Name)
			d.rows = append(d.rows, call.DroppedObject{Class: pgExtension, Oid: x.Oid, Original: true, Type: "extension", Name: name, Identity: name, Names: []string{x.Name}})
		}
	}
}

// schemaOf names the schema of a descriptor.
func (d *dropped) schemaOf(t *catalog.Table) (string, bool) {
	name, temp := d.Schema(t.Schema)
	if temp {
		name = "pg_temp"
	}
	return name, temp
}

// object adds an object, and its parts.
func (d *dropped) object(t *catalog.Table, original bool) {
	schema, temp := d.schemaOf(t)
	in, name := ast.QuoteIdent(schema), ast.QuoteIdent(t.Name)
	o := call.DroppedObject{
		Class: classOf(t), Oid: t.Oid, Original: original, Normal: !original, Temporary: temp, Type: access.Noun(t),
		Schema: in, Name: name, Identity: in + "." + name, Names: []string{schema, t.Name},
	}
	switch {
	case t.Kind == catalog.KindRoutine:
		if o.Name = ""; t.OwnOperator() {
			o.Identity = in + "." + t.Name
		}
		for _, a := range t.Routine.IdentityTypes() {
			o.Args = append(o.Args, d.typeName(a))
		}
		shown := o.Args
		if t.OwnOperator() && len(shown) == 1 {
			shown = []string{"NONE", shown[0]}
			o.Args = []string{"-", o.Args[0]}
		}
		o.Identity += "(" + strings.Join(shown, ",") + ")"
	case t.Kind == catalog.KindType:
		o.Names = []string{o.Identity}
	}
	d.rows = append(d.rows, o)
	switch {
	case t.Kind == catalog.KindType:
		d.typeParts(t, o)
	case t.HasRows():
		d.rowTypes(t, o)
	}
	if t.View != nil {
		d.rows = append(d.rows, call.DroppedObject{
			Class: pgRewrite, Normal: true, Temporary: temp, Type: "rule", Identity: "\"_RETURN\" on " + o.Identity, Names: []string{schema, t.Name, "_RETURN"},
		})
	}
	d.parts(t, nil, false)
}

// typeParts adds the type of arrays, and the checks of a domain.
func (d *dropped) typeParts(t *catalog.Table, o call.DroppedObject) {
	def := t.UserType.Def
	d.array(t, o, def.ArrayOid)
	for i := range def.Checks {
		k := &def.Checks[i]
		d.rows = append(d.rows, call.DroppedObject{
			Class: pgConstraint, Oid: k.Oid, Temporary: o.Temporary, Type: "domain constraint", Schema: o.Schema,
			Identity: ast.QuoteIdent(k.Name) + " on " + o.Identity, Names: []string{o.Identity}, Args: []string{k.Name},
		})
	}
}

func (d *dropped) rowTypes(t *catalog.Table, o call.DroppedObject) {
	d.rows = append(d.rows, call.DroppedObject{
		Class: pgType, Oid: t.Oid, Temporary: o.Temporary, Type: "type", Schema: o.Schema, Name: o.Name, Identity: o.Identity, Names: []string{o.Identity},
	})
	d.array(t, o, t.RowArrayOid)
}

func (d *dropped) array(t *catalog.Table, o call.DroppedObject, oid uint32) {
	if oid != 0 {
		d.rows = append(d.rows, call.DroppedObject{
			Class: pgType, Oid: oid, Temporary: o.Temporary, Type: "type", Schema: o.Schema, Name: ast.QuoteIdent("_" + t.Name),
			Identity: o.Identity + "[]", Names: []string{o.Identity + "[]"},
		})
	}
}

// partsOf collects the parts of a relation that another form of it, nil for none, has not.
type partsOf struct {
	*dropped
	old, t           *catalog.Table
	original         bool // the statement is about the parts
	schema, in, name string
	temp             bool
}

// parts adds the parts of a relation that another form of it, nil for none, has not. original says that the statement is about them.
func (d *dropped) parts(old, t *catalog.Table, original bool) {
	schema, temp := d.schemaOf(old)
	in := ast.QuoteIdent(schema)
	p := &partsOf{dropped: d, old: old, t: t, original: original, schema: schema, in: in, name: in + "." + ast.QuoteIdent(old.Name), temp: temp}
	for i := range old.Columns {
		if c := &old.Columns[i]; !c.Hidden && c.Name != "" {
			p.column(c)
		}
	}
	for i := range old.Indexes {
		p.index(&old.Indexes[i])
	}
	p.constraints()
	for i := range old.Triggers {
		g := &old.Triggers[i]
		if t == nil || !slices.ContainsFunc(t.Triggers, func(o catalog.Trigger) bool { return o.Oid == g.Oid }) {
			p.add(pgTrigger, g.Oid, "trigger", g.Name, false)
		}
	}
	p.statistics()
	p.casts()
	for i := range old.Policies {
		g := &old.Policies[i]
		if t == nil || !slices.ContainsFunc(t.Policies, func(o catalog.Policy) bool { return o.Oid == g.Oid }) {
			p.add(pgPolicy, g.Oid, "policy", g.Name, false)
		}
	}
}

// add adds a part that has a name of its own.
func (p *partsOf) add(class, oid uint32, kind, name string, normal bool) {
	p.rows = append(p.rows, call.DroppedObject{
		Class: class, Oid: oid, Original: p.original, Normal: (normal || p.t != nil) && !p.original, Temporary: p.temp, Type: kind, Schema: p.in,
		Identity: ast.QuoteIdent(name) + " on " + p.name, Names: []string{p.schema, p.old.Name, name},
	})
}

// column adds a column, and its default.
func (p *partsOf) column(c *catalog.Column) {
	now := -1
	if p.t != nil {
		now = p.t.ColumnByID(c.ID)
	}
	if p.t != nil && now < 0 {
		p.rows = append(p.rows, call.DroppedObject{
			Class: pgClass, Oid: p.old.Oid, Sub: int32(c.Attnum), Original: p.original, Temporary: p.temp, Type: "table column", Schema: p.in,
			Identity: p.name + "." + ast.QuoteIdent(c.Name), Names: []string{p.schema, p.old.Name, c.Name},
		})
	}
	has := func(c *catalog.Column) bool { return c.Default != "" || c.Generated != "" }
	if has(c) && (now < 0 || !has(&p.t.Columns[now])) {
		p.rows = append(p.rows, call.DroppedObject{
			Class: pgAttrdef, Original: p.original && now >= 0, Normal: !p.original && strings.HasPrefix(c.Default, "nextval("), Temporary: p.temp,
			Type: "default value", Schema: p.in, Identity: "for " + p.name + "." + ast.QuoteIdent(c.Name), Names: []string{p.schema, p.old.Name, c.Name},
		})
	}
}

// index adds an index, and its constraint.
func (p *partsOf) index(ix *catalog.Index) {
	if p.t != nil && p.t.IndexByOid(ix.Oid) != nil || ix.Name == "" || ix.Primary && !ix.Constraint {
		return
	}
	if ix.Constraint {
		p.rows = append(p.rows, call.DroppedObject{
			Class: pgConstraint, Oid: ix.ConstraintOid, Original: p.original, Temporary: p.temp, Type: "table constraint", Schema: p.in,
			Identity: ast.QuoteIdent(ix.ConstraintName) + " on " + p.name, Names: []string{p.schema, p.old.Name, ix.ConstraintName},
		})
	}
	name := ast.QuoteIdent(ix.Name)
	p.rows = append(p.rows, call.DroppedObject{
		Class: pgClass, Oid: ix.Oid, Original: !ix.Constraint && p.t != nil, Temporary: p.temp, Type: "index", Schema: p.in, Name: name,
		Identity: p.in + "." + name, Names: []string{p.schema, ix.Name},
	})
}

// constraints adds the checks and the foreign keys.
func (p *partsOf) constraints() {
	for i := range p.old.Checks {
		k := &p.old.Checks[i]
		if p.t == nil || !slices.ContainsFunc(p.t.Checks, func(o catalog.Check) bool { return o.Oid == k.Oid }) {
			p.add(pgConstraint, k.Oid, "table constraint", k.Name, true)
		}
	}
	for i := range p.old.ForeignKeys {
		k := &p.old.ForeignKeys[i]
		if p.t == nil || !slices.ContainsFunc(p.t.ForeignKeys, func(o catalog.ForeignKey) bool { return o.Oid == k.Oid }) {
			p.add(pgConstraint, k.Oid, "table constraint", k.Name, true)
		}
	}
}

// typeName is the name of a type on any search path: with its schema unless the grammar knows it.
func (d *dropped) typeName(t *types.T) string {
	if o, ok := d.Describe(pgType, t.Oid, 0); ok {
		return o.Identity
	}
	return types.FormatType(t)
}
