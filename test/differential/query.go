package main

import (
	"fmt"
	"regexp"
	"strings"
)

// query generates SELECT statements over a schema.
type query struct {
	rng
	schema *schema
	alias  int
}

func queryStatement(r rng, s *schema) statement {
	q := &query{rng: r, schema: s}
	var types []string
	ordered := !r.oneIn(3)
	for range 1 + r.IntN(4) {
		typ := exprTypes[r.IntN(len(exprTypes))]
		if ordered && typ == "tsvector" { // docs/differences.md: their order
			typ = "text"
		}
		types = append(types, typ)
	}
	sql := q.full(types, 2)
	st := statement{sql: sql, key: "query"}
	if ordered {
		var order []string
		for i := range types {
			order = append(order, fmt.Sprint(i+1)+r.pick("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
		}
		st.sql += " ORDER BY " + strings.Join(order, ", ")
		st.ordered = true
		if r.oneIn(3) {
			st.sql += r.pick(" LIMIT 3", " LIMIT 5 OFFSET 2", " OFFSET 1", " FETCH FIRST 2 ROWS WITH TIES", " FETCH FIRST ROW ONLY")
		}
	}
	return st
}

// full is a query with WITH or set operations.
func (q *query) full(types []string, depth int) string {
	switch {
	case depth > 0 && q.oneIn(7):
		op := q.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
		return fmt.Sprintf("%s %s %s", q.simple(types, depth-1), op, q.simple(types, depth-1))
	case depth > 0 && q.oneIn(8):
		a := q.name("w")
		inner := q.simple(types, depth-1)
		var cols, outer []string
		for i := range types {
			cols = append(cols, fmt.Sprintf("x%d", i))
			outer = append(outer, fmt.Sprintf("%s.x%d AS c%d", a, i, i))
		}
		return fmt.Sprintf("WITH %s(%s) AS %s(%s) SELECT %s FROM %s", a, strings.Join(cols, ", "), q.pick("", "MATERIALIZED ", "NOT MATERIALIZED "), inner, strings.Join(outer, ", "), a)
	case q.oneIn(25):
		n := q.pick("5", "7")
		var outer []string
		for i, t := range types {
			outer = append(outer, fmt.Sprintf("%s AS c%d", scope{schema: q.schema, cols: []tableColumn{{"r.n", "int4"}}}.expr(q.rng, t, 2), i))
		}
		return fmt.Sprintf("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < %s) SELECT %s FROM r", n, strings.Join(outer, ", "))
	}
	return q.simple(types, depth)
}

func (q *query) name(prefix string) string {
	q.alias++
	return fmt.Sprintf("%s%d", prefix, q.alias)
}

// simple is SELECT ... FROM ... WHERE, plain, grouped or with windows.
func (q *query) simple(types []string, depth int) string {
	from, s := q.from(depth)
	where := ""
	if !q.oneIn(3) {
		where = " WHERE " + s.expr(q.rng, "bool", 3)
	}
	switch q.IntN(5) {
	case 0:
		return q.grouped(types, from, where, s)
	case 1:
		if !s.repeats {
			return q.windowed(types, from, where, s)
		}
	}
	distinct := q.pick("", "", "", "", "DISTINCT ")
	return fmt.Sprintf("SELECT %s%s FROM %s%s", distinct, q.items(types, func(t string) string { return s.expr(q.rng, t, 3) }), from, where)
}

func (q *query) items(types []string, expr func(typ string) string) string {
	var list []string
	for i, t := range types {
		list = append(list, fmt.Sprintf("%s AS c%d", expr(t), i))
	}
	return strings.Join(list, ", ")
}

// from is a FROM clause with what it offers.
func (q *query) from(depth int) (string, scope) {
	text, s := q.source(depth)
	for q.oneIn(2) && len(s.keys) < 4 {
		right, rs := q.source(depth - 1)
		both := scope{
			schema: q.schema, cols: append(append([]tableColumn{}, s.cols...), rs.cols...), keys: append(append([]string{}, s.keys...), rs.keys...),
			repeats: s.repeats || rs.repeats,
		}
		switch q.IntN(6) {
		case 0:
			text = fmt.Sprintf("%s CROSS JOIN %s", text, right)
		case 1:
			text = fmt.Sprintf("%s, %s", text, right)
		default:
			on := fmt.Sprintf("%s = %s", s.expr(q.rng, "int4", 0), rs.expr(q.rng, "int4", 0))
			if q.oneIn(3) {
				on += " AND " + both.expr(q.rng, "bool", 1)
			}
			kind := q.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT JOIN")
			if kind == "FULL JOIN" { // PostgreSQL joins fully only by hash or merge
				on = fmt.Sprintf("%s = %s", s.keys[0], rs.keys[0])
			}
			if strings.Contains(text, ", ") && !strings.HasPrefix(text, "(") {
				kind = "CROSS JOIN"
				text = fmt.Sprintf("%s %s %s", text, kind, right)
			} else {
				text = fmt.Sprintf("%s %s %s ON %s", text, kind, right, on)
			}
		}
		s = both
	}
	return text, s
}

// source is a table or a subquery.
func (q *query) source(depth int) (string, scope) {
	a := q.name("a")
	if depth > 0 && q.oneIn(5) {
		types := []string{"int4", exprTypes[q.IntN(len(exprTypes))], exprTypes[q.IntN(len(exprTypes))]}
		s := scope{schema: q.schema, repeats: true}
		for i, t := range types {
			s.cols = append(s.cols, tableColumn{fmt.Sprintf("%s.c%d", a, i), t})
			s.keys = append(s.keys, fmt.Sprintf("%s.c%d", a, i))
		}
		return fmt.Sprintf("(%s) %s", q.full(types, depth-1), a), s
	}
	if q.oneIn(12) {
		return fmt.Sprintf("generate_series(1, %d) %s(n)", 2+q.IntN(4), a), scope{schema: q.schema, cols: []tableColumn{{a + ".n", "int4"}}, keys: []string{a + ".n"}}
	}
	t := q.schema.table(q.rng)
	return t.name + " " + a, scope{schema: q.schema, cols: qualified(t, a), keys: []string{a + ".id"}}
}

// aggregates make a value of a type from the rows of a group, whatever their order.
var aggregates = map[string][]string{
	"int4":    {"count({text})::int4", "max({int4})", "min({int4})", "bit_or({int4})", "count(DISTINCT {int4})::int4", "mode() WITHIN GROUP (ORDER BY {int4})", "grouping()"},
	"int8":    {"count(*)", "sum({int4})", "count({bool}) FILTER (WHERE {bool})", "sum(DISTINCT {int4})", "max({int8})"},
	"text":    {"max({text})", "min({text})", "string_agg({text}, ',' ORDER BY {=} NULLS FIRST)", "string_agg(DISTINCT {text}, '+')", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {text})"},
	"numeric": {"sum({numeric})", "avg({int4})", "max({numeric})", "sum({int8})", "variance({int4})", "stddev_pop({numeric})", "avg({numeric})", "sum({numeric}) FILTER (WHERE {bool})"},
	"bool":    {"bool_and({bool})", "bool_or({bool})", "every({bool})", "count(*) > 2", "max({int4}) IS NULL"},
	"date":    {"max({date})", "min({date})"}, "timestamp": {"max({timestamp})", "min({timestamp})"},
	"jsonb":    {"jsonb_agg({int4} ORDER BY {=})", "to_jsonb(count(*))", "jsonb_object_agg(coalesce({text}, 'n'), 1)"},
	"_int4":    {"array_agg({int4} ORDER BY {=})", "array_agg(DISTINCT {int4})", "max({_int4})"},
	"interval": {"sum({interval})", "max({interval})"},
	"float8":   {"max({float8})", "min({float8})", "count({float8})::float8"}, "_text": {"array_agg({text} ORDER BY {=})", "max({_text})"}, "int4range": {"range_merge(range_agg({int4range}))", "max({int4range})"},
	"time": {"max({time})", "min({time})"}, "timestamptz": {"max({timestamptz})"}, "uuid": {"mode() WITHIN GROUP (ORDER BY {uuid})"}, "bytea": {"string_agg({bytea}, '-' ORDER BY {=})"}, "tsvector": {"to_tsvector('simple', string_agg({text}, ' ' ORDER BY {=}))"},
}

// grouped is a query with GROUP BY: an output is a grouping expression or an
// aggregate.
func (q *query) grouped(types []string, from, where string, s scope) string {
	var groups []string
	byType := map[string]string{}
	for range q.IntN(3) {
		typ := exprTypes[q.IntN(len(exprTypes))]
		if c := s.column(q.rng, typ); c != "" && byType[typ] == "" {
			groups = append(groups, c)
			byType[typ] = c
		}
	}
	items := q.items(types, func(t string) string {
		if c := byType[t]; c != "" && q.oneIn(2) {
			return c
		}
		form := q.pick(aggregates[t]...)
		if form == "grouping()" {
			if len(groups) == 0 {
				form = "count(*)::int4"
			} else {
				form = "grouping(" + strings.Join(groups, ", ") + ")"
			}
		}
		call := s.fill(q.rng, form, 2)
		if q.oneIn(8) { // an aggregate of the query around it
			call = "(SELECT " + call + ")"
		}
		return call
	})
	sql := fmt.Sprintf("SELECT %s FROM %s%s", items, from, where)
	if len(groups) > 0 {
		list := strings.Join(groups, ", ")
		sql += " GROUP BY " + q.pick(list, list, "ROLLUP ("+list+")", "CUBE ("+list+")", "GROUPING SETS (("+list+"), ())", "GROUPING SETS ("+list+")",
			"GROUPING SETS (("+list+"), ROLLUP ("+list+"))", "DISTINCT CUBE ("+list+"), ROLLUP ("+groups[0]+")")
	}
	if q.oneIn(4) {
		sql += " HAVING " + s.fill(q.rng, q.pick(aggregates["bool"]...), 1)
	}
	return sql
}

// windows are calls over windows, by type.
var windows = map[string][]string{
	"int4":    {"max({int4})", "first_value({int4})", "lag({int4})", "lead({int4}, 2, 0)", "nth_value({int4}, 2)", "ntile(3)"},
	"int8":    {"row_number()", "rank()", "dense_rank()", "count(*)", "sum({int4})"},
	"text":    {"first_value({text})", "lag({text})", "max({text})", "last_value({text})"},
	"numeric": {"sum({numeric})", "avg({int4})", "max({numeric})"}, "bool": {"bool_or({bool})", "lead({bool})"}, "date": {"max({date})", "lag({date})"},
	"float8": {"max({float8})", "lag({float8})"}, "_text": {"array_agg({text})", "first_value({_text})"}, "int4range": {"lag({int4range})", "max({int4range})"}, "time": {"min({time})"}, "timestamptz": {"last_value({timestamptz})"},
	"uuid": {"nth_value({uuid}, 2)"}, "bytea": {"string_agg({bytea}, '-')"}, "tsvector": {"lead({tsvector})"},
	"timestamp": {"min({timestamp})"}, "jsonb": {"first_value({jsonb})", "jsonb_agg({int4})"}, "_int4": {"array_agg({int4})"}, "interval": {"sum({interval})"},
}

// windowed is a query whose outputs are windows' or plain.
func (q *query) windowed(types []string, from, where string, s scope) string {
	return fmt.Sprintf("SELECT %s FROM %s%s", q.items(types, func(t string) string {
		if q.oneIn(3) {
			return s.expr(q.rng, t, 2)
		}
		call := s.fill(q.rng, q.pick(windows[t]...), 1)
		call = call[1 : len(call)-1]
		if q.oneIn(3) && unorderedCall.MatchString(call) {
			return call + " OVER (" + q.rangeWindow(s) + ")"
		}
		if q.oneIn(8) && (strings.HasPrefix(call, "sum") || strings.HasPrefix(call, "count")) {
			call += " FILTER (WHERE " + s.expr(q.rng, "bool", 1) + ")"
		}
		return call + " OVER (" + q.window(s) + ")"
	}), from, where)
}

// unorderedCall matches calls whose value does not depend on the order of the frame's rows.
var unorderedCall = regexp.MustCompile(`^(sum|count|max|min|avg|bool_or)\(`)

// rangeWindow is a window whose frames reach to values, over an order that need not be
// total.
func (q *query) rangeWindow(s scope) string {
	key, by := q.pick("int4", "numeric", "date", "timestamp"), ""
	switch key {
	case "int4", "numeric":
		by = q.pick("1", "2", "0")
	default:
		by = "interval '" + q.pick("1 day", "1 month", "36 hours") + "'"
	}
	frame := q.pick("BETWEEN %s PRECEDING AND CURRENT ROW", "BETWEEN %[1]s PRECEDING AND %[1]s FOLLOWING", "BETWEEN CURRENT ROW AND %s FOLLOWING", "BETWEEN UNBOUNDED PRECEDING AND %s PRECEDING")
	return fmt.Sprintf("ORDER BY %s%s RANGE %s%s", s.expr(q.rng, key, 1), q.pick("", " DESC", " NULLS FIRST"), fmt.Sprintf(frame, by),
		q.pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"))
}

// window is a window definition whose order is total.
func (q *query) window(s scope) string {
	var parts []string
	if q.oneIn(2) {
		parts = append(parts, "PARTITION BY "+s.expr(q.rng, q.pick("int4", "text", "bool"), 1))
	}
	order := strings.Join(s.keys, ", ")
	if q.oneIn(2) {
		order = s.expr(q.rng, q.pick("int4", "text", "date"), 1) + q.pick("", " DESC", " NULLS FIRST") + ", " + order
	}
	parts = append(parts, "ORDER BY "+order)
	if q.oneIn(2) {
		parts = append(parts, q.pick("ROWS", "GROUPS")+" "+q.pick("UNBOUNDED PRECEDING", "1 PRECEDING", "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
			"BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "BETWEEN 2 PRECEDING AND 1 PRECEDING", "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")+
			q.pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"))
	}
	return strings.Join(parts, " ")
}
