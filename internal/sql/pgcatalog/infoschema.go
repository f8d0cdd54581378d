package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// isSchemata is information_schema.schemata.
func isSchemata(s *snapshot, w *writer) error {
	for _, x := range s.schemas() {
		if me := s.c.h.Coll.Me(); !me.Has(x.Owner.Role()) {
			if has, _ := access.OnSchema(s.c.h.Coll, me, x, privilege.Schema.All()); has == 0 {
				continue
			}
		}
		w.str("catalog_name", s.db.Name)
		w.str("schema_name", x.Name)
		w.str("schema_owner", s.roleName(x.Owner.Role()))
		w.done()
	}
	return nil
}

// place sets the three columns that name a relation.
func (s *snapshot) place(w *writer, prefix string, t *catalog.Table) {
	w.str(prefix+"_catalog", s.db.Name)
	w.str(prefix+"_schema", s.schemaName(t))
	w.str(prefix+"_name", t.Name)
}

// isTables is information_schema.tables.
func isTables(s *snapshot, w *writer) error {
	for _, t := range s.relations() {
		kind := relkind(t)
		if kind == "S" || t.Materialized() || !s.accessible(t) {
			continue
		}
		s.place(w, "table", t)
		w.str("table_type", map[string]string{"r": "BASE TABLE", "v": "VIEW"}[kind])
		events, _ := s.updatable(t)
		w.str("is_insertable_into", yesNo(events&planner.CanInsert != 0))
		w.str("is_typed", "NO")
		w.done()
	}
	return nil
}

// isColumns is information_schema.columns.
func isColumns(s *snapshot, w *writer) error {
	for _, t := range s.relations() {
		if t.Kind == catalog.KindSequence || t.Materialized() {
			continue
		}
		for _, c := range visibleColumns(t) {
			if !s.accessibleColumn(t, c) {
				continue
			}
			s.place(w, "table", t)
			s.columnRow(w, t, c)
		}
	}
	return nil
}

func (s *snapshot) columnRow(w *writer, t *catalog.Table, c *catalog.Column) {
	w.str("column_name", c.Name)
	w.num("ordinal_position", int64(c.Attnum))
	if hasDefault(c) && c.Generated == "" && w.needs("column_default") {
		w.str("column_default", s.defaultText(t, c))
	}
	w.str("is_nullable", yesNo(!c.NotNull))
	w.str("data_type", dataType(c.Type))
	typeColumns(w, c.Type)
	s.collationColumns(w, c.Type)
	udt := c.Type
	switch {
	case c.Domain == nil:
	case c.Domain.IsDomain():
		s.named(w, "domain", s.typeSchema(c.Domain), c.Domain.Name)
	default:
		udt = c.Domain // an array of a domain is no domain
	}
	s.named(w, "udt", s.typeSchema(udt), s.typname(udt))
	w.str("dtd_identifier", strconv.Itoa(int(c.Attnum)))
	w.str("is_self_referencing", "NO")
	w.str("is_identity", yesNo(c.Identity != 0))
	w.str("identity_cycle", "NO") // as PostgreSQL has it of all columns but identities that cycle
	if c.Identity != 0 {
		s.identityColumns(w, c)
	}
	w.str("is_generated", "NEVER")
	if c.Generated != "" {
		w.str("is_generated", "ALWAYS")
		if w.needs("generation_expression") {
			w.str("generation_expression", s.defaultText(t, c))
		}
	}
	if w.needs("is_updatable") {
		w.str("is_updatable", yesNo(s.columnUpdatable(t, c)))
	}
	w.done()
}

func (s *snapshot) identityColumns(w *writer, c *catalog.Column) {
	w.str("identity_generation", map[byte]string{'a': "ALWAYS", 'd': "BY DEFAULT"}[c.Identity])
	q := s.tableByID(c.OwnsSequence)
	if q == nil || q.Sequence == nil {
		return
	}
	w.str("identity_start", strconv.FormatInt(q.Sequence.Start, 10))
	w.str("identity_increment", strconv.FormatInt(q.Sequence.Increment, 10))
	w.str("identity_maximum", strconv.FormatInt(q.Sequence.Max, 10))
	w.str("identity_minimum", strconv.FormatInt(q.Sequence.Min, 10))
	w.str("identity_cycle", yesNo(q.Sequence.Cycle))
}

// dataType is the type's name in information_schema.
func dataType(t *types.T) string {
	if t.Elem != nil {
		return "ARRAY"
	}
	if t.Def != nil || t.Extension() != "" {
		return "USER-DEFINED"
	}
	return t.SQLName
}

// typeColumns sets lengths, precisions and scales.
func typeColumns(w *writer, t *types.T) {
	l := types.LimitsOf(t.Oid, t.Typmod)
	for _, c := range [...]struct {
		name  string
		value int64
	}{
		{"character_maximum_length", l.CharLength}, {"character_octet_length", l.OctetLength},
		{"numeric_precision", l.Precision}, {"numeric_precision_radix", l.Radix}, {"numeric_scale", l.Scale},
		{"datetime_precision", l.TimePrecision},
	} {
		if c.value >= 0 {
			w.num(c.name, c.value)
		}
	}
	if l.IntervalFields != "" {
		w.str("interval_type", l.IntervalFields)
	}
}

// isViews is information_schema.views.
func isViews(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.Kind != catalog.KindView || !s.accessible(t) {
			continue
		}
		s.place(w, "table", t)
		w.str("view_definition", s.viewText(t, deparse.Layout{}))
		s.viewUpdatable(w, t)
		w.done()
	}
	return nil
}

// isViewTableUsage is information_schema.view_table_usage.
func isViewTableUsage(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		var last uint32
		for _, a := range s.usedByView(t) {
			if u := s.tableOrView(a); u != nil && a.oid != last {
				s.place(w, "view", t)
				s.place(w, "table", u)
				w.done()
			}
			last = a.oid
		}
	}
	return nil
}

// isViewColumnUsage is information_schema.view_column_usage: the columns that views read.
func isViewColumnUsage(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for _, a := range s.usedByView(t) {
			u := s.tableOrView(a)
			if u == nil {
				continue
			}
			if name, ok := columnNumbered(u, nil, int32(a.sub)); ok {
				s.place(w, "view", t)
				s.place(w, "table", u)
				w.str("column_name", name)
				w.done()
			}
		}
	}
	return nil
}

// usedByView is what the query of a view refers to; t may be another relation, without one.
func (s *snapshot) usedByView(t *catalog.Table) []address {
	if t.Kind != catalog.KindView || !s.accessible(t) {
		return nil
	}
	return s.viewReferences(t.View)
}

// tableOrView is the table or view that an address is of or in, nil for anything else.
func (s *snapshot) tableOrView(a address) *catalog.Table {
	if a.class != oidPgClass {
		return nil
	}
	t, ix := s.c.byOid(a.oid)
	if t == nil || ix != nil || t.Kind == catalog.KindSequence || t.Kind == catalog.KindType || t.Materialized() {
		return nil
	}
	return t
}

// isSequences is information_schema.sequences.
func isSequences(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.Kind != catalog.KindSequence || s.isIdentity(t) || !s.accessible(t) {
			continue
		}
		q := t.Sequence
		s.place(w, "sequence", t)
		w.str("data_type", q.Type.SQLName)
		typeColumns(w, q.Type)
		w.str("start_value", strconv.FormatInt(q.Start, 10))
		w.str("minimum_value", strconv.FormatInt(q.Min, 10))
		w.str("maximum_value", strconv.FormatInt(q.Max, 10))
		w.str("increment", strconv.FormatInt(q.Increment, 10))
		w.str("cycle_option", yesNo(q.Cycle))
		w.done()
	}
	return nil
}

// isIdentity reports whether a sequence is that of an identity column.
func (s *snapshot) isIdentity(q *catalog.Table) bool {
	o := s.tableByID(q.Sequence.OwnerTable)
	if o == nil {
		return false
	}
	ord := o.ColumnByID(q.Sequence.OwnerColumn)
	return ord >= 0 && o.Columns[ord].Identity != 0
}

// isCharacterSets is information_schema.character_sets.
func isCharacterSets(s *snapshot, w *writer) error {
	w.str("character_set_name", "UTF8")
	w.str("character_repertoire", "UCS")
	w.str("form_of_use", "UTF8")
	w.str("default_collate_catalog", s.db.Name)
	w.str("default_collate_schema", namePgCatalog)
	w.str("default_collate_name", defaultLocale)
	w.done()
	return nil
}

// isCatalogName is information_schema.information_schema_catalog_name.
func isCatalogName(s *snapshot, w *writer) error {
	w.str("catalog_name", s.db.Name)
	w.done()
	return nil
}

// isElementTypes is information_schema.element_types: of arrays in columns, fields, domains,
// and what functions take and return.
func isElementTypes(s *snapshot, w *writer) error {
	for _, t := range append(s.relations(), s.composites()...) {
		if t.Kind == catalog.KindSequence || t.Materialized() {
			continue
		}
		kind := "TABLE" // views too
		if t.Kind == catalog.KindType {
			kind = "USER-DEFINED TYPE"
		}
		for _, c := range visibleColumns(t) {
			s.elementType(w, shownType(c), kind, int(c.Attnum), func() { s.place(w, "object", t) })
		}
	}
	for _, r := range routines().all {
		place := func() { s.named(w, "object", r.schemaName(), r.specificName()) }
		s.elementType(w, r.ret, "ROUTINE", 0, place)
		for i, p := range r.parameters() {
			s.elementType(w, p.t, "ROUTINE", i+1, place)
		}
	}
	return s.eachType(types.DefDomain, func(d *catalog.Table, def *types.Def) {
		s.elementType(w, def.Base, "DOMAIN", 1, func() { s.place(w, "object", d) })
	})
}

// elementType emits the type of the elements of type t, if it is an array, in place n of an object.
func (s *snapshot) elementType(w *writer, t *types.T, kind string, n int, place func()) {
	if t.IsDomain() || t.Elem == nil || t.Elem.Family == types.AnyFamily {
		return
	}
	place()
	w.str("object_type", kind)
	w.str("collection_type_identifier", strconv.Itoa(n))
	w.str("data_type", dataType(t.Elem))
	if t.Elem.IsDomain() {
		w.str("data_type", "USER-DEFINED")
	}
	s.named(w, "udt", s.typeSchema(t.Elem), s.typname(t.Elem))
	w.str("dtd_identifier", "a"+strconv.Itoa(n))
	w.done()
}

// shownType is the type that a column was declared as.
func shownType(c *catalog.Column) *types.T {
	if c.Domain != nil {
		return c.Domain
	}
	return c.Type
}
