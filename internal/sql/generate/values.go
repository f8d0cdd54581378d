package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Constants are texts of values of each type, among them the edges and some that
// the type does not take.
var Constants = map[string][]string{
	"bool":        {"t", "f", "true", "no"},
	"int2":        {"0", "1", "-1", "7", "32767", "-32768"},
	"int4":        {"0", "1", "-1", "2", "3", "10", "100", "2147483647", "-2147483648"},
	"int8":        {"0", "1", "-1", "5", "64", "9223372036854775807", "-9223372036854775808"},
	"float4":      {"0", "1.5", "-2.25", "1e10", "3.4e38", "NaN", "Infinity", "-Infinity", "1e-40"},
	"float8":      {"0", "-0", "1.5", "-2.25", "0.1", "1e100", "1e308", "NaN", "Infinity", "-Infinity", "1e-310", "123456789.123"},
	"numeric":     {"0", "1", "-1", "1.50", "-0.001", "123456789012345678901234567890.123456789", "NaN", "Infinity", "-Infinity", "1e-20", "99999", "2.5", "3.5"},
	"text":        {"", "a", "abc", "ABC", "a b c", "Tom's", "ü日本", "%a_", "1", "-12.5", " x ", "2020-01-02", "{1,2}", "\\", "aaa", "[1,2]", "true"},
	"varchar":     {"", "a", "abc", "hello world", "ß"},
	"bpchar":      {"", "a", "abc  ", "x y "},
	"name":        {"", "a", "pg_class", "Ünix"},
	"char":        {"a", "", "z"},
	"bytea":       {"", "\\x00", "\\xdeadbeef", "abc", "\\x414243"},
	"date":        {"2020-01-01", "2024-02-29", "0001-01-01", "4714-11-24 BC", "5874897-12-31", "infinity", "-infinity", "1999-12-31"},
	"time":        {"00:00", "12:34:56.789", "23:59:59.999999", "24:00"},
	"timetz":      {"00:00+00", "12:34:56.789-05", "23:59:59+14", "10:00 UTC"},
	"timestamp":   {"2020-01-01 00:00", "2024-02-29 12:34:56.789012", "infinity", "-infinity", "0044-03-15 BC", "294276-12-31 23:59:59", "1970-01-01"},
	"timestamptz": {"2020-01-01 00:00+00", "2024-02-29 12:34:56.789012-08", "infinity", "-infinity", "1970-01-01 01:00+02"},
	"interval":    {"0", "1 day", "-1 mon 2 days 03:04:05.678", "1 year", "100 hours", "-00:00:01", "178000000 years", "1.5 days"},
	"uuid":        {"00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	"json":        {"null", "1", "\"s\"", "[]", "{}", "[1, \"a\", null, {\"b\": 2}]", "{\"a\": 1, \"b\": {\"c\": [1,2]}, \"a\": 2}", "1.50"},
	"jsonb":       {"null", "1", "\"s\"", "[]", "{}", "[1, \"a\", null, {\"b\": 2}]", "{\"a\": 1, \"b\": {\"c\": [1,2]}}", "1.50", "true", "[[1],[2]]"},
	"jsonpath":    {"$", "$.a", "$[*]", "$.b.c[0]", "$ ? (@ > 0)", "strict $.x", "$.*", "$.a + 1"},
	"inet":        {"127.0.0.1", "10.0.0.0/8", "::1", "192.168.1.5/24", "fe80::1/64", "255.255.255.255"},
	"cidr":        {"10.0.0.0/8", "::/0", "192.168.1.0/24"},
	"bit":         {"0", "1"},
	"varbit":      {"", "0", "101", "11110000"},
	"oid":         {"0", "1", "23", "4294967295"},
	"tsvector":    {"", "a", "'cat':3 'fat':2,11A", "a:1 b:2 c:3B"},
	"tsquery":     {"", "a", "a & b", "fat & (rat | !cat)", "a <-> b", "x:*"},
	"int4range":   {"empty", "[1,5)", "(,3]", "[7,)", "(,)"},
	"int8range":   {"empty", "[1,5)", "(,3]"},
	"numrange":    {"empty", "[1.5,2.5]", "(,3]", "[0,)"},
	"daterange":   {"empty", "[2020-01-01,2020-02-01)", "(,2024-01-01]"},
	"tsrange":     {"empty", "[2020-01-01,2020-02-01)", "(,2024-01-01 12:00]"},
	"tstzrange":   {"empty", "[2020-01-01 00:00+00,2020-02-01 00:00+00)"},

	"int4multirange": {"{}", "{[1,5)}", "{[1,3),[7,9)}", "{(,)}"},
	"nummultirange":  {"{}", "{[1.5,2.5]}", "{(,0),[1,2]}"},
	"datemultirange": {"{}", "{[2020-01-01,2020-02-01)}"},

	"point":   {"(0,0)", "(1,2)", "(-3.5,4)", "(1e300,-1e300)", "(Infinity,1)", "(NaN,0)", "(1e-7,0)", "5.1,6.2"},
	"lseg":    {"[(0,0),(1,1)]", "[(0,0),(0,5)]", "[(1,2),(1,2)]", "((-1,3),(4,-2))", "[(0,0),(Infinity,NaN)]"},
	"line":    {"{1,-1,0}", "{0,1,-2}", "{1,0,3}", "[(0,0),(1,2)]", "{2.5,-3,1e300}"},
	"box":     {"(1,1),(0,0)", "((-2,3),(4,-5))", "(1,1),(1,1)", "(Infinity,0),(0,NaN)", "((0.5,0.5),(0.25,1e-6))"},
	"path":    {"[(0,0),(1,1),(2,0)]", "((0,0),(1,1),(2,0))", "[(1,2)]", "((1,2))", "[(0,0),(0,NaN)]", "(0,0),(3,4)"},
	"polygon": {"((0,0),(1,1),(2,0))", "((0,0),(4,0),(4,4),(0,4))", "((1,2))", "((0,0),(0,0))", "((1e300,0),(0,1e300),(-1,-1))"},
	"circle":  {"<(0,0),1>", "<(1,2),3.5>", "<(-1,0),0>", "((3,4),5)", "<(0,0),Infinity>", "<(NaN,1),2>", "1,2,3"},

	"_int4":    {"{}", "{1}", "{1,2,3}", "{NULL,1}", "{{1,2},{3,4}}", "[0:1]={5,6}"},
	"_int8":    {"{}", "{1,2}", "{9223372036854775807}"},
	"_text":    {"{}", "{a}", "{a,b,NULL}", "{\"\",\"x y\"}", "{{a},{b}}"},
	"_numeric": {"{}", "{1.5,2.50}", "{NaN}"},
	"_float8":  {"{}", "{1.5,2.5}", "{0.1,0.9}"},
	"_bool":    {"{}", "{t,f}"},
	"_date":    {"{}", "{2020-01-01}"},
	"_jsonb":   {"{}", "{1,\"{}\"}"},
	"_point":   {"{}", "{\"(1,2)\",NULL}", "{\"(0,0)\",\"(1,2)\"}"},
	"_box":     {"{}", "{(1,1),(0,0);(2,2),(1,1)}"},
}

// Rand draws what the generators need.
type Rand struct{ *rand.Rand }

// NewRand returns the source of a seed.
func NewRand(seed uint64) Rand { return Rand{rand.New(rand.NewPCG(seed, 7))} }

// Pick draws one of a list.
func (r Rand) Pick(list ...string) string { return list[r.IntN(len(list))] }

// OneIn is true once in n times.
func (r Rand) OneIn(n int) bool { return r.IntN(n) == 0 }

// Literal is a constant of a type as SQL, at times NULL.
func (r Rand) Literal(typ string) string {
	list := Constants[typ]
	if len(list) == 0 || r.OneIn(12) {
		return "NULL::" + typ
	}
	return quote(r.Pick(list...)) + "::" + TypeSQL(typ)
}

// small are constants that meet often, so that joins and groups find partners.
var small = map[string][]string{
	"int4": {"0", "1", "2", "3", "4", "-1", "100"}, "int8": {"0", "1", "2", "5000000000"}, "text": {"a", "b", "ab", "", "Z", "ü"},
	"numeric": {"0", "1", "1.5", "2.25", "-3.1", "99999999999999999999.5"}, "bool": {"t", "f"}, "date": {"2024-01-31", "2024-02-29", "2023-12-31"},
	"timestamp": {"2024-01-31 10:00", "2024-02-29 23:59:59.5"}, "jsonb": {"{\"a\": 1}", "[1, 2]", "null", "\"x\"", "{\"a\": {\"b\": [1]}}"},
	"_int4": {"{}", "{1}", "{1,2}", "{3,NULL}"}, "interval": {"1 day", "02:30", "-3 days", "01:00:00.5"},
	"float8": {"0", "1.5", "-2", "0.25", "100"}, "_text": {"{}", "{a}", "{a,b}", "{NULL,\"x y\"}"}, "int4range": {"[1,5)", "empty", "(,3]", "[2,2]", "[4,)"},
	"time": {"10:00", "23:59:59.5", "00:00"}, "timestamptz": {"2024-01-31 10:00+00", "2024-03-31 01:30+02"}, "uuid": {"00000000-0000-0000-0000-000000000001", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	"bytea": {"", "a", "ab"}, "tsvector": {"", "a:1 b:2", "'b':1A 'c':2"}, "varchar": {"a", "b", "abc", ""}, "int2": {"0", "1", "2", "-3"}, "bpchar": {"a", "b ", ""},
	"varchar(4)": {"a", "ab", "abcd", ""}, "char(3)": {"a", "ab ", "abc"}, "numeric(6,2)": {"1.50", "-2.25", "0", "1000.01"}, "timestamp(0)": {"2024-01-31 10:00"},
	"pair": {"(1,a)", "(,)", "(2,\"x y\")", "(1,)"}, "_pair": {"{}", "{\"(1,a)\"}", "{\"(2,b)\",NULL}", "{\"(,)\",\"(3,ab)\"}"},
	"posint": {"1", "2", "7"}, "int4multirange": {"{}", "{[1,3)}", "{[1,3),[5,)}", "{(,0),[2,4]}"}, "mood": {"sad", "ok", "happy"},
	"point": {"(0,0)", "(1,2)", "(-3,4)", "(0.5,1)"}, "lseg": {"[(0,0),(1,1)]", "[(0,1),(1,0)]", "[(2,2),(2,5)]"}, "line": {"{1,-1,0}", "{0,1,-2}", "{1,0,0.5}"}, "box": {"(1,1),(0,0)", "(3,2),(0.5,-1)", "(2,2),(2,2)"},
	"path": {"[(0,0),(1,1),(2,0)]", "((0,0),(1,0),(1,1))", "[(1,2)]"}, "polygon": {"((0,0),(1,1),(2,0))", "((0,0),(4,0),(4,4),(0,4))", "((1,1))"}, "circle": {"<(0,0),1>", "<(1,2),3>", "<(0,1),0>"},
}

// SmallLiteral is a constant of small, at times NULL.
func (r Rand) SmallLiteral(typ string) string {
	if r.OneIn(7) {
		return "NULL"
	}
	return quote(r.Pick(small[typ]...))
}

// constant is a constant with its type where the text alone would not tell.
func (r Rand) constant(typ string) string {
	v := r.SmallLiteral(typ)
	if v != "NULL" && (typ == "int4" || typ == "numeric") {
		if n := strings.Trim(v, "'"); n[0] != '-' {
			return n
		}
	}
	return v + "::" + TypeSQL(typ)
}

// TypeSQL is how a type's catalog name is written in SQL.
func TypeSQL(typ string) string {
	if elem, ok := strings.CutPrefix(typ, "_"); ok {
		return TypeSQL(elem) + "[]"
	}
	if typ == "char" {
		return `"char"`
	}
	return typ
}

func quote(s string) string {
	if strings.Contains(s, `\`) {
		return fmt.Sprintf("E'%s'", strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s))
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
