package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// named sets the three columns that name something in a schema.
func (s *snapshot) named(w *writer, prefix, schema, name string) {
	w.str(prefix+"_catalog", s.db.Name)
	w.str(prefix+"_schema", schema)
	w.str(prefix+"_name", name)
}

// eachType calls f for the user-defined types of a kind.
func (s *snapshot) eachType(kind types.DefKind, f func(d *catalog.Table, def *types.Def)) error {
	for _, d := range s.types() {
		if def := d.UserType.Def; def.Kind == kind {
			f(d, def)
		}
	}
	return nil
}

// isUserDefinedTypes is information_schema.user_defined_types: the composite types.
func isUserDefinedTypes(s *snapshot, w *writer) error {
	return s.eachType(types.DefComposite, func(d *catalog.Table, _ *types.Def) {
		s.place(w, "user_defined_type", d)
		w.str("user_defined_type_category", "STRUCTURED")
		w.str("is_instantiable", "YES")
		w.done()
	})
}

// isAttributes is information_schema.attributes: the fields of composite types.
func isAttributes(s *snapshot, w *writer) error {
	return s.eachType(types.DefComposite, func(d *catalog.Table, def *types.Def) {
		for i, f := range def.Fields {
			t, udt := f.Type, f.Type.Shown()
			s.place(w, "udt", d)
			w.str("attribute_name", f.Name)
			w.num("ordinal_position", int64(i+1))
			w.str("is_nullable", "YES")
			w.str("data_type", dataType(t))
			if udt.IsDomain() {
				w.str("data_type", "USER-DEFINED")
			}
			typeColumns(w, t)
			s.collationColumns(w, t)
			s.named(w, "attribute_udt", s.typeSchema(udt), s.typname(udt))
			w.str("dtd_identifier", strconv.Itoa(i+1))
			w.str("is_derived_reference_attribute", "NO")
			w.done()
		}
	})
}

// isDomains is information_schema.domains.
func isDomains(s *snapshot, w *writer) error {
	return s.eachType(types.DefDomain, func(d *catalog.Table, def *types.Def) {
		s.place(w, "domain", d)
		w.str("data_type", dataType(def.Base))
		if def.Base.Elem != nil { // PostgreSQL does not say ARRAY here
			w.str("data_type", s.typeName(def.Base))
		}
		typeColumns(w, def.Base)
		s.collationColumns(w, def.Base)
		if def.Default != "" {
			w.str("domain_default", s.domainDefault(def))
		}
		s.named(w, "udt", s.typeSchema(def.Base), def.Base.Name)
		w.str("dtd_identifier", "1")
		w.done()
	})
}

// isDomainUDTUsage is information_schema.domain_udt_usage: the types that domains are over.
func isDomainUDTUsage(s *snapshot, w *writer) error {
	return s.eachType(types.DefDomain, func(d *catalog.Table, def *types.Def) {
		s.named(w, "udt", s.typeSchema(def.Base), def.Base.Name)
		s.place(w, "domain", d)
		w.done()
	})
}

// isDomainConstraints is information_schema.domain_constraints.
func isDomainConstraints(s *snapshot, w *writer) error {
	return s.eachType(types.DefDomain, func(d *catalog.Table, def *types.Def) {
		for _, k := range def.Checks {
			s.named(w, "constraint", s.schemaName(d), k.Name)
			s.place(w, "domain", d)
			w.str("is_deferrable", "NO")
			w.str("initially_deferred", "NO")
			w.done()
		}
	})
}

// eachColumn calls f for the columns of stored tables and views.
func (s *snapshot) eachColumn(f func(t *catalog.Table, c *catalog.Column)) error {
	for _, t := range s.tables() {
		if t.Kind == catalog.KindSequence || t.Materialized() {
			continue
		}
		for _, c := range visibleColumns(t) {
			f(t, c)
		}
	}
	return nil
}

// isColumnDomainUsage is information_schema.column_domain_usage.
func isColumnDomainUsage(s *snapshot, w *writer) error {
	return s.eachColumn(func(t *catalog.Table, c *catalog.Column) {
		if c.Domain == nil || !c.Domain.IsDomain() {
			return
		}
		s.named(w, "domain", s.typeSchema(c.Domain), c.Domain.Name)
		s.place(w, "table", t)
		w.str("column_name", c.Name)
		w.done()
	})
}

// isColumnUDTUsage is information_schema.column_udt_usage: the types of columns.
func isColumnUDTUsage(s *snapshot, w *writer) error {
	return s.eachColumn(func(t *catalog.Table, c *catalog.Column) {
		udt := c.Type
		if c.Domain != nil && !c.Domain.IsDomain() {
			udt = c.Domain
		}
		s.named(w, "udt", s.typeSchema(udt), s.typname(udt))
		s.place(w, "table", t)
		w.str("column_name", c.Name)
		w.done()
	})
}
