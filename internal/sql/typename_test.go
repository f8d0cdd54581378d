package sql_test

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Errors call types as the search path finds them; the messages are PostgreSQL's.
func TestTypeNamesInErrors(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := n.session(t)
	for _, setup := range []string{
		`create schema s2`,
		`create type s2.col as enum ('r','g')`,
		`create type s2.ct as (a int, b text)`,
		`create domain s2.pos as int check (value > 0)`,
		`create type s2.rg as range (subtype = float8)`,
		`create type mood as enum ('sad','ok')`,
		`create table t (id int, c s2.col, cc s2.col[], p s2.pos, k s2.ct, m mood, r s2.rg)`,
	} {
		mustExec(t, s, setup)
	}
	for _, c := range []struct{ statement, message string }{
		{`select c + 1 from t`, `operator does not exist: s2.col + integer`},
		{`select c || 1 from t`, `operator does not exist: s2.col || integer`},
		{`select upper(c) from t`, `function upper(s2.col) does not exist`},
		{`select c = m from t`, `operator does not exist: s2.col = mood`},
		{`select c::int from t`, `cannot cast type s2.col to integer`},
		{`select 'x'::s2.col`, `invalid input value for enum s2.col: "x"`},
		{`select 'x'::mood`, `invalid input value for enum mood: "x"`},
		{`insert into t(c) values ('q')`, `invalid input value for enum s2.col: "q"`},
		{`insert into t(c) values (1)`, `column "c" is of type s2.col but expression is of type integer`},
		{`insert into t(c) select m from t`, `column "c" is of type s2.col but expression is of type mood`},
		{`insert into t(p) values (-1)`, `value for domain s2.pos violates check constraint "pos_check"`},
		{`insert into t(p) values ('x'::text)`, `column "p" is of type s2.pos but expression is of type text`},
		{`select coalesce(c, m) from t`, `COALESCE could not convert type mood to s2.col`},
		{`select case when true then c else 1 end from t`, `CASE types integer and s2.col cannot be matched`},
		{`select c from t union select m from t`, `UNION could not convert type mood to s2.col`},
		{`select array[c, m] from t`, `ARRAY could not convert type mood to s2.col`},
		{`select c in (m) from t`, `operator does not exist: s2.col = mood`},
		{`select sum(c) from t`, `function sum(s2.col) does not exist`},
		{`select cc + 1 from t`, `operator does not exist: s2.col[] + integer`},
		{`select cc::int[] from t`, `cannot cast type s2.col[] to integer[]`},
		{`select k + 1 from t`, `operator does not exist: s2.ct + integer`},
		{`select k::int from t`, `cannot cast type s2.ct to integer`},
		{`select (k).z from t`, `column "z" not found in data type s2.ct`},
		{`select (k).a + 'x'::s2.col from t`, `invalid input value for enum s2.col: "x"`},
		{`select p + c from t`, `operator does not exist: s2.pos + s2.col`},
		{`select p #> 1 from t`, `operator does not exist: s2.pos #> integer`},
		{`select abs(c) from t`, `function abs(s2.col) does not exist`},
		{`select id::s2.col from t`, `cannot cast type integer to s2.col`},
		{`select id::s2.ct from t`, `cannot cast type integer to s2.ct`},
		{`update t set c = id`, `column "c" is of type s2.col but expression is of type integer`},
		{`update t set c = 5`, `column "c" is of type s2.col but expression is of type integer`},
		{`update t set cc = array[1]`, `column "cc" is of type s2.col[] but expression is of type integer[]`},
		{`select foo(c, cc, p, k, r) from t`, `function foo(s2.col, s2.col[], s2.pos, s2.ct, s2.rg) does not exist`},
		{`select r + 1 from t`, `operator does not exist: s2.rg + integer`},
		{`select '{x}'::s2.col[]`, `invalid input value for enum s2.col: "x"`},
		{`select null::s2.col || null::mood`, `operator does not exist: s2.col || mood`},
		{`alter table t alter column id type s2.col`, `column "id" cannot be cast automatically to type s2.col`},
		{`alter table t alter column c set default 5`, `column "c" is of type s2.col but default expression is of type integer`},
		{`create table t2 (a s2.col default 1)`, `column "a" is of type s2.col but default expression is of type integer`},
		{`create table t2 (a s2.col check (a > 5))`, `operator does not exist: s2.col > integer`},
		{`select least(c, id) from t`, `LEAST types s2.col and integer cannot be matched`},
		{`select nullif(c, id) from t`, `operator does not exist: s2.col = integer`},
		{`select c between 1 and 2 from t`, `operator does not exist: s2.col >= integer`},
		{`select row_to_json(c) from t`, `function row_to_json(s2.col) does not exist`},
	} {
		var e *pgerr.Error
		if err := <-run(s, c.statement); !errors.As(err, &e) || e.Message != c.message {
			t.Errorf("%s: %v, want %s", c.statement, err, c.message)
		}
	}
}
