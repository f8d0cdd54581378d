package sql_test

// longStatements are the statements of TestLooks.
func longStatements() []longStatement {
	list := []longStatement{
		{name: "in list", sql: each("SELECT count(*) FROM big WHERE id IN (", ",", "?", ")")},
		{name: "not in list", sql: each("SELECT count(*) FROM big WHERE k NOT IN (", ",", "?", ")")},
		{name: "any of a literal", sql: each("SELECT count(*) FROM big WHERE id = ANY ('{", ",", "?", "}')")},
		{name: "any of an array", sql: each("SELECT count(*) FROM big WHERE id = ANY (ARRAY[", ",", "?", "])")},
		{name: "values", sql: each("SELECT count(*) FROM (VALUES ", ",", "(?, 'x?')", ") v")},
		{name: "insert values", sql: each("BEGIN; CREATE TABLE t (a int, b text); INSERT INTO t VALUES ", ",", "(?, 'x?')", "; ROLLBACK")},
		{name: "case", sql: each("SELECT count(CASE k ", " ", "WHEN ? THEN ?", " END) FROM big WHERE id < 2")},
		{name: "rows in list", sql: each("SELECT count(*) FROM big WHERE id < 2 AND (id, k) IN (", ",", "(?, ?)", ")"), steps: 50_000},
		{name: "like any", sql: each("SELECT count(*) FROM big WHERE id < 2 AND s LIKE ANY (ARRAY[", ",", "'%a?b%'", "])")},
	}
	for _, s := range [][3]string{
		{"to_tsvector", "repeat('the quick brown foxes were jumping over lazy dogs ', $n / 50)", "to_tsvector('english', x)"},
		{"to_tsvector distinct", "(SELECT string_agg('word' || i, ' ') FROM generate_series(1, $n) i)", "to_tsvector('english', x)"},
		{"to_tsvector simple", "repeat('the quick brown foxes were jumping over lazy dogs ', $n / 50)", "to_tsvector('simple', x)"},
		{"ts_headline", "repeat('the quick brown foxes were jumping over lazy dogs ', $n / 50)", "ts_headline('english', x, to_tsquery('fox & dog'))"},
		{"ts_parse", "repeat('the quick brown foxes were jumping over lazy dogs ', $n / 50)", "(SELECT count(*) FROM ts_parse('default', x))"},
		{"ts_debug", "repeat('the quick brown foxes were jumping over lazy dogs ', $n / 50)", "(SELECT count(*) FROM ts_debug('english', x))"},
		{"normalize", "repeat('ä', $n)", "normalize(x, NFD)"},
		{"translate", "repeat('abc', $n)", "translate(x, 'abc', 'xyz')"},
		{"initcap", "repeat('äb ', $n)", "initcap(x)"},
		{"reverse", "repeat('äb ', $n)", "reverse(x)"},
		{"length", "repeat('äb ', $n)", "length(x)"},
		{"btrim", "repeat('ä', $n)", "btrim(x, 'äöü')"},
		{"replace", "repeat('abc', $n)", "replace(x, 'b', 'xx')"},
		{"strpos", "repeat('ä', 50 * $n)", "strpos(x, 'ä' || 'b')"},
		{"split_part", "repeat('a,', $n)", "split_part(x, ',', $n)"},
		{"md5", "repeat('x', $n)", "md5(x)"},
		{"sha512", "repeat('x', $n)", "sha512(x::bytea)"},
		{"encode hex", "repeat('x', $n)", "encode(x::bytea, 'hex')"},
		{"encode escape", "repeat('x', $n)", "encode(x::bytea, 'escape')"},
		{"encode base64", "repeat('x', $n)", "encode(x::bytea, 'base64')"},
		{"decode hex", "repeat('61', $n)", "length(decode(x, 'hex'))"},
		{"decode base64", "repeat('YWJj', $n)", "length(decode(x, 'base64'))"},
		{"decode escape", "repeat('ab', $n)", "length(decode(x, 'escape'))"},
		{"bit_count", "repeat('a', $n)::bytea", "bit_count(x)"},
		{"range_agg", "1", "(SELECT range_agg(int4range(i * 2, i * 2 + 1)) FROM generate_series(1, $n) i)"},
		{"regexp_replace", "repeat('abc', $n)", "regexp_replace(x, '(a|b)+c', 'x', 'g')"},
		{"regexp_matches", "repeat('abc', $n)", "(SELECT count(*) FROM regexp_matches(x, 'a', 'g'))"},
		{"regexp_split_to_table", "repeat('abc', $n)", "(SELECT count(*) FROM regexp_split_to_table(x, 'b'))"},
		{"regexp_split_to_array", "repeat('abc', $n)", "cardinality(regexp_split_to_array(x, 'b'))"},
		{"regexp_count", "repeat('abc', $n)", "regexp_count(x, 'b')"},
		{"regexp_instr", "repeat('abc', $n)", "regexp_instr(x, 'b', 1, $n)"},
		{"like", "repeat('ab', $n)", "x LIKE '%a%b%a%c%d'"},
		{"ilike", "repeat('äB', $n)", "x ILIKE '%ä%b%a%c%d'"},
		{"upper", "repeat('äb', $n)", "upper(x)"},
		{"string_to_array", "repeat('12,', $n)", "cardinality(string_to_array(x, ','))"},
		{"string_to_table", "repeat('12,', $n)", "(SELECT count(*) FROM string_to_table(x, ','))"},
		{"array_to_string", "array_fill(1, ARRAY[$n])", "array_to_string(x, ',')"},
		{"array_remove", "array_fill(1, ARRAY[$n])", "cardinality(array_remove(x, 2))"},
		{"array_replace", "array_fill(1, ARRAY[$n])", "cardinality(array_replace(x, 1, 2))"},
		{"array_positions", "array_fill(1, ARRAY[$n])", "cardinality(array_positions(x, 1))"},
		{"array_position", "array_fill(1, ARRAY[$n])", "array_position(x, 2)"},
		{"unnest", "array_fill(1, ARRAY[$n])", "(SELECT count(*) FROM unnest(x))"},
		{"jsonpath filter", "('[' || repeat('12,', $n) || '1]')::jsonb", "jsonb_path_query_array(x, '$[*] ? (@ > 13)')"},
		{"jsonpath exists", "('[' || repeat('12,', $n) || '1]')::jsonb", "x @? '$[*] ? (@ == 13)'"},
	} {
		list = append(list, longStatement{name: s[0], sql: times("WITH v AS MATERIALIZED (SELECT " + s[1] + " AS x) SELECT length((" + s[2] + ")::text) FROM v")})
	}
	for _, s := range [][2]string{
		{"hash join", "SELECT count(*) FROM generate_series(1, $n) a JOIN generate_series(1, $n) b ON a = b"},
		{"hash anti join", "SELECT count(*) FROM generate_series(1, $n) a WHERE NOT EXISTS (SELECT FROM generate_series(1, $n) b WHERE a = b)"},
		{"not in subquery", "SELECT count(*) FROM generate_series(1, $n) a WHERE a NOT IN (SELECT b FROM generate_series(1, $n) b)"},
		{"sort", "SELECT * FROM (SELECT i FROM generate_series(1, $n) i ORDER BY -i OFFSET $n) s"},
		{"distinct", "SELECT count(*) FROM (SELECT DISTINCT i FROM generate_series(1, $n) i) s"},
		{"group by", "SELECT count(*) FROM (SELECT i, count(*) FROM generate_series(1, $n) i GROUP BY i) s"},
		{"union", "SELECT count(*) FROM (SELECT i FROM generate_series(1, $n) i UNION SELECT i FROM generate_series(1, $n) i) s"},
		{"except", "SELECT count(*) FROM (SELECT i FROM generate_series(1, $n) i EXCEPT SELECT i FROM generate_series(1, $n) i) s"},
		{"intersect all", "SELECT count(*) FROM (SELECT i FROM generate_series(1, $n) i INTERSECT ALL SELECT i FROM generate_series(1, $n) i) s"},
		{"window one partition", "SELECT sum(r) FROM (SELECT count(*) OVER () r FROM generate_series(1, $n) i) s"},
		{"recursion", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < $n) SELECT count(*) FROM t"},
		{"generate_series", "SELECT count(*) FROM generate_series(1, $n)"},
	} {
		list = append(list, longStatement{name: s[0], sql: times(s[1])})
	}
	return list
}
