package pgcatalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eachExtended calls f for the statistics objects that CREATE STATISTICS has made.
func (s *snapshot) eachExtended(f func(t *catalog.Table, x *catalog.Extended)) {
	for _, t := range s.tables() {
		for i := range t.Extended {
			f(t, &t.Extended[i])
		}
	}
}

// pgStatisticExt lists the statistics objects.
func pgStatisticExt(s *snapshot, w *writer) error {
	s.eachExtended(func(t *catalog.Table, x *catalog.Extended) {
		w.oid("oid", x.Oid)
		w.oid("stxrelid", t.Oid)
		w.str("stxname", x.Name)
		if in := s.schemaByID(x.Schema); in != nil {
			w.oid("stxnamespace", in.Oid)
		}
		w.oid("stxowner", uint32(t.Owner))
		w.num("stxstattarget", int64(x.Target))
		w.set("stxkeys", vector(attnums(t, x.Columns)))
		w.set("stxkind", texts(strings.Split(x.Kinds, "")))
		w.done()
	})
	return nil
}

// pgStatisticExtData lists what ANALYZE has found of them.
func pgStatisticExtData(s *snapshot, w *writer) error {
	s.eachExtended(func(t *catalog.Table, x *catalog.Extended) {
		d := s.extendedData(t, x)
		if d == nil {
			return
		}
		w.oid("stxoid", x.Oid)
		w.flag("stxdinherit", false)
		if d.Distinct != nil {
			w.str("stxdndistinct", distinctText(t, d))
		}
		if d.Dependencies != nil {
			w.str("stxddependencies", dependenciesText(t, d))
		}
		w.done()
	})
	return nil
}

// extendedData is what ANALYZE has found of a statistics object, nil if nothing.
func (s *snapshot) extendedData(t *catalog.Table, x *catalog.Extended) *catalog.ExtendedData {
	if st := s.contents(t).Statistics; st != nil {
		return st.Extended[x.Oid]
	}
	return nil
}

// pgStatsExt lists what ANALYZE has found of the statistics objects of tables that the user owns, and all of whose rows the user sees.
func pgStatsExt(s *snapshot, w *writer) error {
	s.eachExtended(func(t *catalog.Table, x *catalog.Extended) {
		d := s.extendedData(t, x)
		if d == nil || !s.c.h.Coll.Me().Has(t.Owner.Role()) || slices.ContainsFunc(x.Columns, func(id catalog.ColumnID) bool { return !s.mayRead(t, &t.Columns[t.ColumnByID(id)]) }) {
			return
		}
		w.str("schemaname", s.schemaName(t))
		w.str("tablename", t.Name)
		if in := s.schemaByID(x.Schema); in != nil {
			w.str("statistics_schemaname", in.Name)
		}
		w.str("statistics_name", x.Name)
		if owner, ok := s.c.UserByOid(uint32(t.Owner)); ok {
			w.str("statistics_owner", owner)
		}
		w.set("attnames", texts(extendedColumns(t, x)))
		w.set("kinds", texts(strings.Split(x.Kinds, "")))
		w.flag("inherited", false)
		if d.Distinct != nil {
			w.str("n_distinct", distinctText(t, d))
		}
		if d.Dependencies != nil {
			w.str("dependencies", dependenciesText(t, d))
		}
		s.commonCombinations(w, t, x, d)
		w.done()
	})
	return nil
}

// commonCombinations writes the common combinations of a statistics object.
func (s *snapshot) commonCombinations(w *writer, t *catalog.Table, x *catalog.Extended, d *catalog.ExtendedData) {
	if len(d.Common) == 0 {
		return
	}
	var values, nulls, shares, bases []types.Datum
	for _, c := range d.Common {
		for k, v := range c.Values {
			text := types.Null
			if !v.IsNull() {
				text = s.valueText(t.Columns[t.ColumnByID(x.Columns[k])].Type, v)
			}
			values, nulls = append(values, text), append(nulls, types.NewBool(v.IsNull()))
		}
		shares, bases = append(shares, types.NewFloat(c.Share)), append(bases, types.NewFloat(c.Base))
	}
	dims := []types.ArrayDim{{Len: int32(len(d.Common)), Lower: 1}, {Len: int32(len(x.Columns)), Lower: 1}}
	w.set("most_common_vals", types.EncodeArray(dims, values, nil))
	w.set("most_common_val_nulls", types.EncodeArray(dims, nulls, nil))
	w.set("most_common_freqs", types.NewArray(shares))
	w.set("most_common_base_freqs", types.NewArray(bases))
}

// numbersOf prints columns by their numbers.
func numbersOf(t *catalog.Table, ids []catalog.ColumnID) string {
	var list []string
	for _, id := range ids {
		if ord := t.ColumnByID(id); ord >= 0 {
			list = append(list, strconv.Itoa(int(t.Columns[ord].Attnum)))
		}
	}
	return strings.Join(list, ", ")
}

// distinctText is the text of a pg_ndistinct.
func distinctText(t *catalog.Table, d *catalog.ExtendedData) string {
	var list []string
	for _, c := range d.Distinct {
		list = append(list, `"`+numbersOf(t, c.Columns)+`": `+strconv.FormatFloat(c.Distinct, 'f', 0, 64))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// dependenciesText is the text of a pg_dependencies.
func dependenciesText(t *catalog.Table, d *catalog.ExtendedData) string {
	var list []string
	for _, c := range d.Dependencies {
		list = append(list, `"`+numbersOf(t, c.From)+" => "+numbersOf(t, []catalog.ColumnID{c.To})+`": `+strconv.FormatFloat(c.Degree, 'f', 6, 64))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func extendedColumns(t *catalog.Table, x *catalog.Extended) (names []string) {
	for _, id := range x.Columns {
		names = append(names, t.Columns[t.ColumnByID(id)].Name)
	}
	return names
}

// extendedByOid finds a statistics object, and the name of its schema.
func (c *Catalog) extendedByOid(oid uint32) (t *catalog.Table, x *catalog.Extended, schema string) {
	t, ok := c.h.Coll.PeekOwner(oid).(*catalog.Table)
	if !ok || t.Database != c.h.Coll.CurrentDatabase().ID {
		return nil, nil, ""
	}
	if x = t.ExtendedByOid(oid); x == nil {
		return nil, nil, ""
	}
	if d, err := c.h.Coll.Peek(c.ctx(), x.Schema); err == nil && d != nil {
		schema = d.Ident().Name
	}
	return t, x, schema
}

// StatisticsDef implements call.Catalog.
func (c *Catalog) StatisticsDef(oid uint32, columns bool) (string, bool) {
	t, x, schema := c.extendedByOid(oid)
	if x == nil {
		return "", false
	}
	var list []string
	for _, name := range extendedColumns(t, x) {
		list = append(list, ast.QuoteIdent(name))
	}
	on := strings.Join(list, ", ")
	if columns {
		return on, true
	}
	kinds := ""
	if x.Kinds != catalog.AllExtended {
		var words []string
		for _, k := range x.Kinds {
			words = append(words, map[rune]string{
				catalog.ExtendedDistinct: "ndistinct", catalog.ExtendedDependencies: "dependencies", catalog.ExtendedCommon: "mcv",
			}[k])
		}
		kinds = " (" + strings.Join(words, ", ") + ")"
	}
	from := ast.QuoteIdent(t.Name)
	if d, err := c.h.Coll.Peek(c.ctx(), t.Schema); err == nil && d != nil && !c.visible(t, t.Name) {
		from = ast.QuoteIdent(d.Ident().Name) + "." + from
	}
	return "CREATE STATISTICS " + ast.QuoteIdent(schema) + "." + ast.QuoteIdent(x.Name) + kinds + " ON " + on + " FROM " + from, true
}

// extendedVisible reports whether the search path finds a statistics object by its name; ok is false if there is none with the oid.
func (c *Catalog) extendedVisible(oid uint32) (visible, ok bool) {
	_, x, schema := c.extendedByOid(oid)
	if x == nil {
		return false, false
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return false, true
	}
	for _, p := range c.h.Coll.SearchPath() {
		if p == schema {
			return true, true
		}
		in, err := c.h.Coll.FindSchema(c.ctx(), p)
		if err != nil || in == nil {
			continue
		}
		hidden := false
		s.eachExtended(func(_ *catalog.Table, o *catalog.Extended) { hidden = hidden || o.Schema == in.ID && o.Name == x.Name })
		if hidden {
			return false, true
		}
	}
	return false, true
}

// describeExtended describes a statistics object.
func (s *snapshot) describeExtended(oid uint32) (o call.ObjectName, ok bool) {
	_, x, schema := s.c.extendedByOid(oid)
	if x == nil {
		return o, false
	}
	name, in := ast.QuoteIdent(x.Name), ast.QuoteIdent(schema)
	text := name
	if visible, _ := s.c.extendedVisible(oid); !visible {
		text = in + "." + name
	}
	return call.ObjectName{Kind: "statistics object", Schema: in, Name: name, Identity: in + "." + name, Text: "statistics object " + text}, true
}

// extendedAt finds a statistics object by its name, which a schema may precede.
func (c *Catalog) extendedAt(a call.ObjectAddress) (uint32, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, err
	}
	path := c.h.Coll.SearchPath()
	if len(a.Names) > 1 {
		path = []string{a.Names[len(a.Names)-2]}
	}
	for _, p := range path {
		in, err := c.h.Coll.FindSchema(c.ctx(), p)
		if err != nil {
			return 0, err
		}
		oid := uint32(0)
		s.eachExtended(func(_ *catalog.Table, x *catalog.Extended) {
			if in != nil && x.Schema == in.ID && x.Name == a.Names[len(a.Names)-1] {
				oid = x.Oid
			}
		})
		if oid != 0 {
			return oid, nil
		}
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "statistics object \"%s\" does not exist", strings.Join(a.Names, "."))
}

// extended writes what the statistics objects of a table depend on.
func (d depends) extended(t *catalog.Table) {
	for i := range t.Extended {
		x := &t.Extended[i]
		obj := address{oidPgStatisticExt, x.Oid, 0}
		if in := d.s.schemaByID(x.Schema); in != nil {
			d.row(obj, address{oidPgNamespace, in.Oid, 0}, dependNormal)
		}
		for _, id := range x.Columns {
			d.row(obj, address{oidPgClass, t.Oid, int64(t.Columns[t.ColumnByID(id)].Attnum)}, dependAuto)
		}
	}
}
