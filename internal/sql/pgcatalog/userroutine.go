package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The oids of languages, as PostgreSQL has them; that of plpgsql is the first that its initdb gives out.
const (
	oidSQLLang     = 14 // as in access.Languages
	oidPLpgSQLLang = 13575
)

// userRoutine is the row of pg_proc of a routine that a user has made.
func (c *Catalog) userRoutine(t *catalog.Table) *routine {
	def := t.Routine
	r := &routine{
		oid: t.Oid, name: t.Name, kind: 'f', volatility: def.Volatility, parallel: def.Parallel, strict: def.Strict, set: def.Set,
		leakproof: def.Leakproof, cost: def.Cost, rows: def.Rows, ret: c.qualified(def.Returns), source: def.Body, user: t, catalog: c,
		language: oidSQLLang,
	}
	if def.Language == catalog.LanguagePLpgSQL {
		r.language = oidPLpgSQLLang
	}
	switch {
	case def.Procedure:
		r.kind = 'p'
	case def.Aggregate != nil:
		r.kind, r.language, r.source = 'a', oidInternalLang, "aggregate_dummy"
	}
	if s, ok := c.peekSchema(t.Schema); ok {
		r.schema, r.schemaText = s.Oid, s.Name
	}
	plain, named := true, false
	for i := range def.Params {
		p := &def.Params[i]
		pt := c.qualified(p.Type)
		if p.Input() {
			r.args = append(r.args, pt)
		}
		if p.Default != "" {
			r.defaults++
		}
		if p.Mode == ast.ParamVariadic {
			if r.variadic = types.Any.Oid; p.Type.Elem != nil {
				r.variadic = p.Type.Elem.Oid
			}
		}
		plain, named = plain && p.Mode == ast.ParamIn, named || p.Name != ""
		r.all, r.names, r.modes = append(r.all, pt), append(r.names, p.Name), r.modes+string(p.Mode)
	}
	if plain {
		r.all, r.modes = nil, ""
	}
	if !named {
		r.names = nil
	}
	return r
}

// peekSchema returns a schema, false if there is none.
func (c *Catalog) peekSchema(id catalog.ID) (*catalog.Schema, bool) {
	d, err := c.h.Coll.Peek(c.ctx(), id)
	if err != nil {
		return nil, false
	}
	s, ok := d.(*catalog.Schema)
	return s, ok
}

// routineByOid returns a routine, nil if there is none.
func (c *Catalog) routineByOid(oid uint32) *routine {
	if r := routines().byOid[oid]; r != nil {
		return r
	}
	if oid < catalog.FirstUserOid {
		return c.extensionRoutine(oid)
	}
	t := c.h.Coll.PeekByOid(c.ctx(), oid)
	if t == nil || t.Kind != catalog.KindRoutine || t.OwnOperator() {
		return nil
	}
	return c.userRoutine(t)
}

// routinesNamed returns the routines of a name.
func (c *Catalog) routinesNamed(name string) []*routine {
	list := slices.Clone(routines().byName[name])
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return list
	}
	for _, x := range s.extensions() {
		for _, r := range x.routines() {
			if r.name == name {
				list = append(list, r)
			}
		}
	}
	for _, t := range s.listing().Routines {
		if t.Name == name {
			list = append(list, c.userRoutine(t))
		}
	}
	return list
}

// extensionRoutine returns a routine of an extension that the database has, nil if there is none.
func (c *Catalog) extensionRoutine(oid uint32) *routine {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return nil
	}
	for _, x := range s.extensions() {
		for _, r := range x.routines() {
			if r.oid == oid {
				return r
			}
		}
	}
	return nil
}

// allRoutines returns the built-in routines and those that users have made.
func (s *snapshot) allRoutines() []*routine {
	list := slices.Clip(routines().all)
	for _, x := range s.extensions() {
		list = append(list, x.routines()...)
	}
	for _, t := range s.routines() {
		list = append(list, s.c.userRoutine(t))
	}
	return list
}

// settings are the SET clauses as proconfig has them.
func (r *routine) settings() []string {
	if r.user == nil {
		return nil
	}
	var list []string
	for _, x := range r.user.Routine.Settings {
		list = append(list, x.Name+"="+x.Value)
	}
	return list
}

// userDefault prints the default of an input argument of a routine that a user has made.
func (r *routine) userDefault(i int) string {
	in := r.user.Routine.Inputs()
	if i >= len(in) || in[i].Default == "" {
		return ""
	}
	s, err := r.catalog.snapshot(r.catalog.ctx())
	if err != nil {
		return in[i].Default
	}
	return s.expr(in[i].Default, nil, in[i].Type, false)
}

// userDefinition prints a routine that a user has made, as pg_get_functiondef does.
func (r *routine) userDefinition() string {
	def := r.user.Routine
	word, tag := "FUNCTION", "$function$"
	if def.Procedure {
		word, tag = "PROCEDURE", "$procedure$"
	}
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE " + word + " " + ast.QuoteIdent(r.schemaText) + "." + ast.QuoteIdent(r.name) + "(" + r.arguments(true) + ")\n")
	if !def.Procedure {
		b.WriteString(" RETURNS " + r.result() + "\n")
	}
	b.WriteString(" LANGUAGE " + def.Language + "\n")
	if a := r.attributes(100); a != "" {
		b.WriteString(a + "\n")
	}
	for _, s := range def.Settings {
		value := ast.QuoteLiteral(s.Value)
		if s.Name == "search_path" { // a list of names
			var names []string
			for _, n := range strings.Split(s.Value, ",") {
				names = append(names, ast.QuoteLiteral(strings.Trim(strings.TrimSpace(n), "\"")))
			}
			value = strings.Join(names, ", ")
		}
		b.WriteString(" SET " + ast.QuoteIdent(s.Name) + " TO " + value + "\n")
	}
	switch {
	case def.Standard:
		b.WriteString(standardBody(def.Body) + "\n")
	default:
		b.WriteString("AS " + tag + def.Body + tag + "\n")
	}
	return b.String()
}

// standardBody prints a body that is stored as statements.
func standardBody(text string) string {
	var b strings.Builder
	b.WriteString("BEGIN ATOMIC\n")
	for line := range strings.Lines(text) {
		b.WriteString(" " + line)
	}
	b.WriteString("END")
	return b.String()
}

// onPath reports whether the search path leads to a routine.
func (c *Catalog) onPath(r *routine) bool {
	return slices.Contains(c.h.Coll.SearchPath(), r.schemaName())
}

// signature prints a routine with the types of its arguments, and its schema unless the search path leads to it.
func (c *Catalog) signature(r *routine) string {
	if r.schemaText == "" {
		return r.signature()
	}
	return c.userName(r) + "(" + strings.Join(typeNames(r.args), ",") + ")"
}

// userName prints the name of a routine that a user or an extension has made.
func (c *Catalog) userName(r *routine) string {
	if c.onPath(r) {
		return ast.QuoteIdent(r.name)
	}
	return ast.QuoteIdent(r.schemaText) + "." + ast.QuoteIdent(r.name)
}

// routineName prints a routine as regproc does.
func (c *Catalog) routineName(r *routine) string {
	if r.schemaText == "" {
		return r.qualifiedName()
	}
	return c.userName(r)
}
