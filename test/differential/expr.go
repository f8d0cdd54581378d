package main

import (
	"fmt"
	"strings"
)

// scope is the columns that an expression may use.
type scope struct {
	schema *schema
	cols   []tableColumn // names are qualified
	keys   []string      // columns that tell rows apart
	// repeats tells that rows may be alike in all columns, keys included.
	repeats bool
}

// column draws a column of a type, "" if there is none.
func (s scope) column(r rng, typ string) string {
	var fit []string
	for _, c := range s.cols {
		if c.typ == typ {
			fit = append(fit, c.name)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return fit[r.IntN(len(fit))]
}

// exprTypes are the types that expressions are generated of.
var exprTypes = []string{"int4", "int8", "text", "numeric", "bool", "date", "timestamp", "jsonb", "_int4", "interval",
	"float8", "_text", "int4range", "time", "timestamptz", "uuid", "bytea", "tsvector"}

// forms are ways to make an expression of a type; a type's name in braces stands
// for an operand of that type, {=} for the last one again, {q} and {q1} for a
// subquery's part. Forms whose results are equal and yet look different (1 month
// and 30 days) are left out: which of them a database shows is left to it.
var forms = map[string][]string{
	"int4": {"{int4} + {int4}", "{int4} - 1", "{int4} * 2", "{int4} % 3", "{int4} / nullif({int4}, 0)", "-{int4}", "abs({int4})",
		"length({text})", "coalesce({int4}, {int4})", "CASE WHEN {bool} THEN {int4} ELSE {int4} END", "greatest({int4}, {int4})",
		"nullif({int4}, {int4})", "cardinality({_int4})", "({_int4})[1]", "{int4} & 6", "{int4} # 5", "extract(year FROM {date})::int4",
		"position('a' IN {text})", "array_length({_int4}, 1)", "({date} - {date})", "ascii({text})", "least({int4}, 3)", "~{int4}",
		"CASE {int4} WHEN 1 THEN 10 WHEN 2 THEN NULL ELSE 0 END", "jsonb_array_length(CASE WHEN jsonb_typeof({jsonb}) = 'array' THEN {=} END)",
		"width_bucket({numeric}, 0, 10, 5)", "sign({numeric})::int4", "array_position({_int4}, {int4})"},
	"int8": {"{int4}::int8", "{int8} + {int4}", "{int8} * 3", "{int8} - {int8}", "coalesce({int8}, 0)", "{int8} / 2", "({int4range} IS NULL)::int4::int8", "lower({int4range})::int8", "length({tsvector})::int8", "octet_length({bytea})::int8", "round({numeric})::int8"},
	"text": {"{text} || {text}", "upper({text})", "lower({text})", "substr({text}, 1, 2)", "{int4}::text", "coalesce({text}, 'n')", "replace({text}, 'a', 'bb')",
		"CASE WHEN {bool} THEN {text} END", "left({text}, 1)", "repeat({text}, 2)", "lpad({text}, 3, '*')", "trim({text})", "{jsonb} ->> 'a'", "to_char({date}, 'YYYY-MM-DD Dy')",
		"to_char({numeric}, 'FM990.00')", "concat({text}, {int4}, {bool})", "format('%s-%s', {text}, {int4})", "reverse({text})", "md5({text})", "{numeric}::text", "{date}::text",
		"{timestamp}::text", "{interval}::text", "{_int4}::text", "{jsonb}::text", "{bool}::text", "array_to_string({_int4}, ',', '-')", "split_part({text}, 'a', 1)", "initcap({text})",
		"regexp_replace({text}, 'a+', 'X')", "translate({text}, 'ab', 'ba')", "concat_ws('-', {text}, {text})", "to_char({timestamp}, 'HH24:MI:SS')", "quote_literal({text})", "jsonb_typeof({jsonb})",
		"{int4range}::text", "{tsvector}::text", "{_text}::text", "({_text})[1]", "{time}::text", "{timestamptz}::text", "encode({bytea}, 'hex')", "{uuid}::text", "{float8}::text", "array_to_string({_text}, '+', '?')",
		"ts_headline('english', {text}, to_tsquery('a'))", "to_char({timestamptz}, 'YYYY-MM-DD HH24:MI TZ')", "jsonb_path_query_array({jsonb}, '$.*')::text", "overlay({text} PLACING 'x' FROM 1)", "rpad({text}, 4, 'ab')", "regexp_match({text}, '(a)(b)?')::text"},
	"numeric": {"{numeric} + {numeric}", "{numeric} * {int4}", "{numeric} - 1.5", "round({numeric}, 1)", "{numeric} / nullif({numeric}, 0)", "coalesce({numeric}, 0)", "{int4}::numeric",
		"abs({numeric})", "trunc({numeric})", "CASE WHEN {bool} THEN {numeric} ELSE 0 END", "extract(epoch FROM {interval})", "extract(day FROM {date})", "floor({numeric})", "ceil({numeric})",
		"mod({numeric}, 2)", "power({numeric}, 2)", "{int8} / 3.0", "extract(month FROM {timestamp})", "greatest({numeric}, {int4})"},
	"bool": {"{int4} < {int4}", "{int4} = {int4}", "{text} = {text}", "{text} LIKE 'a%'", "{text} < {text}", "NOT {bool}", "{bool} AND {bool}", "{bool} OR {bool}", "{int4} IS NULL", "{text} IS NOT NULL",
		"{int4} BETWEEN 1 AND {int4}", "{int4} IN (1, 2, {int4})", "{numeric} > {numeric}", "{date} < {date}", "{int4} IS DISTINCT FROM {int4}", "{_int4} @> ARRAY[1]", "{int4} = ANY ({_int4})",
		"{jsonb} ? 'a'", "{jsonb} @> '{\"a\": 1}'", "{bool} IS TRUE", "{text} ~ '^a'", "{timestamp} >= {date}", "{int8} = {int4}", "{interval} > {interval}", "{text} ILIKE 'A%'", "{text} IN ('a', 'b', NULL)",
		"({int4}, {text}) = ({int4}, {text})", "({int4}, {int4}) < ({int4}, 2)", "{_int4} = {_int4}", "{_int4} && {_int4}", "{bool} IS NOT UNKNOWN", "{int4} > ALL ({_int4})", "{jsonb} = {jsonb}",
		"{date} = {timestamp}", "{numeric} = {int4}", "EXISTS (SELECT 1 FROM {q})", "{int4} IN (SELECT {q1})", "{text} SIMILAR TO '(a|b)%'", "{numeric} IN (1, 1.5)", "{int4} NOT IN (SELECT {q1})", "starts_with({text}, 'a')",
		"({int4}, {int4}) IN ((1, 2), (2, {int4}), (0, 0))", "({int4}, {text}) >= (1, 'a')", "({int4}, {int4}, {text}) NOT IN ((1, 2, 'a'), (3, 4, NULL))", "(2, {int4}) > ({int4}, 1)",
		"{int4range} @> {int4}", "{int4range} && {int4range}", "isempty({int4range})", "{int4range} << {int4range}", "{tsvector} @@ 'a & !c'::tsquery", "to_tsvector('english', {text}) @@ plainto_tsquery('english', 'ab')",
		"{time} < {time}", "{uuid} = {uuid}", "{bytea} <= {bytea}", "{float8} > {float8}", "{timestamptz} < {timestamptz}", "{text} = ANY ({_text})", "{jsonb} @? '$.a'", "{jsonb} @@ '$.a == 1'", "{_text} <@ ARRAY['a', 'b']",
		"{int4} = ANY (SELECT {q1})", "{int4} < ALL (SELECT {q1})", "({int4}, {int4}) IN (SELECT {q1} AND q.id IS NOT NULL)"},
	"date": {"{date} + {int4} % 1000", "{date} - 1", "coalesce({date}, '2020-01-01')", "{timestamp}::date", "greatest({date}, {date})", "make_date(2024, 2, 1 + abs({int4}) % 28)"},
	"timestamp": {"{date} + {interval}", "{timestamp} + {interval}", "date_trunc('month', {timestamp})", "{timestamp} - interval '1 hour'", "{date}::timestamp", "date_trunc('week', {timestamp})",
		"coalesce({timestamp}, {date})", "date_bin('15 minutes', {timestamp}, '2020-01-01')"},
	"jsonb": {"{jsonb} -> 'a'", "to_jsonb({int4})", "jsonb_build_object('k', {int4}, 't', {text})", "to_jsonb({text})", "jsonb_build_array({int4}, {text}, {bool})", "{jsonb} -> 0", "coalesce({jsonb}, '{}')",
		"{jsonb} #> '{a,b}'", "to_jsonb({_int4})", "jsonb_set('{\"a\": 1}', '{a}', coalesce({jsonb}, '0'))", "to_jsonb({date})", "jsonb_path_query_first({jsonb}, '$.a')", "jsonb_strip_nulls({jsonb})"},
	"_int4":     {"ARRAY[{int4}, {int4}]", "{_int4} || {int4}", "array_remove({_int4}, 1)", "({_int4})[1:1]", "array_append({_int4}, {int4})", "{_int4} || {_int4}", "ARRAY(SELECT {q1} ORDER BY 1)", "array_replace({_int4}, 1, {int4})"},
	"float8":    {"{float8} + 1", "{float8} * 2", "-{float8}", "{int4}::float8", "abs({float8})", "coalesce({float8}, 0)", "greatest({float8}, {float8})", "round({float8})", "floor({float8})", "{numeric}::float8"},
	"_text":     {"ARRAY[{text}, {text}]", "{_text} || {text}", "string_to_array({text}, 'a')", "{_text} || {_text}", "({_text})[1:2]", "array_remove({_text}, 'a')", "regexp_split_to_array({text}, 'a')", "ARRAY(SELECT x FROM unnest({_text}) x ORDER BY 1)"},
	"int4range": {"{int4range} * {int4range}", "int4range({int4}, {int4})", "int4range({int4}, {int4}, '[]')", "coalesce({int4range}, 'empty')", "range_merge({int4range}, {int4range})", "int4range(least({int4}, 3), 3)"},
	"time":      {"{time} + {interval}", "{timestamp}::time", "coalesce({time}, '12:00')", "{interval}::time"}, "uuid": {"coalesce({uuid}, '00000000-0000-0000-0000-000000000002')", "md5({text})::uuid", "nullif({uuid}, {uuid})"},
	"timestamptz": {"{timestamptz} + {interval}", "date_trunc('day', {timestamptz})", "{timestamp}::timestamptz", "{timestamptz} AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'UTC'", "to_timestamp({int4})"},
	"bytea":       {"{bytea} || {bytea}", "{text}::bytea", "substr({bytea}, 1, 1)", "decode(md5({text}), 'hex')", "coalesce({bytea}, 'x')", "convert_to({text}, 'UTF8')"},
	"tsvector":    {"to_tsvector('simple', {text})", "to_tsvector('english', coalesce({text}, 'the cats'))", "{tsvector} || {tsvector}", "strip({tsvector})", "setweight({tsvector}, 'B')", "ts_delete({tsvector}, 'a')"},
	"interval":    {"{interval} + {interval}", "{interval} * 2", "-{interval}", "make_interval(days => {int4} % 1000)", "{timestamp} - {timestamp}"},
}

// expr generates an expression of a type.
func (s scope) expr(r rng, typ string, depth int) string {
	col := s.column(r, typ)
	if depth <= 0 || forms[typ] == nil || r.oneIn(3) {
		if col != "" && !r.oneIn(4) {
			return col
		}
		return constant(r, typ)
	}
	return s.fill(r, r.pick(forms[typ]...), depth)
}

// constant is a constant with its type where the text alone would not tell.
func constant(r rng, typ string) string {
	v := r.smallLiteral(typ)
	if v != "NULL" && (typ == "int4" || typ == "numeric") {
		if n := strings.Trim(v, "'"); n[0] != '-' {
			return n
		}
	}
	return v + "::" + typeSQL(typ)
}

// fill replaces the braces of a form.
func (s scope) fill(r rng, form string, depth int) string {
	var b strings.Builder
	last := ""
	for {
		i := strings.IndexByte(form, '{')
		if i < 0 {
			b.WriteString(form)
			return "(" + b.String() + ")"
		}
		n := strings.IndexByte(form[i:], '}')
		word := form[i+1 : i+n]
		b.WriteString(form[:i])
		switch {
		case word == "=":
			b.WriteString(last)
		case word == "q":
			b.WriteString(s.correlated(r, depth))
		case word == "q1":
			t := s.schema.table(r)
			fmt.Fprintf(&b, "q.id FROM %s q WHERE q.id < %s", t.name, s.expr(r, "int4", 0))
		case forms[word] != nil:
			last = s.expr(r, word, depth-1)
			b.WriteString(last)
		default:
			b.WriteString(form[i : i+n+1])
		}
		form = form[i+n+1:]
	}
}

// correlated is a table and condition of an EXISTS.
func (s scope) correlated(r rng, depth int) string {
	t := s.schema.table(r)
	inner := scope{schema: s.schema, cols: append(qualified(t, "q"), s.cols...)}
	return fmt.Sprintf("%s q WHERE %s", t.name, inner.expr(r, "bool", depth-1))
}

func qualified(t table, alias string) []tableColumn {
	var list []tableColumn
	for _, c := range t.cols {
		list = append(list, tableColumn{alias + "." + c.name, c.typ})
	}
	return list
}
