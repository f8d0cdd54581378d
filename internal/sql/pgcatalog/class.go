package pgcatalog

import (
	"iter"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// pgClass lists relations and indexes.
func pgClass(s *snapshot, w *writer) error {
	indexes := w.wantsText("relkind", "i")
	for _, t := range append(s.relations(), s.composites()...) {
		if w.ended() {
			break
		}
		if kind := relkind(t); w.wants("oid", t.Oid) && w.wantsText("relkind", kind) {
			s.classRow(w, t, kind)
		}
		if !indexes {
			continue
		}
		for _, ix := range visibleIndexes(t) {
			if w.wants("oid", ix.Oid) {
				s.indexClassRow(w, t, ix)
			}
		}
	}
	return nil
}

func (s *snapshot) classRow(w *writer, t *catalog.Table, kind string) {
	s.classCommon(w, t, t.Oid, t.Name, kind, countVisible(t))
	if kind == "r" || kind == "m" {
		w.oid("relam", oidHeap)
	}
	if kind != "S" {
		w.oid("reltype", t.Oid)
	}
	if t.Kind == catalog.KindVirtual {
		w.flag("relisshared", builtIns().isShared[t.Oid])
	}
	w.acl("relacl", t.ACL)
	w.flag("relhasindex", len(visibleIndexes(t)) > 0)
	w.flag("relispopulated", !t.Materialized() || !t.View.Unpopulated)
	w.num("relchecks", int64(len(t.Checks)))
	w.flag("relrowsecurity", t.RowSecurity)
	w.flag("relforcerowsecurity", t.ForceRowSecurity)
	w.flag("relhasrules", kind == "v" || kind == "m")
	w.reloptions(optionsOf(t))
	w.flag("relhastriggers", hasTriggers(t))
	w.str("relreplident", map[bool]string{true: "d", false: "n"}[t.Kind == catalog.KindTable])
	w.done()
}

// restricted are the relations of pg_catalog that only superusers may read.
var restricted = []string{
	"pg_authid", "pg_backend_memory_contexts", "pg_config", "pg_file_settings", "pg_hba_file_rules", "pg_ident_file_mappings",
	"pg_largeobject", "pg_replication_origin_status", "pg_shadow", "pg_shmem_allocations", "pg_statistic", "pg_statistic_ext_data",
	"pg_subscription", "pg_user_mapping",
}

// publicMay returns the letters of what every role may do with a built-in relation.
func publicMay(t *catalog.Table) string {
	switch {
	case slices.Contains(restricted, t.Name):
		return ""
	case t.Name == "pg_settings":
		return "rw"
	}
	return "r"
}

func (s *snapshot) indexClassRow(w *writer, t *catalog.Table, ix *catalog.Index) {
	s.classCommon(w, t, ix.Oid, ix.Name, "i", len(ix.Columns)+len(ix.Stored))
	w.oid("reltablespace", s.tablespaceOid(ix.Tablespace))
	w.oid("relam", methodOIDs[ix.Method()])
	w.str("relreplident", "n")
	w.reloptions(ix.Options)
	w.done()
}

// classCommon sets what all rows of pg_class have.
func (s *snapshot) classCommon(w *writer, t *catalog.Table, oid uint32, name, kind string, natts int) {
	schema, _ := s.schemaOf(t)
	w.oid("oid", oid)
	w.str("relname", name)
	w.oid("relnamespace", schema)
	for _, c := range [...]string{"reltype", "reloftype", "relam", "reltablespace", "reltoastrelid", "relrewrite"} {
		w.oid(c, 0)
	}
	w.oid("reltablespace", s.tablespaceOid(t.Tablespace))
	w.oid("relowner", uint32(t.Owner))
	if w.oid("relfilenode", oid); kind == "v" || kind == "c" { // they have no rows of their own
		w.oid("relfilenode", 0)
	}
	for _, c := range [...]string{"relallvisible", "relchecks", "relfrozenxid", "relminmxid"} {
		w.num(c, 0)
	}
	if w.needs("reltuples") || w.needs("relpages") {
		pages, tuples := s.extent(t, kind)
		w.num("relpages", pages)
		w.float("reltuples", tuples)
	}
	for _, c := range [...]string{
		"relhasindex", "relisshared", "relhasrules", "relhastriggers", "relhassubclass", "relispartition",
		"relrowsecurity", "relforcerowsecurity",
	} {
		w.flag(c, false)
	}
	w.str("relpersistence", s.persistence(t))
	w.str("relkind", kind)
	w.num("relnatts", int64(natts))
	w.flag("relispopulated", true)
}

// pgAttribute lists the columns of relations and indexes.
func pgAttribute(s *snapshot, w *writer) error {
	for _, t := range append(s.relations(), s.composites()...) {
		if w.ended() {
			break
		}
		if w.wants("attrelid", t.Oid) {
			for _, c := range visibleColumns(t) {
				attributeRow(w, t.Oid, c.Attnum, c, c.NotNull, false)
			}
			droppedRows(w, t)
		}
		for _, ix := range visibleIndexes(t) {
			if !w.wants("attrelid", ix.Oid) {
				continue
			}
			for i, c := range indexAttributes(t, ix) {
				attributeRow(w, ix.Oid, int16(i+1), &c, false, false)
			}
		}
	}
	return nil
}

// droppedRows lists the columns that a table had: clients such as pg_dump rely on numbers
// without gaps.
func droppedRows(w *writer, t *catalog.Table) {
	for num := int16(1); num < t.NextAttnum; num++ {
		if slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.Attnum == num }) {
			continue
		}
		c := catalog.Column{Name: "........pg.dropped." + strconv.Itoa(int(num)) + "........", Attnum: num, Type: types.Int4}
		attributeRow(w, t.Oid, num, &c, false, true)
	}
}

// indexColumns are the key columns, then the included ones.
func indexColumns(ix *catalog.Index) []catalog.ColumnID {
	var out []catalog.ColumnID
	for _, k := range ix.Columns {
		out = append(out, k.Column)
	}
	return append(out, ix.Stored...)
}

// indexAttributes are the columns of an index as pg_attribute has them. Those of
// expressions are called as PostgreSQL would: lower, expr, expr1.
func indexAttributes(t *catalog.Table, ix *catalog.Index) []catalog.Column {
	var out []catalog.Column
	taken := map[string]bool{}
	for _, id := range indexColumns(ix) {
		c := t.Columns[t.ColumnByID(id)]
		if c.IndexExpression() {
			base := "expr"
			if x, err := parser.ParseExpr(c.Generated); err == nil {
				base = planner.IndexColumnName(x)
			}
			c.Name = base
			for n := 1; taken[c.Name]; n++ {
				c.Name = base + strconv.Itoa(n)
			}
		}
		taken[c.Name] = true
		c.Default, c.Identity, c.Generated = "", 0, ""
		if k := keyType(ix, c.Type); k != c.Type {
			c.Type, c.Domain = k, nil
		}
		out = append(out, c)
	}
	return out
}

func attributeRow(w *writer, rel uint32, num int16, c *catalog.Column, notNull, dropped bool) {
	info := types.InfoOf(c.Type)
	w.oid("attrelid", rel)
	w.str("attname", c.Name)
	w.acl("attacl", c.ACL)
	switch w.oid("atttypid", c.Type.Oid); {
	case dropped:
		w.oid("atttypid", 0)
	case c.Domain != nil:
		w.oid("atttypid", c.Domain.Oid)
	}
	w.num("attstattarget", -1)
	w.num("attlen", int64(info.Len))
	w.num("attnum", int64(num))
	w.num("attndims", 0)
	if c.Type.Elem != nil {
		w.num("attndims", 1)
	}
	w.num("attcacheoff", -1)
	w.num("atttypmod", int64(c.Type.Typmod))
	if c.Domain != nil {
		w.num("atttypmod", -1)
	}
	w.flag("attbyval", info.ByVal)
	w.str("attalign", string(info.Align))
	w.str("attstorage", string(info.Storage))
	w.str("attcompression", "")
	w.flag("attnotnull", notNull)
	w.flag("atthasdef", hasDefault(c))
	w.flag("atthasmissing", c.Missing != nil)
	if d, _, err := types.DecodeEncoded(string(c.Missing)); err == nil && w.needs("attmissingval") {
		w.set("attmissingval", types.NewArray([]types.Datum{types.NewString(typeio.FormatDatum(c.Type, d, &types.FormatContext{}))}))
	}
	w.str("attidentity", "")
	if c.Identity != 0 {
		w.str("attidentity", string(c.Identity))
	}
	w.str("attgenerated", "")
	if c.Generated != "" && !c.Hidden { // PostgreSQL 15 and its tools know no virtual ones
		w.str("attgenerated", "s")
	}
	w.flag("attisdropped", dropped)
	w.flag("attislocal", true)
	w.num("attinhcount", 0)
	w.oid("attcollation", collationOf(c.Type))
	w.done()
}

// hasDefault reports whether pg_attrdef lists the column: those with an
// expression that is not an identity's.
func hasDefault(c *catalog.Column) bool {
	return (c.Default != "" || c.Generated != "") && c.Identity == 0 && !c.Hidden
}

// attrdefOid makes the oid of a column's default; defaults have none of their
// own.
func attrdefOid(t *catalog.Table, c *catalog.Column) uint32 {
	return 1<<31 | (t.Oid&0x1fffff)<<10 | uint32(c.Attnum)&0x3ff
}

// defaultByOid returns the column with a default of that oid, and its table; nil if there
// is none.
func (s *snapshot) defaultByOid(oid uint32) (*catalog.Table, *catalog.Column) {
	for t := range s.withMadeOid(oid) {
		for _, c := range visibleColumns(t) {
			if hasDefault(c) && attrdefOid(t, c) == oid {
				return t, c
			}
		}
	}
	return nil, nil
}

// viewByRule returns the view whose rule has that oid, nil if there is none.
func (s *snapshot) viewByRule(oid uint32) *catalog.Table {
	for t := range s.withMadeOid(oid) {
		if t.View != nil && ruleOid(t) == oid {
			return t
		}
	}
	return nil
}

// withMadeOid yields the relations that an oid may be made from by attrdefOid: those whose
// own oid has the same last bits.
func (s *snapshot) withMadeOid(oid uint32) iter.Seq[*catalog.Table] {
	return func(yield func(*catalog.Table) bool) {
		if oid>>31 == 0 {
			return
		}
		const span = 1 << 21
		for o := uint64(oid >> 10 & (span - 1)); o < 1<<32; o += span {
			if t := s.ownerOf(uint32(o)); t != nil && t.Oid == uint32(o) && !yield(t) {
				return
			}
		}
	}
}

// pgAttrdef lists defaults.
func pgAttrdef(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !w.wants("adrelid", t.Oid) {
			continue
		}
		for _, c := range visibleColumns(t) {
			if !hasDefault(c) {
				continue
			}
			w.oid("oid", attrdefOid(t, c))
			w.oid("adrelid", t.Oid)
			w.num("adnum", int64(c.Attnum))
			if w.computes("adbin") {
				w.str("adbin", s.defaultText(t, c))
			}
			w.done()
		}
	}
	return nil
}

// pgNamespace lists schemas.
func pgNamespace(s *snapshot, w *writer) error {
	for _, x := range s.schemas() {
		w.oid("oid", x.Oid)
		w.str("nspname", x.Name)
		w.oid("nspowner", uint32(x.Owner))
		if x.ACL != nil || x.Owner == catalog.DatabaseOwnerOid || x.Oid == oidPgCatalog || x.Oid == oidInformationSchema {
			w.acl("nspacl", x.Privileges())
		}
		w.done()
	}
	return nil
}

// pgInitPrivs lists the privileges that the system's objects have had from the beginning,
// which are what they have: pg_dump leaves out what has not changed.
func pgInitPrivs(s *snapshot, w *writer) error {
	from := "i"
	row := func(oid, class uint32, acl types.Datum) {
		w.oid("objoid", oid)
		w.oid("classoid", class)
		w.num("objsubid", 0)
		w.str("privtype", from)
		w.set("initprivs", acl)
		w.done()
	}
	row(oidPgCatalog, oidPgNamespace, aclOf("UC", "U"))
	row(oidInformationSchema, oidPgNamespace, aclOf("UC", "U"))
	for _, t := range s.relations() {
		if t.Kind == catalog.KindVirtual {
			row(t.Oid, oidPgClass, aclOf("arwdDxt", publicMay(t)))
		}
	}
	for _, r := range routines().all {
		if r.restricted {
			row(r.oid, oidPgProc, aclOf("X", ""))
		}
	}
	from = "e"
	for _, x := range s.extensions() {
		for _, r := range x.routines() {
			if r.restricted {
				row(r.oid, oidPgProc, aclOf("X", ""))
			}
		}
	}
	for _, t := range s.tables() {
		if t.Extension != "" {
			row(t.Oid, oidPgClass, aclArray(catalog.ExtensionViewACL(t.Owner)))
		}
	}
	return nil
}

// pgTables is the view of tables.
func pgTables(s *snapshot, w *writer) error {
	for _, t := range s.relations() {
		if relkind(t) != "r" {
			continue
		}
		w.str("schemaname", s.schemaName(t))
		w.str("tablename", t.Name)
		w.str("tableowner", s.roleName(t.Owner.Role()))
		if t.Tablespace != "" {
			w.str("tablespace", t.Tablespace)
		}
		w.flag("hasindexes", len(visibleIndexes(t)) > 0)
		w.flag("hasrules", false)
		w.flag("hastriggers", hasTriggers(t))
		w.flag("rowsecurity", t.RowSecurity)
		w.done()
	}
	return nil
}

// pgViews is the view of views.
func pgViews(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.Kind != catalog.KindView {
			continue
		}
		w.str("schemaname", s.schemaName(t))
		w.str("viewname", t.Name)
		w.str("viewowner", s.roleName(t.Owner.Role()))
		if w.computes("definition") {
			w.str("definition", s.viewText(t, deparse.Layout{}))
		}
		w.done()
	}
	return nil
}

// pgMatviews is the view of materialized views.
func pgMatviews(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !t.Materialized() {
			continue
		}
		w.str("schemaname", s.schemaName(t))
		w.str("matviewname", t.Name)
		w.str("matviewowner", s.roleName(t.Owner.Role()))
		w.flag("hasindexes", len(visibleIndexes(t)) > 0)
		w.flag("ispopulated", !t.View.Unpopulated)
		if w.computes("definition") {
			w.str("definition", s.viewText(t, deparse.Layout{}))
		}
		w.done()
	}
	return nil
}

// viewRule is the name of the rule that a view has.
const viewRule = "_RETURN"

// ruleOid makes the oid of a view's rule, which is no default's.
func ruleOid(t *catalog.Table) uint32 { return attrdefOid(t, &catalog.Column{}) }

// pgRewrite lists the rule of each view.
func pgRewrite(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.View == nil || !w.wants("oid", ruleOid(t)) {
			continue
		}
		w.oid("oid", ruleOid(t))
		w.str("rulename", viewRule)
		w.oid("ev_class", t.Oid)
		w.str("ev_type", "1")
		w.str("ev_enabled", "O")
		w.flag("is_instead", true)
		w.str("ev_qual", "<>")
		w.str("ev_action", t.View.Query)
		w.done()
	}
	return nil
}

// pgSequence lists the definitions of sequences.
func pgSequence(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.Kind != catalog.KindSequence || !w.wants("seqrelid", t.Oid) {
			continue
		}
		q := t.Sequence
		w.oid("seqrelid", t.Oid)
		w.oid("seqtypid", q.Type.Oid)
		w.num("seqstart", q.Start)
		w.num("seqincrement", q.Increment)
		w.num("seqmax", q.Max)
		w.num("seqmin", q.Min)
		w.num("seqcache", q.Cache)
		w.flag("seqcycle", q.Cycle)
		w.done()
	}
	return nil
}

// pgSequences is the view of sequences.
func pgSequences(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if t.Kind != catalog.KindSequence {
			continue
		}
		q := t.Sequence
		last, called, err := s.c.h.Coll.Store().SequenceValue(s.ctx, t)
		if err != nil {
			return err
		}
		w.str("schemaname", s.schemaName(t))
		w.str("sequencename", t.Name)
		w.str("sequenceowner", s.roleName(t.Owner.Role()))
		w.oid("data_type", q.Type.Oid)
		w.num("start_value", q.Start)
		w.num("min_value", q.Min)
		w.num("max_value", q.Max)
		w.num("increment_by", q.Increment)
		w.flag("cycle", q.Cycle)
		w.num("cache_size", q.Cache)
		if called {
			w.num("last_value", last)
		}
		w.done()
	}
	return nil
}
