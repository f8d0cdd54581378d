package ddlevents

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Statistics objects are parts of the descriptors of tables, and casts of those of types. Statements about them are about these alone.

// statistics adds the statistics objects that the statement has made or changed.
func (e *events) statistics(changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) {
		for i := range t.Extended {
			x := &t.Extended[i]
			was := old.ExtendedByOid(x.Oid)
			if was == nil || was.Name != x.Name || was.Schema != x.Schema || was.Target != x.Target || was.Comment != x.Comment {
				e.add(e.tag, pgStatisticExt, x.Oid, 0)
			}
		}
	})
}

// castsOf are the casts that a type has.
func castsOf(t *catalog.Table) []types.CastDef {
	if t == nil || t.Kind != catalog.KindType {
		return nil
	}
	return t.UserType.Def.Casts
}

// casts adds the casts that the statement has made or commented on.
func (e *events) casts(changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) {
		for _, c := range castsOf(t) {
			if !slices.ContainsFunc(castsOf(old), func(o types.CastDef) bool { return o.Oid == c.Oid && o.Comment == c.Comment }) {
				e.add(e.tag, pgCast, c.Oid, 0)
			}
		}
	})
}

// statistics adds the statistics objects that are gone.
func (p *partsOf) statistics() {
	for i := range p.old.Extended {
		x := &p.old.Extended[i]
		if p.t != nil && p.t.ExtendedByOid(x.Oid) != nil {
			continue
		}
		schema, temp := p.Schema(x.Schema)
		if temp {
			schema = "pg_temp"
		}
		in, name := ast.QuoteIdent(schema), ast.QuoteIdent(x.Name)
		p.rows = append(p.rows, call.DroppedObject{
			Class: pgStatisticExt, Oid: x.Oid, Original: p.of == ast.ObjStatistics, Normal: p.of == ast.ObjSchema, Temporary: p.temp || temp,
			Type: "statistics object", Schema: in, Name: name, Identity: in + "." + name, Names: []string{schema, x.Name},
		})
	}
}

// casts adds the casts that are gone.
func (p *partsOf) casts() {
	for _, c := range castsOf(p.old) {
		if slices.ContainsFunc(castsOf(p.t), func(o types.CastDef) bool { return o.Oid == c.Oid }) {
			continue
		}
		from, to := p.castType(c.From), p.castType(c.To)
		p.rows = append(p.rows, call.DroppedObject{
			Class: pgCast, Oid: c.Oid, Original: p.cast, Normal: !p.cast, Type: "cast", Identity: "(" + from + " AS " + to + ")",
			Names: []string{from}, Args: []string{to},
		})
	}
}

// castType names a type of a cast, which may be gone as well.
func (p *partsOf) castType(oid uint32) string {
	if oid == p.old.Oid {
		return p.name
	}
	if o, ok := p.Describe(pgType, oid, 0); ok {
		return o.Identity
	}
	return "-"
}
