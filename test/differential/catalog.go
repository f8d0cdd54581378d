package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// callable is a function, aggregate or operator that both databases have.
type callable struct {
	kind string // f, a, w of pg_proc; o for an operator
	name string
	args []string // names of types, "" for the missing side of a prefix operator
}

// shared is what the generators know of the two catalogs.
type shared struct {
	types     []string
	functions []callable
	operators []callable
	casts     [][2]string
}

// unfit are functions whose results depend on the installation, the session or
// the moment, or that act on the server.
var unfit = regexp.MustCompile(`^(pg_|has_|current_|inet_(server|client)|lo_|now$|clock_|statement_|transaction_|timeofday|txid_|` +
	`random|setseed|nextval|setval|currval|lastval|gen_random|set_config|version|query_to|table_to|cursor_to|schema_to|database_to|` +
	`col_description|obj_description|shobj_|to_reg|row_security|ts_stat|ts_debug|session_|getdatabaseencoding|brin_|gin|gist|` +
	`regclass|convert|getpgusername|xid|mxid|unique_key|index_am|amvalidate|binary_upgrade|.*_(send|recv|in|out)$|lichen_|crdb_|yb_|` +
	`hash|.*hash(_extended)?$|.*_support$|.*sel$|in_range|cast_to)`)

const functionsQuery = `SELECT prokind::text, proname::text, proargtypes::text FROM pg_catalog.pg_proc
	WHERE prokind IN ('f','a','w') AND provolatile <> 'v' AND pronamespace = 'pg_catalog'::regnamespace`

const operatorsQuery = `SELECT 'o', oprname::text, oprleft::oid::text || ' ' || oprright::oid::text FROM pg_catalog.pg_operator
	WHERE oprnamespace = 'pg_catalog'::regnamespace`

// readShared finds what both databases have and the generator has constants for.
func readShared(ctx context.Context, postgres, lichen *server) (*shared, error) {
	s := &shared{}
	names := map[string]string{"0": ""}
	theirTypes, err := fetch(ctx, postgres, "SELECT oid::text, typname::text FROM pg_catalog.pg_type")
	if err != nil {
		return nil, err
	}
	ourTypes, err := fetch(ctx, lichen, "SELECT oid::text, typname::text FROM pg_catalog.pg_type")
	if err != nil {
		return nil, err
	}
	for row := range theirTypes {
		oid, name, _ := strings.Cut(row, "\x00")
		names[oid] = name
		if ourTypes[row] && generate.Constants[name] != nil {
			s.types = append(s.types, name)
		}
	}
	sort.Strings(s.types)
	if s.functions, err = sharedCallables(ctx, postgres, lichen, functionsQuery, names); err != nil {
		return nil, err
	}
	if s.operators, err = sharedCallables(ctx, postgres, lichen, operatorsQuery, names); err != nil {
		return nil, err
	}
	for _, a := range s.types {
		for _, b := range s.types {
			s.casts = append(s.casts, [2]string{a, b})
		}
	}
	return s, nil
}

// fetch returns the rows of a query, columns separated by zero bytes.
func fetch(ctx context.Context, db *server, sql string) (map[string]bool, error) {
	r := db.conn.ExecParams(ctx, sql, nil, nil, nil, nil)
	rows := map[string]bool{}
	for r.NextRow() {
		var parts []string
		for _, v := range r.Values() {
			parts = append(parts, string(v))
		}
		rows[strings.Join(parts, "\x00")] = true
	}
	if _, err := r.Close(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", db.name, sql, err)
	}
	return rows, nil
}

// sharedCallables runs a query of kind, name and oids of types on both databases
// and keeps what both have and can be called with constants.
func sharedCallables(ctx context.Context, postgres, lichen *server, query string, names map[string]string) ([]callable, error) {
	theirs, err := fetch(ctx, postgres, query)
	if err != nil {
		return nil, err
	}
	ours, err := fetch(ctx, lichen, query)
	if err != nil {
		return nil, err
	}
	var list []callable
	for _, row := range slices.Sorted(func(yield func(string) bool) {
		for r := range theirs {
			if !yield(r) {
				return
			}
		}
	}) {
		parts := strings.Split(row, "\x00")
		c := callable{kind: parts[0], name: parts[1]}
		for _, oid := range strings.Fields(parts[2]) {
			c.args = append(c.args, names[oid])
		}
		if ours[row] && !unfit.MatchString(c.name) && c.callable() {
			list = append(list, c)
		}
	}
	return list, nil
}

// polymorphic are the types of arguments that stand for others.
var polymorphic = map[string]string{
	"any": "e", "anyelement": "e", "anynonarray": "e", "anyenum": "", "anyarray": "a", "anyrange": "r", "anymultirange": "m",
	"anycompatible": "e", "anycompatiblearray": "a", "anycompatiblenonarray": "e", "anycompatiblerange": "r", "anycompatiblemultirange": "m",
}

func (c callable) callable() bool {
	for _, a := range c.args {
		if a != "" && generate.Constants[a] == nil && polymorphic[a] == "" {
			return false
		}
	}
	return true
}

func (c callable) String() string { return c.name + "(" + strings.Join(c.args, ",") + ")" }

// elements are what polymorphic types stand for: element, array, range and
// multirange of one choice.
var elements = []map[string]string{
	{"e": "int4", "a": "_int4", "r": "int4range", "m": "int4multirange"},
	{"e": "numeric", "a": "_numeric", "r": "numrange", "m": "nummultirange"},
	{"e": "text", "a": "_text", "r": "numrange", "m": "nummultirange"},
	{"e": "date", "a": "_date", "r": "daterange", "m": "datemultirange"},
	{"e": "jsonb", "a": "_jsonb", "r": "int8range", "m": "int4multirange"},
}

// arguments draws constants for a callable.
func (c callable) arguments(r generate.Rand) []string {
	e := elements[r.IntN(len(elements))]
	var list []string
	for _, a := range c.args {
		if p := polymorphic[a]; p != "" {
			a = e[p]
		}
		list = append(list, r.Literal(a))
	}
	return list
}

// catalogStatement draws a call of a function or operator, or a cast.
func (s *shared) catalogStatement(r generate.Rand) statement {
	switch n := r.IntN(10); {
	case n < 5:
		return callStatement(r, s.functions[r.IntN(len(s.functions))])
	case n < 8:
		return operatorStatement(r, s.operators[r.IntN(len(s.operators))])
	default:
		return castStatement(r, s.casts[r.IntN(len(s.casts))])
	}
}

func callStatement(r generate.Rand, f callable) statement {
	if f.kind != "f" {
		return aggregateStatement(r, f)
	}
	args := strings.Join(f.arguments(r), ", ")
	st := statement{sql: fmt.Sprintf("SELECT %s(%s)", f.name, args), key: "function " + f.String(), ordered: true}
	if r.OneIn(4) {
		st.sql = fmt.Sprintf("SELECT * FROM %s(%s)", f.name, args)
		st.key += " in FROM"
	}
	return st
}

// aggregateStatement calls an aggregate or window function over a few rows.
func aggregateStatement(r generate.Rand, f callable) statement {
	var rows []string
	e := r.IntN(len(elements))
	var names []string
	for i := range f.args {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	for n := range 1 + r.IntN(4) {
		row := []string{fmt.Sprint(n)}
		for _, a := range f.args {
			if p := polymorphic[a]; p != "" {
				a = elements[e][p]
			}
			row = append(row, r.Literal(a))
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	call := fmt.Sprintf("%s(%s)", f.name, strings.Join(names, ", "))
	if len(f.args) == 0 && f.kind == "a" {
		call = f.name + "(*)"
	}
	if f.kind == "w" || r.OneIn(3) {
		call += " OVER (" + r.Pick("", "ORDER BY o", "ORDER BY o ROWS 1 PRECEDING", "ORDER BY o DESC") + ")"
	} else if len(f.args) > 0 && r.OneIn(4) {
		call = fmt.Sprintf("%s(%s ORDER BY o DESC)", f.name, strings.Join(names, ", "))
	}
	return statement{
		sql: fmt.Sprintf("SELECT %s FROM (VALUES %s) v(%s)", call, strings.Join(rows, ", "), strings.Join(append([]string{"o"}, names...), ", ")),
		key: "aggregate " + f.String(),
	}
}

func operatorStatement(r generate.Rand, o callable) statement {
	args := o.arguments(r)
	sql := fmt.Sprintf("SELECT %s %s %s", args[0], o.name, args[1])
	if o.args[0] == "" {
		sql = fmt.Sprintf("SELECT %s %s", o.name, args[1])
	}
	return statement{sql: sql, key: "operator " + o.args[0] + " " + o.name + " " + o.args[1], ordered: true}
}

func castStatement(r generate.Rand, c [2]string) statement {
	target := generate.TypeSQL(c[1])
	switch {
	case r.OneIn(6) && slices.Contains([]string{"numeric", "varchar", "bpchar", "varbit", "bit", "timestamp", "time", "interval"}, c[1]):
		target += fmt.Sprintf("(%d)", r.IntN(8))
	}
	return statement{sql: fmt.Sprintf("SELECT (%s)::%s", r.Literal(c[0]), target), key: "cast " + c[0] + " to " + c[1], ordered: true}
}
