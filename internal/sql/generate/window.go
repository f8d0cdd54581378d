package generate

import (
	"fmt"
	"regexp"
	"strings"
)

// aggregates make a value of a type from the rows of a group, whatever their order.
var aggregates = map[string][]string{
	"int4":    {"count({text})::int4", "max({int4})", "min({int4})", "bit_or({int4})", "count(DISTINCT {int4})::int4", "mode() WITHIN GROUP (ORDER BY {int4})"},
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

// windows are calls over windows, by type.
var windows = map[string][]string{
	"int4":    {"max({int4})", "first_value({int4})", "lag({int4})", "lead({int4}, 2, 0)", "nth_value({int4}, 2)", "ntile(3)"},
	"int8":    {"row_number()", "count({text})", "count(*)", "sum({int8} % 1000)::int8", "rank()", "dense_rank()", "count(*)", "sum({int4})"},
	"text":    {"first_value({text})", "lag({text})", "max({text})", "last_value({text})"},
	"numeric": {"sum({numeric})", "avg({int4})", "max({numeric})"}, "bool": {"bool_or({bool})", "lead({bool})"}, "date": {"max({date})", "lag({date})"},
	"float8": {"max({float8})", "lag({float8})"}, "_text": {"array_agg({text})", "first_value({_text})"}, "int4range": {"lag({int4range})", "max({int4range})"}, "time": {"min({time})"}, "timestamptz": {"last_value({timestamptz})"},
	"uuid": {"nth_value({uuid}, 2)"}, "bytea": {"string_agg({bytea}, '-')"}, "tsvector": {"lead({tsvector})"},
	"int4multirange": {"lag({int4multirange})", "range_agg({int4range})"}, "varchar(4)": {"lag({varchar(4)})", "max({varchar(4)})"}, "mood": {"lead({mood})", "min({mood})"}, "pair": {"lag({pair})", "first_value({pair})"}, "posint": {"lag({posint}, 1, 7::posint)", "max({posint})"},
	"timestamp": {"min({timestamp})"}, "jsonb": {"first_value({jsonb})", "jsonb_agg({int4})"}, "_int4": {"array_agg({int4})"}, "interval": {"sum({interval})"},
}

// unorderedCall matches calls whose value does not depend on the order of the frame's rows.
var unorderedCall = regexp.MustCompile(`^(sum|count|max|min|avg|bool_or)\(`)

// rangeWindow is a window whose frames reach to values, over an order that need not be
// total.
func (g *Generator) rangeWindow(s *Scope) string {
	key, by := g.Pick("int4", "numeric", "date", "timestamp"), ""
	switch key {
	case "int4", "numeric":
		by = g.Pick("1", "2", "0")
	default:
		by = "interval '" + g.Pick("1 day", "1 month", "36 hours") + "'"
	}
	frame := g.Pick("BETWEEN %s PRECEDING AND CURRENT ROW", "BETWEEN %[1]s PRECEDING AND %[1]s FOLLOWING", "BETWEEN CURRENT ROW AND %s FOLLOWING", "BETWEEN UNBOUNDED PRECEDING AND %s PRECEDING")
	return fmt.Sprintf("ORDER BY %s%s RANGE %s%s", g.Expr(s, key, 1), g.Pick("", " DESC", " NULLS FIRST"), fmt.Sprintf(frame, by),
		g.Pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"))
}

// window is a window definition whose order is total.
func (g *Generator) window(s *Scope) string {
	var parts []string
	if g.OneIn(2) {
		parts = append(parts, "PARTITION BY "+g.Expr(s, g.Pick("int4", "text", "bool"), 1))
	}
	order := strings.Join(s.keys, ", ")
	if g.OneIn(2) {
		order = g.Expr(s, g.Pick("int4", "text", "date"), 1) + g.Pick("", " DESC", " NULLS FIRST") + ", " + order
	}
	parts = append(parts, "ORDER BY "+order)
	if g.OneIn(2) {
		parts = append(parts, g.Pick("ROWS", "GROUPS")+" "+g.Pick("UNBOUNDED PRECEDING", "1 PRECEDING", "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
			"BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "BETWEEN 2 PRECEDING AND 1 PRECEDING", "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")+
			g.Pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP"))
	}
	return strings.Join(parts, " ")
}
