package pgcatalog

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lookup is an index of a virtual table: rows are found by the values of its columns.
type lookup struct {
	columns string // separated by blanks
	unique  bool
	// by returns the part of the catalog that has the rows with a key.
	by finder
}

// finder says how the objects are found that make the rows with a key: those, and perhaps
// others. What it finds goes by the first column.
type finder uint8

const (
	// byNothing: only fixed rows have such keys.
	byNothing finder = iota
	// byOid: the key is the oid of the object or of a part of it.
	byOid
	// byOidIfAny: the same, but some objects have 0 there.
	byOidIfAny
	// byName: it is the name of a relation, a type or an index.
	byName
	// byTypeName: it is the name of a type, which may be the array of another.
	byTypeName
	// bySchemaName: it is the name of a schema.
	bySchemaName
	// byReferenced: it is the oid of a table or an index that the object, or a foreign
	// key of it, refers to.
	byReferenced
	// byReferencedName: it is the name of such a table.
	byReferencedName
	// byObject: it is the oid of what depends on something, defaults and rules included.
	byObject
	// byDependedOn: it is the oid of what something depends on.
	byDependedOn
	// byDatabase: it is about a database, of which there are few.
	byDatabase
)

// inOrder reports whether it finds the objects with a range of keys, too.
func (f finder) inOrder() bool {
	return f == byNothing || f == byName || f == byTypeName || f == byReferencedName
}

// lookups are the indexes of virtual tables, as far as rows are found in less time than all
// are made in.
var lookups = map[string][]lookup{
	"pg_catalog.pg_class":      {{"oid", true, byOid}, {"relname", false, byName}, {"relname relnamespace", false, byName}},
	"pg_catalog.pg_attribute":  {{"attrelid", false, byOid}, {"attrelid attnum", true, byOid}, {"attrelid attname", true, byOid}},
	"pg_catalog.pg_attrdef":    {{"oid", false, byObject}, {"adrelid", false, byOid}, {"adrelid adnum", true, byOid}},
	"pg_catalog.pg_index":      {{"indexrelid", true, byOid}, {"indrelid", false, byOid}},
	"pg_catalog.pg_constraint": {{"oid", true, byOid}, {"conrelid", false, byOidIfAny}, {"contypid", false, byOidIfAny}, {"confrelid", false, byReferenced}, {"conindid", false, byReferenced}},
	"pg_catalog.pg_type":       {{"oid", true, byOid}, {"typrelid", false, byOidIfAny}, {"typname", false, byTypeName}, {"typname typnamespace", false, byTypeName}},
	"pg_catalog.pg_enum":       {{"oid", true, byOid}, {"enumtypid", false, byOid}},
	"pg_catalog.pg_range":      {{"rngtypid", true, byOid}},
	"pg_catalog.pg_namespace":  {{"oid", true, byOid}, {"nspname", true, bySchemaName}},
	"pg_catalog.pg_sequence":   {{"seqrelid", true, byOid}},
	"pg_catalog.pg_rewrite":    {{"ev_class", false, byOid}},
	"pg_catalog.pg_collation":  {{"oid", true, byOid}},
	"pg_catalog.pg_description": {
		{"objoid", false, byOid}, {"objoid classoid", false, byOid}, {"objoid classoid objsubid", true, byOid},
	},
	"pg_catalog.pg_depend": {
		{"objid", false, byObject}, {"objid classid", false, byObject}, {"objid classid objsubid", false, byObject},
		{"refobjid", false, byDependedOn}, {"refobjid refclassid", false, byDependedOn}, {"refobjid refclassid refobjsubid", false, byDependedOn},
	},
	"pg_catalog.pg_database":      {{"oid", true, byDatabase}, {"datname", true, byDatabase}},
	"pg_catalog.pg_shdescription": {{"objoid", false, byDatabase}, {"objoid classoid", false, byDatabase}},

	"pg_catalog.pg_proc":      {{"oid", true, byNothing}, {"proname", false, byNothing}},
	"pg_catalog.pg_operator":  {{"oid", true, byNothing}, {"oprname", false, byNothing}},
	"pg_catalog.pg_aggregate": {{"aggfnoid", true, byNothing}},
	"pg_catalog.pg_am":        {{"oid", true, byNothing}, {"amname", true, byNothing}},
	"pg_catalog.pg_opclass":   {{"oid", true, byNothing}},
	"pg_catalog.pg_opfamily":  {{"oid", true, byNothing}},
	"pg_catalog.pg_amop":      {{"amopfamily", false, byNothing}},
	"pg_catalog.pg_language":  {{"oid", true, byNothing}},

	"pg_catalog.pg_tables":              {{"tablename", false, byName}},
	"pg_catalog.pg_views":               {{"viewname", false, byName}},
	"pg_catalog.pg_matviews":            {{"matviewname", false, byName}},
	"pg_catalog.pg_indexes":             {{"tablename", false, byName}, {"indexname", false, byName}},
	"pg_catalog.pg_sequences":           {{"sequencename", false, byName}},
	"pg_catalog.pg_stat_all_tables":     {{"relid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_stat_user_tables":    {{"relid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_statio_all_tables":   {{"relid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_statio_user_tables":  {{"relid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_stat_all_indexes":    {{"relid", false, byOid}, {"indexrelid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_stat_user_indexes":   {{"relid", false, byOid}, {"indexrelid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_statio_all_indexes":  {{"relid", false, byOid}, {"indexrelid", true, byOid}, {"relname", false, byName}},
	"pg_catalog.pg_statio_user_indexes": {{"relid", false, byOid}, {"indexrelid", true, byOid}, {"relname", false, byName}},

	"information_schema.tables":                  {{"table_name", false, byName}},
	"information_schema.columns":                 {{"table_name", false, byName}},
	"information_schema.views":                   {{"table_name", false, byName}},
	"information_schema.sequences":               {{"sequence_name", false, byName}},
	"information_schema.table_constraints":       {{"table_name", false, byName}},
	"information_schema.key_column_usage":        {{"table_name", false, byName}},
	"information_schema.constraint_column_usage": {{"table_name", false, byReferencedName}},
	"information_schema.constraint_table_usage":  {{"table_name", false, byReferencedName}},
	"information_schema.table_privileges":        {{"table_name", false, byName}},
	"information_schema.column_privileges":       {{"table_name", false, byName}},
	"information_schema.element_types":           {{"object_name", false, byName}},

	"lichen_internal.create_statements": {{"descriptor_id", true, byOid}, {"descriptor_name", false, byName}},
	"lichen_internal.table_columns":     {{"descriptor_id", false, byOid}, {"descriptor_name", false, byName}},
}

// virtualIndexes are the indexes of a virtual table: the first one for reading all of it,
// the others those of its lookups, in their order. What hashes no columns has them in order.
func virtualIndexes(t *catalog.Table, qualified string, ords map[string]int) []catalog.Index {
	var all []catalog.ColumnID
	for i := range t.Columns {
		all = append(all, t.Columns[i].ID)
	}
	out := []catalog.Index{{ID: 1, Name: t.Name, Stored: all}}
	for _, l := range lookups[qualified] {
		names := strings.Fields(l.columns)
		ix := catalog.Index{
			ID: catalog.IndexID(len(out) + 1), Name: t.Name + "_" + strings.Join(names, "_") + "_index",
			Unique: l.unique, HashColumns: len(names), Stored: all,
		}
		if l.by.inOrder() && len(names) == 1 {
			ix.HashColumns = 0
		}
		for _, n := range names {
			ix.Columns = append(ix.Columns, catalog.IndexColumn{Column: t.Columns[ords[n]].ID})
		}
		out = append(out, ix)
	}
	return out
}

// scope are the objects that a generator is to make rows of.
type scope struct {
	tables, types, collations, routines, operators, builtIn []*catalog.Table
	schemas                                                 []*catalog.Schema
	seen                                                    map[catalog.ID]struct{} // of tables and types
}

// add takes an object of the session's database into the scope.
func (x *scope) add(s *snapshot, d catalog.Descriptor) {
	switch d := d.(type) {
	case *catalog.Schema:
		x.schemas = append(x.schemas, d)
	case *catalog.Table:
		if _, ok := x.seen[d.ID]; ok {
			return
		}
		if x.seen == nil {
			x.seen = map[catalog.ID]struct{}{}
		}
		x.seen[d.ID] = struct{}{}
		switch {
		case d.ID.IsVirtual():
			x.builtIn = append(x.builtIn, d)
		case d.Database != s.db.ID:
		case d.Kind == catalog.KindType:
			x.types = append(x.types, d)
		case d.Kind == catalog.KindCollation:
			x.collations = append(x.collations, d)
		case d.OwnOperator():
			x.operators = append(x.operators, d)
		case d.Kind == catalog.KindRoutine:
			x.routines = append(x.routines, d)
		default:
			x.tables = append(x.tables, d)
		}
	}
}

// scopeOf returns what makes the rows whose key begins with a value; nil stands for
// everything.
func (s *snapshot) scopeOf(by finder, key types.Datum) *scope {
	x := &scope{}
	if key.IsNull() || (by == byOidIfAny || by == byReferenced) && key.Int() == 0 {
		return nil // what has none
	}
	switch by {
	case byName, byTypeName, bySchemaName, byReferencedName:
		s.withName(x, by, key.Str())
	case byDatabase:
		return nil
	case byNothing:
	default:
		if oid := uint32(key.Int()); int64(oid) == key.Int() {
			return s.withOid(x, by, oid)
		}
	}
	return x
}

// fewNames is how many objects are found by a range of names at least, before all are listed: these are in memory and in
// order, and whoever wants few of them gets them as they come.
const fewNames = 1000

// scopeBetween returns what makes the rows whose key lies in a range; nil stands for everything.
func (s *snapshot) scopeBetween(by finder, r *operator.ValueRange) *scope {
	x := &scope{}
	if by == byNothing {
		return x
	}
	first, last := "", "" // the latter for no end
	if !r.Lo.IsNull() {
		first = r.Lo.Str()
	}
	if !r.Hi.IsNull() {
		last = r.Hi.Str()
	}
	if by == byTypeName && first < "`" && (last == "" || last >= "_") {
		return nil // names of arrays, which begin with _
	}
	all := s.c.h.Coll.Counts()
	most := max(fewNames, all.Relations()/8)
	for _, schema := range s.schemas() {
		for t := range s.between(schema, first, last) {
			if most--; most < 0 {
				return nil
			}
			x.add(s, t)
			if by == byReferencedName {
				s.addReferring(x, t)
			}
		}
	}
	slices.SortFunc(x.tables, byID) // as when everything is listed
	slices.SortFunc(x.types, byID)
	return x
}

func byID(a, b *catalog.Table) int { return cmp.Compare(a.ID, b.ID) }

// between yields what has a name between two in a schema, and perhaps others; an empty last one is no
// bound.
func (s *snapshot) between(x *catalog.Schema, first, last string) iter.Seq[*catalog.Table] {
	if x.ID.IsVirtual() {
		return s.c.h.Coll.BuiltInBetween(x.ID, first, last)
	}
	return s.c.h.Coll.PeekBetween(s.ctx, x.ID, first, last)
}

// withName adds what has a name.
func (s *snapshot) withName(x *scope, by finder, name string) {
	if by == bySchemaName {
		if d := s.c.h.Coll.PeekSchemaNamed(s.ctx, name); d != nil {
			x.add(s, d)
		}
		return
	}
	for _, schema := range s.schemas() {
		if by == byTypeName {
			s.addElements(x, schema, name)
		}
		for _, t := range []*catalog.Table{s.in(schema, name), s.typeIn(schema, name)} {
			if t == nil {
				continue
			}
			x.add(s, t)
			if by == byReferencedName {
				s.addReferring(x, t)
			}
		}
	}
}

// addElements adds the types whose arrays may have a name: see arrayName.
func (s *snapshot) addElements(x *scope, schema *catalog.Schema, name string) {
	for strings.HasPrefix(name, "_") {
		name = name[1:]
		if t := s.typeIn(schema, name); t != nil {
			x.add(s, t)
		}
	}
}

// withOid adds what an oid leads to.
func (s *snapshot) withOid(x *scope, by finder, oid uint32) *scope {
	builtIn, schema := s.c.h.Coll.BuiltInByOid(oid), s.schemaByOid(oid)
	if by == byDependedOn && (builtIn != nil || schema != nil) {
		return nil // any view may read it, anything may be in it
	}
	if builtIn != nil {
		x.add(s, builtIn)
	}
	if by == byDependedOn {
		s.addBrought(x, oid)
	}
	if schema != nil {
		x.add(s, schema)
	}
	t := s.ownerOf(oid)
	if by == byObject && t == nil {
		t = s.partMade(oid)
	}
	if t == nil {
		return x
	}
	x.add(s, t)
	switch by {
	case byReferenced:
		s.addReferring(x, t)
	case byDependedOn:
		s.addDependents(x, t)
	}
	return x
}

// addBrought adds the relations that an extension brought, if an oid is of one.
func (s *snapshot) addBrought(x *scope, oid uint32) {
	for _, e := range s.db.Extensions {
		if e.Oid != oid || len(catalog.ExtensionByName(e.Name).Views) == 0 {
			continue
		}
		for _, t := range s.listing().Relations {
			if t.Extension == e.Name {
				x.add(s, t)
			}
		}
	}
}

// partMade returns the relation whose default or rule has an oid; nil if there is none.
func (s *snapshot) partMade(oid uint32) *catalog.Table {
	if t, _ := s.defaultByOid(oid); t != nil {
		return t
	}
	if t := s.viewByRule(oid); t != nil {
		return t
	}
	return nil
}

// addReferring adds the tables whose foreign keys refer to t.
func (s *snapshot) addReferring(x *scope, t *catalog.Table) {
	for _, r := range t.References {
		if d := s.tableByID(r.Table); d != nil {
			x.add(s, d)
		}
	}
}

// addDependents adds what may depend on t or a part of it.
func (s *snapshot) addDependents(x *scope, t *catalog.Table) {
	m := s.mentionOf(t)
	lists := [][]*catalog.Table{s.listing().Relations, s.listing().Types}
	if t.Kind == catalog.KindTable || t.Kind == catalog.KindView {
		lists = [][]*catalog.Table{s.listing().Naming}
		s.addReferring(x, t)
		for _, q := range s.listing().OwnedBy(t.ID) {
			x.add(s, q)
		}
	}
	for _, list := range lists {
		for _, o := range list {
			if o.ID != t.ID && m.in(o) {
				x.add(s, o)
			}
		}
	}
}

// mention tells what may depend on a relation, type or collation.
type mention struct {
	s     *snapshot
	t     *catalog.Table
	words []string // one of which is in each text that names it
}

func (s *snapshot) mentionOf(t *catalog.Table) *mention {
	name, _, _ := strings.Cut(strings.TrimLeft(t.Name, `"`), `"`) // which texts double
	m := &mention{s: s, t: t, words: []string{name, strconv.Itoa(int(t.Oid))}}
	for i := range t.Indexes { // constants name indexes too
		m.words = append(m.words, strconv.Itoa(int(t.Indexes[i].Oid)))
	}
	return m
}

// in reports whether o may depend on what is mentioned, other than by a foreign key or as the
// sequence of a column.
func (m *mention) in(o *catalog.Table) bool {
	if m.ofType(o) || m.uses(o) {
		return true
	}
	for text := range o.StoredTexts() {
		if slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(text, w) }) {
			return true
		}
	}
	return false
}

// uses reports whether a view reads it, or a column of its type, which a constant in the
// query may be read as.
func (m *mention) uses(o *catalog.Table) bool {
	return o.View != nil && slices.ContainsFunc(o.View.Uses, func(id catalog.ID) bool {
		if id == m.t.ID {
			return true
		}
		r := m.s.tableByID(id)
		return r != nil && m.ofType(r)
	})
}

// ofType reports whether something of o has its type or collation.
func (m *mention) ofType(o *catalog.Table) bool {
	oid := m.t.Oid
	has := func(t *types.T) bool { return catalog.UsesType(t, oid) || catalog.UsesCollation(t, oid) }
	for i := range o.Columns {
		if c := &o.Columns[i]; has(c.Type) || has(c.Domain) {
			return true
		}
	}
	for i := range o.Indexes {
		for _, k := range o.Indexes[i].Columns {
			if k.Collate != nil && k.Collate.Oid == oid {
				return true
			}
		}
	}
	return o.UserType != nil && has(o.UserType)
}
