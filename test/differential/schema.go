package main

import (
	"fmt"
	"strings"
)

// tableColumn is a column of a generated table.
type tableColumn struct {
	name, typ string
}

// table is a generated table; its first column, id, is its key.
type table struct {
	name string
	cols []tableColumn
}

// columnTypes are the types of columns besides the key.
var columnTypes = []string{"int4", "int4", "int8", "text", "text", "numeric", "bool", "date", "timestamp", "jsonb", "_int4", "interval",
	"float8", "_text", "int4range", "time", "timestamptz", "uuid", "bytea", "tsvector", "varchar", "int2"}

// small are constants that meet often, so that joins and groups find partners.
var small = map[string][]string{
	"int4": {"0", "1", "2", "3", "4", "-1", "100"}, "int8": {"0", "1", "2", "5000000000"}, "text": {"a", "b", "ab", "", "Z", "ü"},
	"numeric": {"0", "1", "1.5", "2.25", "-3.1"}, "bool": {"t", "f"}, "date": {"2024-01-31", "2024-02-29", "2023-12-31"},
	"timestamp": {"2024-01-31 10:00", "2024-02-29 23:59:59.5"}, "jsonb": {"{\"a\": 1}", "[1, 2]", "null", "\"x\"", "{\"a\": {\"b\": [1]}}"},
	"_int4": {"{}", "{1}", "{1,2}", "{3,NULL}"}, "interval": {"1 day", "02:30", "-3 days", "01:00:00.5"},
	"float8": {"0", "1.5", "-2", "0.25", "100"}, "_text": {"{}", "{a}", "{a,b}", "{NULL,\"x y\"}"}, "int4range": {"[1,5)", "empty", "(,3]", "[2,2]", "[4,)"},
	"time": {"10:00", "23:59:59.5", "00:00"}, "timestamptz": {"2024-01-31 10:00+00", "2024-03-31 01:30+02"}, "uuid": {"00000000-0000-0000-0000-000000000001", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	"bytea": {"", "a", "ab"}, "tsvector": {"", "a:1 b:2", "'b':1A 'c':2"}, "varchar": {"a", "b", "abc", ""}, "int2": {"0", "1", "2", "-3"},
}

// smallLiteral is a constant of small, at times NULL.
func (r rng) smallLiteral(typ string) string {
	if r.oneIn(7) {
		return "NULL"
	}
	list := small[typ]
	return quote(list[r.IntN(len(list))])
}

// schema is what a round works on.
type schema struct {
	tables []table
	setup  []string
}

// newSchema draws tables, constraints and rows.
func newSchema(r rng) *schema {
	s := &schema{setup: []string{"DROP SCHEMA IF EXISTS diff CASCADE", "CREATE SCHEMA diff"}}
	for i := range 3 + r.IntN(2) {
		t := table{name: fmt.Sprintf("t%d", i+1), cols: []tableColumn{{"id", "int4"}}}
		defs := []string{"id int PRIMARY KEY"}
		if i > 0 && r.oneIn(2) {
			t.cols = append(t.cols, tableColumn{"ref", "int4"})
			action := r.pick("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE SET DEFAULT ON UPDATE SET NULL")
			defs = append(defs, fmt.Sprintf("ref int REFERENCES t%d%s", 1+r.IntN(i), action))
		}
		for n := range 3 + r.IntN(4) {
			c := tableColumn{fmt.Sprintf("c%d", n), columnTypes[r.IntN(len(columnTypes))]}
			t.cols = append(t.cols, c)
			defs = append(defs, c.name+" "+typeSQL(c.typ)+columnConstraint(r, c))
		}
		if r.oneIn(3) { // one that is computed is not written to: it is no column of t
			form := r.pick("int GENERATED ALWAYS AS (id * 2) STORED", "text GENERATED ALWAYS AS ('k' || id) STORED", "boolean GENERATED ALWAYS AS (id % 2 = 0) STORED")
			defs = append(defs, "gen "+form+r.pick("", "", " UNIQUE"))
		}
		s.tables = append(s.tables, t)
		s.setup = append(s.setup, fmt.Sprintf("CREATE TABLE %s (%s)", t.name, strings.Join(defs, ", ")))
		if r.oneIn(2) {
			c := t.cols[1+r.IntN(len(t.cols)-1)]
			if !noOrder[c.typ] {
				s.setup = append(s.setup, fmt.Sprintf("CREATE INDEX ON %s (%s%s%s)%s", t.name, c.name, r.pick("", " DESC", " NULLS FIRST"), r.pick("", ", id", ", id DESC"), r.pick("", "", " WHERE id > 3")))
			}
		}
		for id := range 4 + r.IntN(12) {
			s.setup = append(s.setup, t.insert(r, id))
		}
	}
	s.setup = append(s.setup, "ANALYZE")
	return s
}

// noOrder are types whose values have an order of ours, or none worth an index.
var noOrder = map[string]bool{"jsonb": true, "tsvector": true}

func columnConstraint(r rng, c tableColumn) string {
	switch {
	case r.oneIn(12) && !noOrder[c.typ]:
		return " UNIQUE"
	case r.oneIn(12) && (c.typ == "int4" || c.typ == "numeric"):
		return fmt.Sprintf(" CHECK (%s < 50)", c.name)
	case r.oneIn(10):
		return " DEFAULT " + quote(small[c.typ][0])
	case r.oneIn(15) && !noOrder[c.typ]:
		return " NOT NULL"
	}
	return ""
}

// insert is an INSERT of a row, which constraints may refuse.
func (t table) insert(r rng, id int) string {
	vals := []string{fmt.Sprint(id)}
	names := []string{"id"}
	for _, c := range t.cols[1:] {
		vals, names = append(vals, r.smallLiteral(c.typ)), append(names, c.name)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, strings.Join(names, ", "), strings.Join(vals, ", "))
}

// table draws a table.
func (s *schema) table(r rng) table { return s.tables[r.IntN(len(s.tables))] }
