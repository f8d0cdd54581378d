package alter

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Readers lists the views and the stored expressions that name the type that t defines, as
// storedtext.PinNames has left the names.
func Readers(ctx context.Context, e *statement.Env, t *catalog.Table) ([]typeDependent, error) {
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return nil, err
	}
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	self := catalog.TypeOf(t)
	on := "type " + TypeName(ctx, e, self)
	names := namesType(schema.Name, t.Name)
	var out []typeDependent
	for _, o := range all {
		if o.ID == t.ID || !storedtext.Mentions(o, t.Name) {
			continue
		}
		for _, text := range readersIn(ctx, e, o, names) {
			out = append(out, typeDependent{o.ID, text, on})
		}
	}
	return out, nil
}

// namesType returns a function that reports whether a stored text names a type.
func namesType(schema, name ast.Name) func(text string) bool {
	return func(text string) bool {
		found := false
		// A name that stays the same counts as one to change.
		seen := func(s, n ast.Name) (ast.Name, ast.Name, bool) {
			found = found || s == schema && n == name
			return s, n, false
		}
		_, _ = storedtext.RenameIn(text, storedtext.Renamed{Types: seen, Calls: seen})
		return found
	}
}

// readersIn describes what of o has a text that names a type.
func readersIn(ctx context.Context, e *statement.Env, o *catalog.Table, names func(string) bool) []string {
	var out []string
	if o.View != nil && names(o.View.Query) {
		return []string{e.Describe(ctx, o)}
	}
	for i := range o.Columns {
		c := &o.Columns[i]
		of := "column " + c.Name + " of " + e.Describe(ctx, o)
		if c.Default != "" && names(c.Default) || c.OnUpdate != "" && names(c.OnUpdate) {
			out = append(out, "default value for "+of)
		}
		if c.Generated != "" && !c.IndexExpression() && names(c.Generated) {
			out = append(out, of)
		}
	}
	for i := range o.Policies {
		p := &o.Policies[i]
		if slices.ContainsFunc(p.Queries(), func(v **catalog.View) bool { return names((*v).Query) }) {
			out = append(out, describePolicy(ctx, e, o, p))
		}
	}
	for i := range o.Checks {
		if k := &o.Checks[i]; names(k.Expr) {
			out = append(out, "constraint "+ast.QuoteIdent(k.Name)+" on "+e.Describe(ctx, o))
		}
	}
	for i := range o.Triggers {
		if g := &o.Triggers[i]; g.When != "" && names(g.When) {
			out = append(out, describeTrigger(ctx, e, o, g))
		}
	}
	for i := range o.Indexes {
		if ix := &o.Indexes[i]; indexNames(o, ix, names) {
			out = append(out, "index "+ast.QuoteIdent(ix.Name))
		}
	}
	if o.UserType != nil && o.UserType.IsDomain() {
		for _, k := range o.UserType.Def.Checks {
			if names(k.Expr) {
				out = append(out, "constraint "+ast.QuoteIdent(k.Name))
			}
		}
	}
	return out
}

// indexNames reports whether a text of an index names a type.
func indexNames(t *catalog.Table, ix *catalog.Index, names func(string) bool) bool {
	return ix.Where != "" && names(ix.Where) || slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
		c := &t.Columns[t.ColumnByID(k.Column)]
		return c.IndexExpression() && names(c.Generated)
	})
}

// castTexts are the stored texts of a list that may name user-defined types.
func castTexts(all []*catalog.Table) []string {
	var out []string
	for _, t := range all {
		if !t.Names.MayBeTypes() {
			continue
		}
		for s := range t.StoredTexts() {
			if strings.Contains(s, ".") && (strings.Contains(s, "::") || strings.Contains(s, "CAST(")) {
				out = append(out, s)
			}
		}
	}
	return out
}

// dropReaders drops the views that name the type that t defines. Of other readers it says
// that they have to be dropped first.
func dropReaders(ctx context.Context, e *statement.Env, t *catalog.Table, gone map[catalog.ID]bool) error {
	list, err := Readers(ctx, e, t)
	if err != nil {
		return err
	}
	for _, r := range list {
		if gone[r.in] {
			continue
		}
		o, err := e.LockByID(ctx, r.in)
		if pgerr.CodeOf(err) == pgerr.UndefinedTable {
			continue // dropped with another one
		}
		if err != nil {
			return err
		}
		if o.View == nil {
			return pgerr.Unsupported("dropping %s with a type that it names is not supported", r.Text).
				WithHint("Drop it first.")
		}
		d := newDropper(e, true)
		d.target(o)
		if err := d.run(ctx); err != nil {
			return err
		}
	}
	return nil
}
