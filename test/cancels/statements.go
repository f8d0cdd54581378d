package main

import (
	"fmt"
	"strings"
)

// statement is one that runs for seconds.
type statement struct {
	name   string
	before []string // on the same connection
	sql    string
	// kind is what statements have in common of which one tells enough; "": nothing.
	kind string
}

var setup = []string{
	`DROP TABLE IF EXISTS cancels_big, cancels_other`,
	`CREATE TABLE cancels_big (id int PRIMARY KEY, k int, s text)`,
	`INSERT INTO cancels_big SELECT i, i % 1000, md5(i::text) FROM generate_series(1, 200000) i`,
	`CREATE TABLE cancels_other (id int PRIMARY KEY, v int)`,
	`INSERT INTO cancels_other SELECT i, i FROM generate_series(1, 200000) i`,
}

// many repeats a piece of text with its number.
func many(n int, sep, form string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(sep)
		}
		fmt.Fprintf(&b, strings.ReplaceAll(form, "?", "%[1]d"), i)
	}
	return b.String()
}

func statements() []statement {
	list := []statement{
		{name: "or of 30000", sql: "SELECT count(*) FROM cancels_big WHERE " + many(4900, " OR ", "k = ?")},
		{name: "or of 30000 in groups", sql: "SELECT count(*) FROM cancels_big WHERE (" + strings.Repeat(many(1000, " OR ", "k = ?")+") OR (", 30) + "k = 1)"},
		{name: "case of 50000", sql: "SELECT sum(CASE k " + many(50000, " ", "WHEN ? THEN ?") + " END) FROM cancels_big"},
		{name: "in of a million", sql: "SELECT count(*) FROM cancels_big WHERE id IN (" + many(1000000, ",", "?") + ")"},
		{name: "not in of a million", sql: "SELECT count(*) FROM cancels_big WHERE k NOT IN (" + many(1000000, ",", "?") + ")"},
		{name: "= any of a million", sql: "SELECT count(*) FROM cancels_big WHERE id = ANY ('{" + many(1000000, ",", "?") + "}')"},
		{name: "= any of array[]", sql: "SELECT count(*) FROM cancels_big WHERE id = ANY (ARRAY[" + many(1000000, ",", "?") + "])"},
		{name: "values of a million", sql: "SELECT count(*) FROM (VALUES " + many(1000000, ",", "(?, 'x?')") + ") v"},
		{name: "insert of a million values", before: []string{"CREATE TEMP TABLE t (a int, b text)"}, sql: "INSERT INTO t VALUES " + many(1000000, ",", "(?, 'x?')")},
		{name: "a long target list of unions", sql: many(3000, " UNION ALL ", "SELECT ?")},
		{name: "many statements", sql: many(300000, ";", "SELECT ?")},
		{name: "a literal of 100 MB", sql: "SELECT length('" + strings.Repeat("x", 100<<20) + "')"},
		{name: "a comment of 100 MB", sql: "SELECT 1 /*" + strings.Repeat("x", 100<<20) + "*/"},
		{name: "nested parentheses", sql: "SELECT " + many(4900, "+", "(?)")},
		{name: "joins of 12", sql: "SELECT count(*) FROM " + many(12, " NATURAL JOIN ", "cancels_big b?")},
		{name: "cross joins", sql: "SELECT count(*) FROM " + many(10, ", ", "cancels_big b?") + " WHERE b0.id = -1 AND b1.k = b2.k"},
	}
	list = append(list, scalars()...)
	return append(list, relations()...)
}

// over applies an expression to a big value x, which is computed first.
func over(name, value, expr string) statement {
	return statement{name: name, sql: "WITH v AS MATERIALIZED (SELECT " + value + " AS x) SELECT length((" + expr + ")::text) FROM v"}
}

func scalars() []statement {
	const words = "repeat('the quick brown foxes were jumping over lazy dogs ', 400000)"
	const numbers = "repeat('12,', 5000000)"
	var list []statement
	for _, s := range [][3]string{
		{"to_tsvector", words, "to_tsvector('english', x)"},
		{"to_tsvector distinct", "(SELECT string_agg('word' || i, ' ') FROM generate_series(1, 1000000) i)", "to_tsvector('english', x)"},
		{"to_tsvector simple", words, "to_tsvector('simple', x)"},
		{"ts_headline", words, "ts_headline('english', x, to_tsquery('fox & dog'))"},
		{"ts_parse", words, "(SELECT count(*) FROM ts_parse('default', x))"},
		{"ts_debug", words, "(SELECT count(*) FROM ts_debug('english', x))"},
		{"plainto_tsquery", words, "plainto_tsquery('english', x)"},
		{"websearch_to_tsquery", words, "websearch_to_tsquery('english', x)"},
		{"md5", "repeat('x', 100000000)", "md5(x)"},
		{"sha512", "repeat('x', 100000000)", "sha512(x::bytea)"},
		{"encode hex", "repeat('x', 50000000)", "encode(x::bytea, 'hex')"},
		{"encode escape", "repeat('x', 50000000)", "encode(x::bytea, 'escape')"},
		{"encode base64", "repeat('x', 50000000)", "encode(x::bytea, 'base64')"},
		{"decode hex", "repeat('61', 50000000)", "length(decode(x, 'hex'))"},
		{"decode base64", "repeat('YWJj', 25000000)", "length(decode(x, 'base64'))"},
		{"normalize", "repeat('ä', 20000000)", "normalize(x, NFD)"},
		{"is normalized", "repeat(U&'a\\0308', 20000000)", "x IS NFC NORMALIZED"},
		{"translate", "repeat('abc', 20000000)", "translate(x, 'abc', 'xyz')"},
		{"translate long", "repeat('z', 20000000)", "translate(x, (SELECT string_agg(chr(i + 10000), '') FROM generate_series(1, 10000) i), 'y')"},
		{"replace", "repeat('abc', 20000000)", "replace(x, 'b', 'xx')"},
		{"regexp_replace", "repeat('abc', 5000000)", "regexp_replace(x, '(a|b)+c', 'x', 'g')"},
		{"regexp_match", "repeat('abc', 20000000)", "regexp_match(x, '(a.c)*$')"},
		{"regexp_matches", "repeat('abc', 5000000)", "(SELECT count(*) FROM regexp_matches(x, 'a', 'g'))"},
		{"regexp_split_to_table", "repeat('abc', 5000000)", "(SELECT count(*) FROM regexp_split_to_table(x, 'b'))"},
		{"regexp_split_to_array", "repeat('abc', 5000000)", "cardinality(regexp_split_to_array(x, 'b'))"},
		{"regexp_count", "repeat('abc', 5000000)", "regexp_count(x, 'b')"},
		{"regexp_instr", "repeat('abc', 5000000)", "regexp_instr(x, 'b', 1, 4000000)"},
		{"regexp back reference", "repeat('a', 28)", "x ~ '^((a*)*)\\2b$'"},
		{"similar to", "repeat('abc', 20000000)", "x SIMILAR TO '%(a|b)c%x'"},
		{"similar to nested", "repeat('a', 5000000)", "x SIMILAR TO '((a|aa)*)*b'"},
		{"substring similar", "repeat('abc', 5000000)", "substring(x SIMILAR 'a#\"%#\"b_' ESCAPE '#')"},
		{"like", "repeat('ab', 10000000)", "x LIKE '%a%b%a%c%d'"},
		{"ilike", "repeat('äB', 10000000)", "x ILIKE '%ä%b%a%c%d'"},
		{"like quadratic", "repeat('a', 100000)", "x LIKE '%' || repeat('a', 50000) || 'b'"},
		{"position", "repeat('a', 50000000)", "position(repeat('a', 100000) || 'b' in x)"},
		{"strpos", "repeat('ä', 50000000)", "strpos(x, 'b')"},
		{"split_part", "repeat('a,', 30000000)", "split_part(x, ',', 29999999)"},
		{"upper", "repeat('äb', 20000000)", "upper(x)"},
		{"initcap", "repeat('äb ', 20000000)", "initcap(x)"},
		{"reverse", "repeat('äb ', 20000000)", "reverse(x)"},
		{"lpad", "repeat('äb ', 1000)", "lpad(x, 200000000, 'äö')"},
		{"left", "repeat('äb ', 30000000)", "left(x, 80000000)"},
		{"substr", "repeat('äb ', 30000000)", "substr(x, 80000000, 1000)"},
		{"overlay", "repeat('äb ', 30000000)", "overlay(x placing 'x' from 20000000)"},
		{"length", "repeat('äb ', 50000000)", "length(x)"},
		{"btrim", "repeat('ä', 50000000)", "btrim(x, 'äöü')"},
		{"ascii concat", "repeat('äb ', 30000000)", "x || x"},
		{"concat", "repeat('äb ', 30000000)", "concat(x, x, x)"},
		{"concat_ws", "repeat('äb ', 30000000)", "concat_ws(',', x, x, x)"},
		{"quote_literal", "repeat('''\\', 30000000)", "quote_literal(x)"},
		{"quote_ident", "repeat('\"a', 30000000)", "quote_ident(x)"},
		{"format", "repeat('x', 10000000)", "format(repeat('%1$s', 20), x)"},
		{"format many", "repeat('%1$L', 5000000)", "format(x, 'a')"},
		{"to_hex levenshtein", "repeat('a', 1)", "lpad(to_hex(1), 100000000, '0')"},
		{"convert_to", "repeat('ä', 20000000)", "length(convert_to(x, 'LATIN1'))"},
		{"convert_from", "repeat('ä', 50000000)", "length(convert_from(x::bytea, 'LATIN1'))"},
		{"set_bit", "repeat('a', 50000000)::bytea", "length(set_bit(x, 5, 1))"},
		{"bit_count", "repeat('a', 100000000)::bytea", "bit_count(x)"},
		{"bit", "repeat('1', 50000000)::varbit", "x & ~x"},
		{"bit shift", "repeat('1', 50000000)::varbit", "x << 3"},
		{"bytea text", "repeat('a', 50000000)::bytea", "x::text"},
		{"bytea in", "'\\x' || repeat('61', 50000000)", "length(x::bytea)"},
		{"string_to_array", numbers, "cardinality(string_to_array(x, ','))"},
		{"string_to_table", numbers, "(SELECT count(*) FROM string_to_table(x, ','))"},
		{"array_to_string", "array_fill(1, ARRAY[5000000])", "array_to_string(x, ',')"},
		{"array in", "'{' || repeat('12,', 5000000) || '1}'", "cardinality(x::int[])"},
		{"array out", "array_fill(1, ARRAY[5000000])", "x::text"},
		{"array cast", "array_fill(1, ARRAY[5000000])", "cardinality(x::text[])"},
		{"array_remove", "array_fill(1, ARRAY[5000000])", "cardinality(array_remove(x, 2))"},
		{"array_replace", "array_fill(1, ARRAY[5000000])", "cardinality(array_replace(x, 1, 2))"},
		{"array_positions", "array_fill(1, ARRAY[5000000])", "cardinality(array_positions(x, 1))"},
		{"array_position", "array_fill(1, ARRAY[5000000])", "array_position(x, 2)"},
		{"array_cat", "array_fill(1, ARRAY[5000000])", "cardinality(x || x)"},
		{"array_append", "array_fill(1, ARRAY[5000000])", "cardinality(x || 2)"},
		{"array overlap", "(SELECT array_agg(i) FROM generate_series(1, 200000) i)", "x && (SELECT array_agg(-i) FROM generate_series(1, 200000) i)"},
		{"array contains", "(SELECT array_agg(i) FROM generate_series(1, 200000) i)", "x @> (SELECT array_agg(200000-i) FROM generate_series(0, 200000) i)"},
		{"array equality", "array_fill(1, ARRAY[5000000])", "x = array_fill(1, ARRAY[5000000])"},
		{"array slice", "array_fill(1, ARRAY[5000000])", "cardinality(x[2:4000000])"},
		{"= any of a value", "array_fill(1, ARRAY[5000000])", "2 = ANY (x)"},
		{"unnest", "array_fill(1, ARRAY[5000000])", "(SELECT count(*) FROM unnest(x))"},
		{"generate_subscripts", "array_fill(1, ARRAY[5000000])", "(SELECT count(*) FROM generate_subscripts(x, 1))"},
		{"array_to_json", "array_fill(1, ARRAY[5000000])", "array_to_json(x)"},
		{"to_jsonb", "array_fill(1, ARRAY[5000000])", "to_jsonb(x)"},
		{"json in", "'[' || repeat('12,', 5000000) || '1]'", "x::json"},
		{"jsonb in", "'[' || repeat('12,', 5000000) || '1]'", "x::jsonb"},
		{"json_array_length", "('[' || repeat('12,', 5000000) || '1]')::json", "json_array_length(x)"},
		{"jsonb_array_elements", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "(SELECT count(*) FROM jsonb_array_elements(x))"},
		{"json_array_elements", "('[' || repeat('12,', 5000000) || '1]')::json", "(SELECT count(*) FROM json_array_elements(x))"},
		{"jsonb_pretty", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "jsonb_pretty(x)"},
		{"jsonb_strip_nulls", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "jsonb_strip_nulls(x)"},
		{"jsonb_set", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "jsonb_set(x, '{100}', '1')"},
		{"jsonb concat", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "x || x"},
		{"jsonb minus", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "x - 5"},
		{"jsonb contains", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "x @> '[13]'"},
		{"jsonb equality", "('[' || repeat('12,', 5000000) || '1]')::jsonb", "x = (x || '1')"},
		{"jsonb_object", "(SELECT jsonb_object_agg(i, i) FROM generate_series(1, 1000000) i)", "x - '5'"},
		{"jsonb_object_agg", "1", "(SELECT jsonb_object_agg(i, i) FROM generate_series(1, 3000000) i)"},
		{"jsonb_each", "(SELECT jsonb_object_agg(i, i) FROM generate_series(1, 1000000) i)", "(SELECT count(*) FROM jsonb_each(x))"},
		{"jsonpath filter", "('[' || repeat('12,', 2000000) || '1]')::jsonb", "jsonb_path_query_array(x, '$[*] ? (@ > 13)')"},
		{"jsonpath regex", "('[' || repeat('\"ab\",', 2000000) || '1]')::jsonb", "jsonb_path_query_array(x, '$[*] ? (@ like_regex \"a.*c\")')"},
		{"jsonpath exists", "('[' || repeat('12,', 2000000) || '1]')::jsonb", "x @? '$[*] ? (@ == 13)'"},
		{"jsonpath nested", "('[' || repeat('12,', 3000) || '1]')::jsonb", "jsonb_path_exists(x, '$[*] ? (@ == $[*] && @ == 14)')"},
		{"json_populate_recordset", "('[' || repeat('{\"id\":12},', 500000) || '{}]')::json", "(SELECT count(*) FROM json_populate_recordset(NULL::cancels_big, x))"},
		{"jsonb_to_recordset", "('[' || repeat('{\"a\":12},', 500000) || '{}]')::jsonb", "(SELECT count(*) FROM jsonb_to_recordset(x) AS r(a int))"},
		{"numeric in", "repeat('1', 131072)", "(SELECT count(x::numeric) FROM generate_series(1, 1000))"},
		{"numeric mul", "repeat('7', 65000)::numeric", "x * x"},
		{"numeric mul many", "repeat('7', 65000)::numeric", "(SELECT count(x * x + i) FROM generate_series(1, 1000) i)"},
		{"numeric div", "repeat('7', 131000)::numeric", "div(x, repeat('3', 60000)::numeric)"},
		{"numeric mod", "repeat('7', 131000)::numeric", "x % repeat('3', 60000)::numeric"},
		{"numeric div scale", "repeat('7', 131000)::numeric", "x / ('0.' || repeat('3', 16000))::numeric"},
		{"numeric gcd", "repeat('7', 100000)::numeric", "gcd(x, repeat('3', 99999)::numeric + 1)"},
		{"numeric lcm", "repeat('7', 60000)::numeric", "lcm(x, repeat('3', 59999)::numeric + 1)"},
		{"numeric sqrt", "repeat('7', 131000)::numeric", "sqrt(x)"},
		{"numeric sqrt scale", "('7.' || repeat('7', 16000))::numeric", "sqrt(x)"},
		{"numeric exp", "('5000.' || repeat('7', 16000))::numeric", "exp(x)"},
		{"numeric ln", "('5000.' || repeat('7', 16000))::numeric", "ln(x)"},
		{"numeric log", "('5000.' || repeat('7', 16000))::numeric", "log(x, x + 1)"},
		{"numeric power", "('5000.' || repeat('7', 16000))::numeric", "power(x, 1.5)"},
		{"numeric power int", "1.0000001::numeric", "power(x, 1000000000)"},
		{"numeric power big", "('1.' || repeat('7', 16000))::numeric", "power(x, 100000)"},
		{"factorial", "32177", "factorial(x)"},
		{"numeric to_char", "repeat('7', 100000)::numeric", "to_char(x, repeat('9', 100000))"},
		{"numeric sum", "repeat('7', 100000)::numeric", "(SELECT sum(x) FROM generate_series(1, 100000))"},
		{"numeric stddev", "repeat('7', 30000)::numeric", "(SELECT stddev(x + i) FROM generate_series(1, 10000) i)"},
		{"trim_scale", "('7.' || repeat('0', 16000))::numeric", "(SELECT count(trim_scale(x + i)) FROM generate_series(1, 100000) i)"},
		{"tsvector in", words, "x::tsvector"},
		{"tsvector strip", "to_tsvector('simple', (SELECT string_agg(i::text, ' ') FROM generate_series(1, 100000) i))", "strip(x)"},
		{"tsvector match", "to_tsvector('simple', (SELECT string_agg(i::text, ' ') FROM generate_series(1, 100000) i))", "(SELECT count(x @@ to_tsquery('1 <-> 2')) FROM generate_series(1, 1000000))"},
		{"int4multirange", "1", "(SELECT range_agg(int4range(i * 2, i * 2 + 1)) FROM generate_series(1, 1000000) i)"},
		{"width_bucket", "(SELECT array_agg(i) FROM generate_series(1, 1000000) i)", "(SELECT count(width_bucket(i, x)) FROM generate_series(1, 1000000) i)"},
		{"string_agg", "1", "(SELECT string_agg(i::text, ',') FROM generate_series(1, 10000000) i)"},
		{"string_agg ordered", "1", "(SELECT string_agg(i::text, ',' ORDER BY -i) FROM generate_series(1, 3000000) i)"},
		{"array_agg", "1", "(SELECT array_agg(i) FROM generate_series(1, 10000000) i)"},
		{"json_agg", "1", "(SELECT json_agg(i) FROM generate_series(1, 10000000) i)"},
		{"percentile_cont", "1", "(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM generate_series(1, 3000000) i)"},
		{"mode", "1", "(SELECT mode() WITHIN GROUP (ORDER BY i) FROM generate_series(1, 3000000) i)"},
		{"count distinct", "1", "(SELECT count(DISTINCT i) FROM generate_series(1, 5000000) i)"},
		{"date_bin", "1", "(SELECT count(*) FROM generate_series('2000-01-01'::timestamptz, '2100-01-01', '1 second') i)"},
		{"similar escape", "repeat('a%_', 10000000)", "similar_to_escape(x)"},
		{"parse_ident", "'a' || repeat('.a', 3000000)", "cardinality(parse_ident(x))"},
		{"xid list", "1", "(SELECT count(*) FROM pg_catalog.pg_attribute a, pg_catalog.pg_attribute b, pg_catalog.pg_attribute c)"},
		{"text compare", "repeat('ä', 50000000)", "(SELECT count(x < x || 'b') FROM generate_series(1, 20))"},
		{"collate", "repeat('ä', 5000000)", "x < (x || 'b') COLLATE \"en-x-icu\""},
		{"hashtext", "repeat('ä', 50000000)", "hashtext(x)"},
		{"convert case many", "repeat('ä', 1000)", "(SELECT count(upper(x)) FROM generate_series(1, 1000000))"},
		{"starts_with", "repeat('ä', 50000000)", "starts_with(x, x)"},
		{"unistr", "repeat('\\0441', 5000000)", "unistr(x)"},
		{"cidr", "1", "(SELECT count(inet_merge('10.0.0.0/8', '10.0.0.1')) FROM generate_series(1, 10000000))"},
		{"row compare", "1", "(SELECT count(*) FROM generate_series(1, 10000000) i WHERE (i, i) < (0, 0))"},
	} {
		list = append(list, over(s[0], s[1], s[2]))
	}
	return list
}

func relations() []statement {
	lock := func(name, sql string) statement { return statement{name: name, sql: sql} }
	return []statement{
		{name: "hash join", sql: "SELECT count(*) FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b ON a = b"},
		{name: "hash join of one key", sql: "SELECT count(*) FROM cancels_big a JOIN cancels_big b ON a.k % 2 = b.k % 2 AND a.s > b.s || 'x'"},
		{name: "hash join full", sql: "SELECT count(*) FROM generate_series(1, 3000000) a FULL JOIN generate_series(2, 3000000) b ON a = b"},
		{name: "hash anti join", sql: "SELECT count(*) FROM generate_series(1, 3000000) a WHERE NOT EXISTS (SELECT FROM generate_series(1, 3000000) b WHERE a = b)"},
		{name: "not in subquery", sql: "SELECT count(*) FROM generate_series(1, 3000000) a WHERE a NOT IN (SELECT b FROM generate_series(1, 3000000) b)"},
		{name: "merge join", sql: "SELECT count(*) FROM cancels_big a JOIN cancels_other b USING (id)"},
		{name: "nested loops", sql: "SELECT count(*) FROM cancels_big a, cancels_other b WHERE a.id + b.id < 0"},
		{name: "cross join series", sql: "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b < 0"},
		{name: "lateral", sql: "SELECT count(*) FROM generate_series(1, 1000000) a, LATERAL (SELECT FROM cancels_big WHERE id = a AND k = -1) b"},
		{name: "correlated", sql: "SELECT sum((SELECT count(*) FROM cancels_other o WHERE o.v < a.id)) FROM cancels_big a"},
		{name: "sort", sql: "SELECT * FROM (SELECT i FROM generate_series(1, 5000000) i ORDER BY -i OFFSET 4999999) s"},
		{name: "sort of texts", sql: "SELECT * FROM (SELECT md5(i::text) m FROM generate_series(1, 3000000) i ORDER BY m OFFSET 2999999) s"},
		{name: "sort of equal texts", sql: "SELECT * FROM (SELECT repeat('x', 1000) || i % 10 m FROM generate_series(1, 200000) i ORDER BY m OFFSET 2999999) s"},
		{name: "sort of collated texts", sql: "SELECT * FROM (SELECT md5(i::text) COLLATE \"en-x-icu\" m FROM generate_series(1, 1000000) i ORDER BY m OFFSET 2999999) s"},
		{name: "top n", sql: "SELECT i FROM generate_series(1, 50000000) i ORDER BY i DESC LIMIT 10"},
		{name: "distinct", sql: "SELECT count(*) FROM (SELECT DISTINCT i FROM generate_series(1, 5000000) i) s"},
		{name: "distinct on", sql: "SELECT count(*) FROM (SELECT DISTINCT ON (i % 10) i FROM generate_series(1, 5000000) i ORDER BY i % 10, i) s"},
		{name: "group by", sql: "SELECT count(*) FROM (SELECT i, count(*) FROM generate_series(1, 5000000) i GROUP BY i) s"},
		{name: "grouping sets", sql: "SELECT count(*) FROM (SELECT i, i % 100, count(*) FROM generate_series(1, 2000000) i GROUP BY CUBE(i, i % 100)) s"},
		{name: "union", sql: "SELECT count(*) FROM (SELECT i FROM generate_series(1, 3000000) i UNION SELECT i FROM generate_series(1, 3000000) i) s"},
		{name: "except", sql: "SELECT count(*) FROM (SELECT i FROM generate_series(1, 3000000) i EXCEPT SELECT i FROM generate_series(1, 3000000) i) s"},
		{name: "intersect all", sql: "SELECT count(*) FROM (SELECT i FROM generate_series(1, 3000000) i INTERSECT ALL SELECT i FROM generate_series(1, 3000000) i) s"},
		{name: "window", sql: "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY -i) r FROM generate_series(1, 3000000) i) s"},
		{name: "window frame", sql: "SELECT sum(r) FROM (SELECT max(i) OVER (ORDER BY i ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW) r FROM generate_series(1, 300000) i) s"},
		{name: "window array_agg", sql: "SELECT max(array_length(r, 1)) FROM (SELECT array_agg(i) OVER (ORDER BY i ROWS BETWEEN 10000 PRECEDING AND CURRENT ROW) r FROM generate_series(1, 100000) i) s"},
		{name: "window range", sql: "SELECT sum(r) FROM (SELECT min(i) OVER (ORDER BY i RANGE BETWEEN 5000 PRECEDING AND 5000 FOLLOWING EXCLUDE CURRENT ROW) r FROM generate_series(1, 100000) i) s"},
		{name: "window one partition", sql: "SELECT sum(r) FROM (SELECT count(*) OVER () r FROM generate_series(1, 5000000) i) s"},
		{name: "window ntile", sql: "SELECT sum(r) FROM (SELECT percent_rank() OVER (ORDER BY i % 10) r FROM generate_series(1, 3000000) i) s"},
		{name: "recursion", sql: "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"},
		{name: "recursion union", sql: "WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (n + 1) % 10000000 FROM t) SELECT count(*) FROM t"},
		{name: "recursion of texts", sql: "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || 'x' FROM t) SELECT count(*) FROM t"},
		{name: "insert select", before: []string{"CREATE TEMP TABLE t (a int PRIMARY KEY)"}, sql: "INSERT INTO t SELECT i FROM generate_series(1, 10000000) i"},
		{name: "create table as", sql: "CREATE TEMP TABLE t AS SELECT i FROM generate_series(1, 10000000) i"},
		{name: "update", sql: "BEGIN; UPDATE cancels_big SET s = s || 'x', k = k + 1; ROLLBACK"},
		{name: "delete", sql: "BEGIN; DELETE FROM cancels_big; ROLLBACK"},
		{name: "commit", before: []string{"CREATE TEMP TABLE t (a int PRIMARY KEY)", "BEGIN", "INSERT INTO t SELECT i FROM generate_series(1, 300000) i"}, sql: "COMMIT"},
		{name: "commit of updates", before: []string{"BEGIN", "UPDATE cancels_other SET v = v + 1"}, sql: "COMMIT"},
		{name: "rollback", before: []string{"BEGIN", "UPDATE cancels_big SET k = k + 1"}, sql: "ROLLBACK"},
		{name: "savepoint rollback", before: []string{"BEGIN", "SAVEPOINT a", "UPDATE cancels_big SET k = k + 1"}, sql: "ROLLBACK TO a"},
		{name: "discard", before: []string{"CREATE TEMP TABLE t AS SELECT i FROM generate_series(1, 300000) i", "CREATE TEMP TABLE t2 AS SELECT i FROM generate_series(1, 300000) i"}, sql: "DISCARD ALL"},
		{name: "merge", sql: "BEGIN; MERGE INTO cancels_other o USING cancels_big b ON o.id = b.id WHEN MATCHED THEN UPDATE SET v = b.k WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.k); ROLLBACK"},
		{name: "on conflict", sql: "BEGIN; INSERT INTO cancels_other SELECT i, i FROM generate_series(1, 1000000) i ON CONFLICT (id) DO UPDATE SET v = 0; ROLLBACK"},
		{name: "analyze", sql: "ANALYZE cancels_big"},
		{name: "create index", sql: "BEGIN; CREATE INDEX ON cancels_big (s); ROLLBACK"},
		{name: "create gin index", sql: "BEGIN; CREATE INDEX ON cancels_big USING gin (to_tsvector('english', s)); ROLLBACK"},
		{name: "add column", sql: "BEGIN; ALTER TABLE cancels_big ADD c text DEFAULT md5(random()::text); ROLLBACK"},
		{name: "alter type", sql: "BEGIN; ALTER TABLE cancels_big ALTER k TYPE text; ROLLBACK"},
		{name: "add check", sql: "BEGIN; ALTER TABLE cancels_big ADD CHECK (length(md5(s)) > 0); ROLLBACK"},
		{name: "add foreign key", sql: "BEGIN; ALTER TABLE cancels_big ADD FOREIGN KEY (id) REFERENCES cancels_other; ROLLBACK"},
		{name: "add unique", sql: "BEGIN; ALTER TABLE cancels_big ADD UNIQUE (s); ROLLBACK"},
		{name: "pg_sleep", sql: "SELECT pg_sleep(30)"},
		{name: "generate_series", sql: "SELECT count(*) FROM generate_series(1, 1000000000)"},
		{name: "generate_series target", sql: "SELECT count(*) FROM (SELECT generate_series(1, 1000000000)) s"},
		{name: "generate_series null", sql: "SELECT count(*) FROM generate_series(1, 1000000000) i WHERE i < 0"},
		{name: "fetch all", before: []string{"BEGIN", "DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 50000000)"}, sql: "FETCH ALL c"},
		{name: "move all", before: []string{"BEGIN", "DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 50000000)"}, sql: "MOVE ALL c"},
		{name: "move back", before: []string{"BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT * FROM generate_series(1, 1000000)", "MOVE ALL c"}, sql: "MOVE BACKWARD ALL c"},
		{name: "move absolute", before: []string{"BEGIN", "DECLARE c SCROLL CURSOR FOR SELECT * FROM generate_series(1, 1000000)", "MOVE ALL c"}, sql: "MOVE ABSOLUTE -500000 c"},
		{name: "declare with hold", before: []string{"BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM generate_series(1, 50000000)"}, sql: "COMMIT"},
		{name: "copy to stdout", sql: "COPY (SELECT * FROM generate_series(1, 50000000)) TO STDOUT"},
		{name: "tablesample", sql: "SELECT count(*) FROM cancels_big a TABLESAMPLE BERNOULLI (50), cancels_big b TABLESAMPLE SYSTEM (50) WHERE a.id + b.id < 0"},
		{name: "values join", sql: "SELECT count(*) FROM (VALUES " + many(3000, ",", "(?)") + ") a(i), (VALUES " + many(3000, ",", "(?)") + ") b(i), (VALUES " + many(3000, ",", "(?)") + ") c(i) WHERE a.i + b.i + c.i < 0"},
		{name: "explain analyze", sql: "EXPLAIN ANALYZE SELECT count(*) FROM cancels_big a, cancels_other b WHERE a.id + b.id < 0"},
		{name: "information_schema", sql: "SELECT count(*) FROM information_schema.columns a, information_schema.columns b"},
		lock("random", "SELECT count(*) FROM generate_series(1, 100000000) WHERE random() < 0"),
		{name: "in list of rows", sql: "SELECT count(*) FROM cancels_big WHERE (id, k) IN (" + many(200000, ",", "(?, ?)") + ")"},
		{name: "exclude in any", sql: "SELECT count(*) FROM cancels_big WHERE s LIKE ANY (ARRAY[" + many(5000, ",", "'%a?b%'") + "])"},
		{name: "filter with regexp", sql: "SELECT count(*) FROM cancels_big WHERE s ~ '(a|b|c)*(1|2|3)+x'"},
		{name: "row lock", before: []string{"SELECT 1"}, sql: "SELECT count(*) FROM (SELECT * FROM cancels_big FOR UPDATE) s"},
	}
}
