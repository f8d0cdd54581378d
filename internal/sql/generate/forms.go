package generate

// Types are the types that expressions are generated of: types of the system, some with
// modifiers, and those that every schema defines.
var Types = []string{"int4", "int8", "text", "numeric", "bool", "date", "timestamp", "jsonb", "_int4", "interval",
	"float8", "_text", "int4range", "time", "timestamptz", "uuid", "bytea", "tsvector",
	"varchar", "varchar(4)", "char(3)", "numeric(6,2)", "timestamp(0)", "posint", "mood", "pair", "_pair"}

// forms are ways to make an expression of a type; a type's name in braces stands
// for an operand of that type, {=} for the last one again. Forms whose results are equal and yet look different (1 month
// and 30 days) are left out: which of them a database shows is left to it.
var forms = map[string][]string{
	"int4": {"{int4} + {int4}", "{int4} - 1", "{int4} * 2", "{int4} % 3", "{int4} / nullif({int4}, 0)", "-{int4}", "abs({int4})",
		"length({text})", "greatest({int4}, {int4})",
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
		"{date} = {timestamp}", "{numeric} = {int4}", "{text} SIMILAR TO '(a|b)%'", "{numeric} IN (1, 1.5)", "starts_with({text}, 'a')",
		"({int4}, {int4}) IN ((1, 2), (2, {int4}), (0, 0))", "({int4}, {text}) >= (1, 'a')", "({int4}, {int4}, {text}) NOT IN ((1, 2, 'a'), (3, 4, NULL))", "(2, {int4}) > ({int4}, 1)",
		"{int4range} @> {int4}", "{int4range} && {int4range}", "isempty({int4range})", "{int4range} << {int4range}", "{tsvector} @@ 'a & !c'::tsquery", "to_tsvector('english', {text}) @@ plainto_tsquery('english', 'ab')",
		"{time} < {time}", "{uuid} = {uuid}", "{bytea} <= {bytea}", "{float8} > {float8}", "{timestamptz} < {timestamptz}", "{text} = ANY ({_text})", "{jsonb} @? '$.a'", "{jsonb} @@ '$.a == 1'", "{_text} <@ ARRAY['a', 'b']"},
	"date": {"{date} + {int4} % 1000", "{date} - 1", "coalesce({date}, '2020-01-01')", "{timestamp}::date", "greatest({date}, {date})", "make_date(2024, 2, 1 + abs({int4}) % 28)"},
	"timestamp": {"{date} + {interval}", "{timestamp} + {interval}", "date_trunc('month', {timestamp})", "{timestamp} - interval '1 hour'", "{date}::timestamp", "date_trunc('week', {timestamp})",
		"coalesce({timestamp}, {date})", "date_bin('15 minutes', {timestamp}, '2020-01-01')"},
	"jsonb": {"{jsonb} -> 'a'", "to_jsonb({int4})", "jsonb_build_object('k', {int4}, 't', {text})", "to_jsonb({text})", "jsonb_build_array({int4}, {text}, {bool})", "{jsonb} -> 0", "coalesce({jsonb}, '{}')",
		"{jsonb} #> '{a,b}'", "to_jsonb({_int4})", "jsonb_set('{\"a\": 1}', '{a}', coalesce({jsonb}, '0'))", "to_jsonb({date})", "jsonb_path_query_first({jsonb}, '$.a')", "jsonb_strip_nulls({jsonb})"},
	"_int4":     {"ARRAY[{int4}, {int4}]", "{_int4} || {int4}", "array_remove({_int4}, 1)", "({_int4})[1:1]", "array_append({_int4}, {int4})", "{_int4} || {_int4}", "array_replace({_int4}, 1, {int4})"},
	"float8":    {"{float8} + 1", "{float8} * 2", "-{float8}", "{int4}::float8", "abs({float8})", "coalesce({float8}, 0)", "greatest({float8}, {float8})", "round({float8})", "floor({float8})", "{numeric}::float8"},
	"_text":     {"ARRAY[{text}, {text}]", "{_text} || {text}", "string_to_array({text}, 'a')", "{_text} || {_text}", "({_text})[1:2]", "array_remove({_text}, 'a')", "regexp_split_to_array({text}, 'a')"},
	"int4range": {"{int4range} * {int4range}", "int4range({int4}, {int4})", "int4range({int4}, {int4}, '[]')", "coalesce({int4range}, 'empty')", "range_merge({int4range}, {int4range})", "int4range(least({int4}, 3), 3)"},
	"time":      {"{time} + {interval}", "{timestamp}::time", "coalesce({time}, '12:00')", "{interval}::time"}, "uuid": {"coalesce({uuid}, '00000000-0000-0000-0000-000000000002')", "md5({text})::uuid", "nullif({uuid}, {uuid})"},
	"timestamptz": {"{timestamptz} + {interval}", "date_trunc('day', {timestamptz})", "{timestamp}::timestamptz", "{timestamptz} AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'UTC'", "to_timestamp({int4})"},
	"bytea":       {"{bytea} || {bytea}", "{text}::bytea", "substr({bytea}, 1, 1)", "decode(md5({text}), 'hex')", "coalesce({bytea}, 'x')", "convert_to({text}, 'UTF8')"},
	"tsvector":    {"to_tsvector('simple', {text})", "to_tsvector('english', coalesce({text}, 'the cats'))", "{tsvector} || {tsvector}", "strip({tsvector})", "setweight({tsvector}, 'B')", "ts_delete({tsvector}, 'a')"},
	"interval":    {"{interval} + {interval}", "{interval} * 2", "-{interval}", "make_interval(days => {int4} % 1000)", "{timestamp} - {timestamp}"},

	"varchar": {"coalesce({varchar(4)}, 'a longer text')", "CASE WHEN {bool} THEN {varchar(4)} ELSE 'a longer text' END", "greatest({varchar(4)}, 'zzzzzz')",
		"nullif({varchar(4)}, 'abcde')", "{varchar(4)}::varchar", "least('aaaaaaaa', {varchar(4)})", "CASE {varchar(4)} WHEN 'abcdef' THEN {varchar(4)} ELSE {varchar} END",
		"(ARRAY[{varchar(4)}, 'abcdefgh'])[2]", "coalesce({varchar}, {varchar(4)}, 'abcdefg')", "substr({text}, 1, 3)::varchar(2)::varchar"},
	"varchar(4)":   {"{text}::varchar(4)", "left({text}, 4)::varchar(4)", "coalesce({varchar(4)}, {varchar(4)})", "nullif({varchar(4)}, {varchar(4)})"},
	"char(3)":      {"{text}::char(3)", "coalesce({char(3)}, {char(3)})", "coalesce({char(3)}, 'longer')::char(3)", "CASE WHEN {bool} THEN {char(3)} END"},
	"numeric(6,2)": {"({int4} % 1000)::numeric(6,2)", "coalesce({numeric(6,2)}, {numeric(6,2)})", "greatest({numeric(6,2)}, {numeric(6,2)})"},
	"timestamp(0)": {"{timestamp}::timestamp(0)", "coalesce({timestamp(0)}, {timestamp(0)})"},
	"posint":       {"(abs({int4} % 10) + 1)::posint", "coalesce({posint}, 1::posint)", "CASE WHEN {bool} THEN {posint} END"},
	"mood":         {"coalesce({mood}, 'ok')", "greatest({mood}, {mood})", "CASE WHEN {bool} THEN {mood} ELSE 'sad' END", "nullif({mood}, 'happy')"},
	"pair": {"ROW({int4}, {text})::pair", "coalesce({pair}, {pair})", "({_pair})[1]", "CASE WHEN {bool} THEN {pair} END", "nullif({pair}, ROW(1, 'a')::pair)",
		"jsonb_populate_record({pair}, jsonb_build_object('a', {int4}))", "('(' || ({int4} % 9) || ',x)')::pair"},
	"_pair": {"ARRAY[{pair}, {pair}]", "{_pair} || {pair}", "array_append({_pair}, {pair})", "{_pair} || {_pair}", "({_pair})[1:1]", "coalesce({_pair}, '{}')", "array_remove({_pair}, {pair})"},
}

// moreForms are further forms of types that have some already.
var moreForms = map[string][]string{
	"int4": {"({pair}).a", "({_pair})[1].a", "{posint} + 1", "({posint})::int4", "cardinality({_pair})", "length({varchar(4)})", "num_nulls({int4}, {text}, {pair})", "(SELECT ({pair}).a)",
		"octet_length({char(3)})", "array_position(enum_range(NULL::mood), {mood})", "coalesce({int4}, {posint})", "greatest({posint}, {int4})", "nullif({posint}, {int4})"},
	"int8": {"coalesce({int8}, {int4})", "CASE WHEN {bool} THEN {int4} ELSE {int8} END", "abs({int8})", "bit_length({varchar(4)})::int8"},
	"text": {"{varchar(4)} || {text}", "{varchar(4)}::text", "{char(3)} || '|'", "{mood}::text", "({pair}).b", "{pair}::text", "{_pair}::text", "row_to_json({pair})::text", "to_jsonb({_pair})::text", "upper({varchar(4)})",
		"coalesce({varchar(4)}, {text})", "coalesce({text}, {char(3)})", "CASE WHEN {bool} THEN {char(3)} ELSE {text} END", "greatest({varchar(4)}, {text})", "to_json({timestamp})::text",
		"pg_typeof(coalesce({varchar(4)}, 'a'))::text", "pg_typeof({posint})::text", "{posint}::text", "{timestamp(0)}::text", "format('%s|%I|%L', {varchar(4)}, 'A', {pair})"},
	"numeric": {"{numeric(6,2)} + 1", "{numeric(6,2)} * {numeric(6,2)}", "coalesce({numeric(6,2)}, 12345678.12345)", "CASE WHEN {bool} THEN {numeric(6,2)} ELSE {numeric} END", "greatest({numeric(6,2)}, 0.00001)",
		"{numeric(6,2)}::numeric", "coalesce({int4}, 1.5)"},
	"bool": {"{pair} = {pair}", "{pair} IS NULL", "{pair} IS NOT NULL", "{pair} < {pair}", "{_pair} = {_pair}", "{pair} = ANY ({_pair})", "{mood} < 'ok'", "{mood} = {mood}", "{varchar(4)} IN ('abcdefg', 'a', {text})",
		"{varchar(4)} = 'abcd'", "{char(3)} = 'ab'", "{char(3)} = {text}", "{varchar(4)} IN ('abcde', 'a')", "{numeric(6,2)} = 1.501", "{numeric(6,2)} IN (1.5, 0.001)", "{posint} > {int4}", "{posint} IN (1, -5)",
		"ROW({int4}, {text}) IS DISTINCT FROM {pair}", "ROW({int4}, {text}) = {pair}", "({int4}, {varchar(4)}) IN ((1, 'abcdefg'), (2, 'a'))", "{timestamp(0)} = {timestamp}", "{varchar(4)} LIKE 'a%'", "{bool} = {bool}",
		"{bool} IS NOT TRUE", "{bool} IS UNKNOWN", "({bool}) IN (true, NULL)", "{varchar(4)} BETWEEN 'a' AND 'bbbbbbbb'"},
	"timestamp": {"{timestamp(0)}::timestamp", "coalesce({timestamp(0)}, '2024-01-31 10:00:00.777')"},
	"_text":     {"ARRAY[{varchar(4)}, {text}]", "ARRAY[{varchar(4)}, 'abcdefgh']::text[]", "enum_range(NULL::mood)::text[]"},
	"jsonb":     {"to_jsonb({pair})", "to_jsonb({_pair})", "to_jsonb({varchar(4)})", "jsonb_build_object('p', {pair}, 'd', {posint})", "to_jsonb({numeric(6,2)})"},
}
