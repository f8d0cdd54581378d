package pgcatalog

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// deparser prints stored expressions and queries as PostgreSQL does.
func (s *snapshot) deparser() *deparse.Env {
	if s.printer != nil {
		return s.printer
	}
	format := types.NewFormatContext()
	if s.c.h.Format != nil {
		*format = *s.c.h.Format()
	}
	format.Names = s.c
	s.printer = &deparse.Env{
		Planner:  &planner.Env{Catalog: stillCatalog{s}, Format: format, FixedParams: true, Stored: true},
		TypeName: s.c.qualified,
		FuncName: func(schema, name string) string {
			if t := s.typeNamed(schema, name); t != nil && s.c.visible(t, t.Name) {
				return ast.QuoteIdent(name)
			}
			if s.routineVisible(schema, name) {
				return ast.QuoteIdent(name)
			}
			if slices.ContainsFunc(builtin.ExtensionFunctions(name), func(o *call.Overload) bool { return s.c.h.Coll.SeesExtension(s.ctx, schema, o.Extension) }) &&
				slices.Contains(s.c.h.Coll.SearchPath(), schema) {
				return ast.QuoteIdent(name)
			}
			return ast.QuoteIdent(schema) + "." + ast.QuoteIdent(name)
		},
		CollationName: s.c.collationName,
		RelationName:  s.shownName,
		FullName:      s.qualified,
		Format:        format,
	}
	return s.printer
}

// expr prints a stored expression over the columns of t, which is converted to want;
// both may be nil. An expression that is not understood any more is printed as stored.
func (s *snapshot) expr(text string, t *catalog.Table, want *types.T, pretty bool) string {
	out, err := s.deparser().Expr(s.ctx, text, t, nil, want, deparse.Layout{Pretty: pretty})
	if err != nil {
		return s.exprText(text)
	}
	return out
}

// valueType is the type that VALUE has in the constraints of a domain: what the domain is over,
// which may be another one.
func valueType(domain *types.T) *types.T {
	base := domain.Def.Base
	if base.OfDomain() {
		return base.BaseType().WithDomain(base)
	}
	return base
}

// valueExpr prints a constraint of a domain over values of type t.
func (s *snapshot) valueExpr(text string, t *types.T, pretty bool) string {
	out, err := s.deparser().Expr(s.ctx, text, nil, t, types.Bool, deparse.Layout{Pretty: pretty})
	if err != nil {
		return s.exprText(text)
	}
	return out
}

// keyExpr prints an expression of an index's key.
func (s *snapshot) keyExpr(text string, t *catalog.Table, pretty bool) string {
	out, err := s.deparser().Key(s.ctx, text, t, deparse.Layout{Pretty: pretty})
	if err != nil {
		return expressionText(s.exprText(text))
	}
	return out
}

// viewText is what pg_get_viewdef prints.
func (s *snapshot) viewText(t *catalog.Table, l deparse.Layout) string {
	cols := make([]ast.Name, 0, len(t.Columns))
	for _, c := range visibleColumns(t) {
		cols = append(cols, c.Name)
	}
	out, err := s.deparser().Query(s.ctx, t.View, cols, l)
	if err != nil {
		return " " + s.exprText(t.View.Query) + ";"
	}
	return out + ";"
}

// viewQuery prints a view's query with the full names of relations.
func (s *snapshot) viewQuery(t *catalog.Table) string {
	d := *s.deparser()
	d.RelationName = s.qualified
	out, err := d.Query(s.ctx, t.View, nil, deparse.Layout{Pretty: true})
	if err != nil {
		return " " + s.exprText(t.View.Query)
	}
	return out
}

// typeNamed finds a user-defined type, a relation being one too; nil if there is none.
func (s *snapshot) typeNamed(schema, name string) *catalog.Table {
	x := s.c.h.Coll.PeekSchemaNamed(s.ctx, schema)
	if x == nil || x.ID.IsVirtual() {
		return nil
	}
	return s.typeIn(x, name)
}

// stillCatalog finds what stored texts name, in a snapshot of the catalog: nothing is
// locked for printing.
type stillCatalog struct{ *snapshot }

var (
	_ catalog.Resolver        = stillCatalog{}
	_ catalog.TypeFinder      = stillCatalog{}
	_ catalog.CollationFinder = stillCatalog{}
	_ catalog.RoutineFinder   = stillCatalog{}
	_ catalog.OperatorFinder  = stillCatalog{}
)

// ResolveTable implements catalog.Resolver.
func (s stillCatalog) ResolveTable(ctx context.Context, _, schema, name string) (*catalog.Table, error) {
	if schema == "" {
		if t := s.c.h.Coll.PeekRelation(ctx, name); t != nil && t.Name == name {
			return t, nil
		}
		return nil, catalog.UndefinedTable(schema, name)
	}
	if t := s.find(schema, name); t != nil && t.Name == name && t.Kind != catalog.KindType && t.Kind != catalog.KindCollation && t.Kind != catalog.KindRoutine {
		return t, nil
	}
	return nil, catalog.UndefinedTable(schema, name)
}

// TableByID implements catalog.Resolver.
func (s stillCatalog) TableByID(_ context.Context, id catalog.ID) (*catalog.Table, error) {
	if t := s.tableByID(id); t != nil {
		return t, nil
	}
	if t, ok := s.peek(id).(*catalog.Table); ok && t.Kind == catalog.KindRoutine && t.Database == s.db.ID {
		return t, nil
	}
	return nil, catalog.UndefinedTable("", "")
}

// TableByOid implements catalog.Resolver.
func (s stillCatalog) TableByOid(_ context.Context, oid uint32) (*catalog.Table, error) {
	if t, _ := s.c.byOid(oid); t != nil {
		return t, nil
	}
	return nil, catalog.UndefinedTable("", "")
}

// SchemaByID implements catalog.Resolver.
func (s stillCatalog) SchemaByID(_ context.Context, id catalog.ID) (*catalog.Schema, error) {
	if x := s.schemaByID(id); x != nil {
		return x, nil
	}
	return nil, catalog.UndefinedTable("", "")
}

// CurrentDatabase implements catalog.Resolver.
func (s stillCatalog) CurrentDatabase() *catalog.Database { return s.db }

// SearchPath implements catalog.Resolver.
func (s stillCatalog) SearchPath() []string { return s.c.h.Coll.PeekSearchPath(s.ctx) }

// HasExtension implements catalog.ExtensionFinder.
func (s stillCatalog) HasExtension(_ context.Context, extension string) bool {
	return s.db.ExtensionNamed(extension) != nil
}

// PeekExtensionSchema implements catalog.ExtensionFinder.
func (s stillCatalog) PeekExtensionSchema(ctx context.Context, extension string) (*catalog.Schema, bool) {
	return s.c.h.Coll.PeekExtensionSchema(ctx, extension)
}

// SeesExtension implements catalog.ExtensionFinder.
func (s stillCatalog) SeesExtension(ctx context.Context, schema, extension string) bool {
	in, visible := s.c.h.Coll.PeekExtensionSchema(ctx, extension)
	return schema == "" && visible || schema != "" && in != nil && in.Name == schema
}

// FindTypeTable implements catalog.TypeFinder.
func (s stillCatalog) FindTypeTable(_ context.Context, schema, name string) (*catalog.Table, error) {
	if schema != "" {
		return s.typeNamed(schema, name), nil
	}
	for _, p := range s.SearchPath() {
		if t := s.typeNamed(p, name); t != nil {
			return t, nil
		}
	}
	return nil, nil
}

// FindRoutines implements catalog.RoutineFinder.
func (s stillCatalog) FindRoutines(_ context.Context, schema, name string) (out []*catalog.Table, err error) {
	path := []string{schema}
	if schema == "" {
		path = s.SearchPath()
	}
	seen := map[string]bool{}
	for _, p := range path {
		for _, t := range s.routinesIn(p, name) {
			if !seen[t.StoredName()] {
				seen[t.StoredName()] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// FindOperators implements catalog.OperatorFinder.
func (s stillCatalog) FindOperators(_ context.Context, schema, name string) (out []*catalog.Table, err error) {
	path := []string{schema}
	if schema == "" {
		path = s.SearchPath()
	}
	seen := map[string]bool{}
	for _, p := range path {
		for _, t := range s.listing().Operators {
			if t.Name == name && s.schemaName(t) == p && !seen[t.StoredName()] {
				seen[t.StoredName()] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// routinesIn returns the routines of a name in a schema.
func (s *snapshot) routinesIn(schema, name string) (out []*catalog.Table) {
	for _, t := range s.listing().Routines {
		if t.Name == name && s.schemaName(t) == schema {
			out = append(out, t)
		}
	}
	return out
}

// routineVisible reports whether a function that users have made is found without its schema.
func (s *snapshot) routineVisible(schema, name string) bool {
	if builtin.Functions(name) != nil || len(s.routinesIn(schema, name)) == 0 {
		return false
	}
	for _, p := range s.c.h.Coll.PeekSearchPath(s.ctx) {
		if len(s.routinesIn(p, name)) > 0 {
			return p == schema
		}
	}
	return false
}

// PeekTypeSchema implements catalog.TypeFinder.
func (s stillCatalog) PeekTypeSchema(ctx context.Context, oid uint32) (string, bool) {
	return s.c.h.Coll.PeekTypeSchema(ctx, oid)
}

// FindCollation implements catalog.CollationFinder.
func (s stillCatalog) FindCollation(_ context.Context, schema, name string) (*catalog.Table, error) {
	path := []string{schema}
	if schema == "" {
		path = s.SearchPath()
	}
	for _, p := range path {
		if t := s.find(p, catalog.CollationName(name)); t != nil {
			return t, nil
		}
	}
	return nil, nil
}

// keyExprs prints the expressions in an index's key.
func (s *snapshot) keyExprs(t *catalog.Table, ix *catalog.Index, pretty bool) string {
	var out []string
	for _, k := range ix.Columns {
		if c := &t.Columns[t.ColumnByID(k.Column)]; c.IndexExpression() {
			out = append(out, s.expr(c.Generated, t, nil, pretty))
		}
	}
	return strings.ReplaceAll(strings.Join(out, ", "), ", \n", ",\n")
}

// prettyExpr finds the stored expression that is printed as text, of a relation or,
// if that is 0, of a domain, and prints it pretty.
func (s *snapshot) prettyExpr(text string, relation uint32) string {
	t, _ := s.c.byOid(relation)
	if t == nil {
		for _, d := range s.types() {
			for _, k := range d.UserType.Def.Checks {
				if base := valueType(d.UserType); s.valueExpr(k.Expr, base, false) == text {
					return s.valueExpr(k.Expr, base, true)
				}
			}
		}
		return s.expr(text, nil, nil, true)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		for _, stored := range [...]string{c.Default, c.Generated} {
			if stored != "" && s.expr(stored, t, c.Type, false) == text {
				return s.expr(stored, t, c.Type, true)
			}
		}
	}
	conds := make([]string, 0, len(t.Checks)+len(t.Indexes))
	for i := range t.Checks {
		conds = append(conds, t.Checks[i].Expr)
	}
	for i := range t.Indexes {
		conds = append(conds, t.Indexes[i].Where)
	}
	for _, stored := range conds {
		if stored != "" && s.expr(stored, t, types.Bool, false) == text {
			return s.expr(stored, t, types.Bool, true)
		}
	}
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; s.keyExprs(t, ix, false) == text {
			return s.keyExprs(t, ix, true)
		}
	}
	return s.expr(text, t, nil, true)
}
