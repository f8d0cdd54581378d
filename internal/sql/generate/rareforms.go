package generate

import "slices"

// extractFields are the parts of times that EXTRACT knows.
var extractFields = []string{"century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "microseconds", "millennium", "milliseconds", "minute", "month", "quarter", "second", "timezone",
	"timezone_hour", "timezone_minute", "week", "year"}

// extracted are forms of EXTRACT: most fields are of most types, the others are errors.
func extracted() []string {
	var list []string
	for _, f := range extractFields {
		for _, typ := range []string{"timestamp", "timestamptz", "date", "time", "interval"} {
			list = append(list, "extract("+f+" FROM {"+typ+"})")
		}
	}
	return list
}

// formsOf are all forms of a type.
func (g *Generator) formsOf(typ string) []string {
	list := slices.Concat(forms[typ], moreForms[typ], widerForms[typ], rareForms[typ], geoForms[typ])
	if typ == "numeric" && g.OneIn(4) {
		return extracted()
	}
	return list
}

// rareForms are forms of the grammar's productions that few programs use: other ways to write
// constants, collations, VARIADIC, modifiers, values that are no number, and what the operators of
// ranges, documents and texts make of edges.
var rareForms = map[string][]string{
	"int4": {"({int4} # 5)", "(~ {int4})", "({int4} >> 1)", "width_bucket({numeric}, 0, 10, 5)", "array_position({_text}, {text})", "array_length({_int4}, 1)", "ascii({text})", "(B'1010' & B'0110')::int4", "X'1F'::int4",
		"position({text} IN 'abca')", "(({_int4})[1:2])[1]", "num_nonnulls(VARIADIC {_int4})", "num_nulls(VARIADIC {_text})", "length(B'101')", "get_byte('abc'::bytea, abs({int4}) % 3)", "min_scale({numeric})", "array_lower({_int4}, 1)",
		"length({tsvector})", "numnode(to_tsquery('simple', 'a & !b'))", "(CASE WHEN lower_inc({int4range}) THEN 1 END)", "char_length({char(3)})", "regexp_instr({text}, 'a', 1, 1, 1, 'i')", "(@ {int4})"},
	"int8": {"({int8} # 3)", "bit_count({bytea})", "(|/ 16.0)::int8", "({numeric} % 1000)::int8", "width_bucket({int4}, ARRAY[1, 3, 5])::int8", "num_nonnulls({pair}, {int4range})::int8"},
	"text": {`{text} COLLATE "C"`, `(upper({text}) COLLATE "POSIX")`, `U&'d\0061t\+000061'`, `E'a\tb\x41\u00e9\101'`, "$$it's$$", "$x$a$$b$x$", "U&'!0041' UESCAPE '!'", "'a'\n'b'", "B'101'::text", "X'1F'::text", "N'ab'",
		"concat_ws('-', VARIADIC {_text})", "format('%2$s|%1$-5s|%3$5s', {text}, {int4}, {bool})", "format('%s', VARIADIC {_text})", "concat(VARIADIC {_int4})", "to_char({numeric}, 'S9,999.99')", "to_char({numeric}, '9990.09PR')", "to_char({int4}, '0000MI')",
		"to_char({timestamp}, 'IYYY-IW-ID Q J WW DDD')", "to_char({timestamp}, 'FMMonth, fmDay DDth SSSS AM Y,YYY cc')", "to_char({interval}, 'YYYY MM DD HH24:MI:SS.US')", "pg_typeof(CURRENT_TIMESTAMP(3))::text", "pg_typeof(LOCALTIME(0))::text", "CURRENT_SCHEMA::text",
		"regexp_replace({text}, '([a-z])', '<\\1>', 1, 2, 'i')", "websearch_to_tsquery('english', {text})::text", "phraseto_tsquery('simple', {text})::text", "tsvector_to_array({tsvector})::text", "ts_rank({tsvector}, 'a'::tsquery)::text", "quote_nullable({text})",
		"encode({bytea}, 'escape')", "encode({bytea}, 'base64')", "({interval}::interval HOUR TO MINUTE)::text", "(interval '1-2' YEAR TO MONTH)::text", "jsonb_path_query_array({jsonb}, 'strict $.a', silent => true)::text", "substring({text} FROM 2 FOR 1)",
		"substring({text}, '(a)|b')", "string_to_array({text}, 'a', 'b')::text", "parse_ident('Sch.\"T\".' || 'c')::text", "ROW({int4}, {text}, {numeric})::text", "trim(leading from {text})", "trim(trailing 'ab' from {text})", "{text} || NULL", "array_to_string({_text}, NULL)",
		"ts_headline({text}, 'a'::tsquery, 'StartSel=<, StopSel=>')", "chr(65 + abs({int4} % 20))", "{numeric}::numeric(5,1)::text", "{float8}::numeric::text", "{interval}::interval(0)::text", "{date}::timestamptz::text", "{timestamptz}::time::text", "to_ascii({varchar(4)}, 'LATIN1')",
		"{int4range}::int4multirange::text", "({_int4})[:]::text", "{pair}::text::pair::text", "{timestamptz}::timetz::text", "json_build_object('a', {int4}, 'b', {_text})::text", "to_json({interval})::text", "row_to_json(ROW({int4}, {date}))::text", "string_to_array({text}, '')::text"},
	"numeric": {"'NaN'::numeric", "{numeric} + 'Infinity'", "coalesce({numeric}, '-Infinity')", "power(2.0, {int4} % 5)", "{numeric}::numeric(5)", "{numeric}::numeric(4,-1)", "{int4}::numeric(2,2)", "sign({numeric})", "(- {numeric})", "1e-3 * {int4}", ".5 + {int4}", "5. * {int4}", "{numeric} / 'NaN'",
		"greatest({numeric}, 'NaN')", "ceil({numeric} / 7)", "trunc({numeric}, -1)", "{numeric} % nullif({numeric}, 0)", "abs({numeric(6,2)}) ^ 0.5", "gcd({int4} % 100::numeric, 12)", "lcm({int4} % 100, 4.5)", "to_number('1,' || abs({int4} % 999), '9,999')"},
	"float8": {"'NaN'::float8", "{float8} / 3", "{float8} - 'Infinity'", "trunc({float8})", "sign({float8})", "power({float8}, 2)", "{int4}::float4::float8", "{numeric}::real::float8", "least({float8}, 'NaN')", "(- {float8})", "'1e-310'::float8", "(@ {float8})", "-0.0::float8 * {int4}"},
	"bool": {"({int4}, {text}, {bool}) IS DISTINCT FROM ({int4}, {text}, NULL)", "{int4} = ANY (ARRAY[{int4}, {int4}])", "{text} <> ALL ('{a,b}')", "{int4} >= SOME ({_int4})", "{numeric} = 'NaN'", "{numeric} < 'Infinity'::numeric", "{int4range} &< {int4range}", "{int4range} &> {int4range}",
		"{int4range} >> {int4range}", "{int4multirange} -|- {int4range}", "{int4multirange} << {int4multirange}", "{int4multirange} @> {int4multirange}", "{int4range} <@ {int4multirange}", "lower_inf({int4range})", "upper_inc({int4range})", "{jsonb} @? '$.a[*] ? (@ > 1)'", "jsonb_path_match({jsonb}, 'exists($.a)')",
		"{tsvector} @@ to_tsquery('simple', 'a:* | !b')", "{tsvector} @@ 'a <-> b'", "{text} @@ 'a & b'", "{text} NOT ILIKE 'A%'", "{text} NOT SIMILAR TO 'a%'", "{text} ~~* 'A_'", "{text} OPERATOR(pg_catalog.=) {text}", "{int4} NOT BETWEEN SYMMETRIC 3 AND {int4}", "{int4} ISNULL", "{text} NOTNULL",
		"{int4} IS NOT DISTINCT FROM {int4}", `{text} COLLATE "C" < {text}`, "{date} BETWEEN {date} AND {timestamp}", "{bool} = ANY ('{t,NULL}')", "({pair}).a IS NOT NULL", "({jsonb})['a'] = '1'", "now() = CURRENT_TIMESTAMP", "CURRENT_DATE = now()::date", "LOCALTIMESTAMP = now()::timestamp",
		"({int4}, {text}) IS NULL", "ROW({int4}, {pair}) IS NOT NULL", "ROW({int4}) < ROW({int4})", "({int4}, {int4}) = ANY (VALUES (1, 2), (2, {int4}))", "{int4} <> ALL (VALUES (1), ({int4}))", "{bool} IS NOT FALSE", "{_text} = ANY (ARRAY[{_text}, {_text}])", "{text} !~* '^A'", "{text} ^@ 'a'",
		"{text} LIKE 'a!%' ESCAPE '!'", "{text} NOT LIKE '' ESCAPE ''", "{text} SIMILAR TO '[a-c]+|Z' ESCAPE '#'", "{uuid} < {uuid}", "{interval} = {interval}", "{timestamp} BETWEEN SYMMETRIC {timestamp} AND {date}", "{jsonb} < {jsonb}", "{int4} IN ({int4}, NULL, 2.5)", "{text} IN (SELECT unnest({_text}))",
		"{mood} = ANY ('{sad,ok}')", "{mood} BETWEEN 'sad' AND {mood}", "{posint} IS NULL", "{int4multirange} = {int4multirange}", "{numeric} = ANY ('{1.50,NaN}')", "{float8} = 'NaN'", "boolne({bool}, {bool})", "{bool} < {bool}", "bool(({int4} % 2))", "array_to_tsvector(ARRAY['a', {text}]) @@ 'a'"},
	"date":        {"date_trunc('month', {date})::date", "to_date('2024-' || 1 + abs({int4} % 12), 'YYYY-MM')", "date 'epoch'", "(date '2024-01-31' + interval '1 month')::date", "to_date({int4}::text, 'YYYYDDD')", "coalesce({date}, 'infinity')"},
	"timestamp":   {"{timestamp}::timestamp(0)::timestamp", "{date} + {time}", "timestamp '2024-02-30'", "timezone('Asia/Kolkata', {timestamptz})", "coalesce({timestamp}, '-infinity')", "localtimestamp - localtimestamp + {timestamp}", "date_trunc('isoyear', {timestamp})", "to_timestamp('2024-' || {int4}, 'YYYY-DDD')::timestamp"},
	"timestamptz": {"{timestamptz} - {interval}", "{timestamp} AT TIME ZONE INTERVAL '-03:00'", "timezone('Asia/Kolkata', {timestamp})", "date_bin('1 day', {timestamptz}, '2000-01-01 00:00+00')", "{timestamptz}::timestamptz(0)", "coalesce({timestamptz}, 'infinity')", "{date}::timestamptz", "({timestamptz} AT TIME ZONE 'PST8PDT') AT TIME ZONE '+05:30'"},
	"interval": {"{interval}::interval(0)", "{interval}::interval DAY TO HOUR", "{interval} * 1.5", "interval '1:30' HOUR TO MINUTE", "interval '3' MONTH", "interval(1) '1.26 s'", "make_interval(0, 1, 2, 3, 4, 5, 6.5)", "justify_days({interval})", "{timestamp} - {date}", "{interval} - {interval}", "interval 'P1Y2M3DT4H5M6.7S'",
		"interval '1 year 2 mons ago'", "{interval} / 0.3", "age({timestamptz}, {timestamptz})", "age({date}, {timestamp})", "interval '4:05.6' MINUTE TO SECOND(1)", "{interval}::interval YEAR", "{interval}::time - {time}", "{time}::interval"},
	"jsonb": {"jsonb_set({jsonb}, '{a,-1}', '9', false)", "jsonb_set_lax({jsonb}, '{a}', NULL, true, 'delete_key')", "jsonb_path_query_first({jsonb}, '$.a[last]')", "jsonb_path_query_array({jsonb}, '$.** ? (@.type() == \"number\")')", "jsonb_path_query_array({jsonb}, 'lax $.keyvalue()', '{}', true)",
		"jsonb_path_query_array({jsonb}, '$ ? (@ like_regex \"^X\" flag \"i\")')", "jsonb_path_query_array({jsonb}, '$.a.size()')", "jsonb_path_query_array({jsonb}, '$.a.double() + 1', silent => true)", "({jsonb})['a']['b'][0]", "{jsonb} - 0", "{jsonb} - ARRAY['a', 'b']", "jsonb_object('{a,b}', ARRAY[{text}, 'x'])",
		"to_jsonb({timestamptz})", "to_jsonb({interval})", "to_jsonb({float8})", "jsonb_build_object(VARIADIC ARRAY['a', {text}])", "row_to_json(ROW({int4}))::jsonb", "array_to_json({_int4})::jsonb", "jsonb_path_query_array('[1, 2, 3]', '$[*] ? (@ > $x)', jsonb_build_object('x', {int4}))", "jsonb_path_query_array('[3, 1]', '$[*] * 2 - 1')",
		"{jsonb} #> ARRAY['a', {text}]", "{jsonb} -> {int4}", "{jsonb} -> {text}", "jsonb_build_array(VARIADIC {_text})", "jsonb_insert({jsonb}, '{0}', '\"n\"', true)", "to_jsonb({numeric})", "jsonb_path_query_array_tz('[\"2024-01-31\"]', '$[*].datetime() ? (@ < \"2024-02-01\".datetime())')"},
	"_int4":          {"({_int4})[-1:1]", "ARRAY[[{int4}, 1], [2, {int4}]]", "ARRAY[{_int4}, {_int4}]", "'[0:1]={1,2}'::int4[] || {_int4}", "array_remove({_int4}, NULL)", "({_int4})[:]", "ARRAY[]::int4[] || {int4}", "{_int4} || NULL", "array_replace({_int4}, NULL, 0)", "array_positions({_text}, {text})", "({_int4})[{int4} % 2:]", "array_cat(NULL, {_int4})"},
	"_text":          {"tsvector_to_array({tsvector})", "ARRAY[[{text}], [{text}]]", "array_fill({text}, ARRAY[1, 2])", "{_text} || NULL::text", "array_prepend({text}, {_text})", "parse_ident('a.' || 'b')", "ARRAY[{text}, {varchar(4)}, {char(3)}]", "regexp_match({text}, '(?i)A|(b)')", "ARRAY(SELECT jsonb_object_keys(jsonb_build_object('z', 1, 'a', {int4})))"},
	"int4range":      {"int4range(1, NULL, '(]')", "{int4range} * '[2,6)'", "'(,)'::int4range", "{int4range} - {int4range}", "int4range(NULL, {int4}, '[]')", "range_merge({int4range}, '[9,9]')", "int4range({int4}, {int4}, '()')"},
	"int4multirange": {"multirange({int4range})", "{int4multirange} * '{[1,2),(4,]}'", "{int4multirange} - int4multirange({int4range})", "int4multirange(VARIADIC ARRAY[{int4range}, {int4range}])", "{int4multirange} + '{[8,9)}'"},
	"bytea":          {`'\x4142'::bytea`, `'a\134b'::bytea`, `E'\\101\\x'::bytea`, "set_bit('abc'::bytea, {int4} & 7, 1)", "substring({bytea} FROM 1 FOR 1)", "trim('a'::bytea FROM {bytea})", "decode(encode({bytea}, 'base64'), 'base64')", "{bytea} || '\\x00'", "overlay({bytea} PLACING '\\xff' FROM 2 FOR 1)"},
	"tsvector":       {"array_to_tsvector({_text})", "ts_filter({tsvector}, '{a}')", "setweight({tsvector}, 'C', ARRAY['a'])", "jsonb_to_tsvector('simple', {jsonb}, '[\"all\"]')", "to_tsvector('english', {jsonb})", "ts_delete({tsvector}, {_text})"},
	"time":           {"{time}::time(0)", "time '10:00' + {interval}", "{timestamp}::time(2)", "{time} + interval '25 hours'", "time with time zone '10:00+02'::time"},
	"uuid":           {"'{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}'::uuid", "greatest({uuid}, {uuid})"},
	"pair":           {"ROW(({pair}).*)::pair", "jsonb_populate_record(NULL::pair, {jsonb})", "json_populate_record({pair}, '{\"b\": 1}')", "({_pair})[2]", "(SELECT p FROM (SELECT {int4}, {text}) AS p(a, b))::text::pair", "jsonb_populate_record({pair}, {jsonb})"},
	"_pair":          {"array_prepend({pair}, {_pair})", "ARRAY[ROW({int4}, {text})::pair, NULL]", "({_pair})[2:]", "array_replace({_pair}, {pair}, NULL)", "{_pair}::text::pair[]"},
	"varchar(4)":     {`{varchar(4)} COLLATE "C"`, "{int4}::varchar(4)", "{text}::character varying(4)", "substr({text}, 1, 2)::varchar(4)"},
	"mood":           {"(enum_range(NULL::mood))[1]", "enum_first({mood})", "'sad'::text::mood", "enum_last(NULL::mood)", "({text} || '')::mood", "least({mood}, 'ok')"},
	"posint":         {"{int4}::posint", "greatest({posint}, 1)::posint", "nullif({posint}, 2)::posint"},
	"varchar":        {`{varchar} COLLATE "C"`, "{bool}::varchar", "{varchar(4)} || {char(3)}", "left({char(3)}::varchar, 2)"},
	"char(3)":        {"{varchar(4)}::char(3)", "{int4}::char(3)", "{bool}::char(3)"},
}
