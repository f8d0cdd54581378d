package sql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestErrorsInBodies checks where errors in bodies of routines point to: into the client's statement as the routine is made,
// into the statement of the body as it runs. The answers are PostgreSQL 15's.
func TestErrorsInBodies(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{})
	defer n.close()
	ses := n.session(t)
	defer ses.Close()
	for _, c := range []struct {
		sql  string
		want pgerr.Error
	}{
		{"DO $$ BEGIN x := 1; END $$", pgerr.Error{Message: "\"x\" is not a known variable", Position: 13}},
		{"DO $$ DECLARE x int; BEGIN x := (SELECT 'ä' || nosuch); END $$", pgerr.Error{Message: "column \"nosuch\" does not exist", InternalPosition: 21, InternalQuery: "x := (SELECT 'ä' || nosuch)", Context: "PL/pgSQL function inline_code_block line 1 at assignment"}},
		{"DO $$ BEGIN PERFORM nosuch(1); END $$", pgerr.Error{Message: "function nosuch(integer) does not exist", InternalPosition: 8, InternalQuery: "SELECT nosuch(1)", Context: "PL/pgSQL function inline_code_block line 1 at PERFORM"}},
		{"DO $$ DECLARE a int; BEGIN SELECT 1 INTO a FROM nosuch; END $$", pgerr.Error{Message: "relation \"nosuch\" does not exist", InternalPosition: 22, InternalQuery: "SELECT 1        FROM nosuch", Context: "PL/pgSQL function inline_code_block line 1 at SQL statement"}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$ BEGIN retrn 1; END $$", pgerr.Error{Message: "syntax error at or near \"retrn\"", Position: 64}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''a'' ''b''; END'", pgerr.Error{Message: "syntax error at or near \"'b'\"", Position: 81}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$ DECLARE a nosuch; BEGIN END $$", pgerr.Error{Message: "type \"nosuch\" does not exist", Position: 68}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 + ; END $$", pgerr.Error{Message: "syntax error at end of input", Position: 74}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS $$ SELECT nosuch $$", pgerr.Error{Message: "column \"nosuch\" does not exist", Position: 61}},
		{"CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT ''a'' + x'", pgerr.Error{Message: "column \"x\" does not exist", Position: 77}},
		{"DO $$ BEGIN RAISE 'a %'; END $$", pgerr.Error{Message: "too few parameters specified for RAISE", Context: "compilation of PL/pgSQL function \"inline_code_block\" near line 1"}},
		{"DO $$ DECLARE x smallint; BEGIN\n x := 70000; END $$", pgerr.Error{Message: "smallint out of range", Context: "PL/pgSQL assignment \"x := 70000\"\nPL/pgSQL function inline_code_block line 2 at assignment"}},
		{"DO $$ BEGIN EXECUTE 'SELECT nosuch'; END $$", pgerr.Error{Message: "column \"nosuch\" does not exist", InternalPosition: 8, InternalQuery: "SELECT nosuch", Context: "PL/pgSQL function inline_code_block line 1 at EXECUTE"}},
		{"DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r.a; END $$", pgerr.Error{Message: "record \"r\" is not assigned yet", Context: "SQL expression \"r.a\"\nPL/pgSQL function inline_code_block line 1 at RAISE"}},
		{"DO $$ BEGIN\nIF false THEN\nELSIF nosuch THEN\nEND IF; END $$", pgerr.Error{Message: "column \"nosuch\" does not exist", InternalPosition: 1, InternalQuery: "nosuch", Context: "PL/pgSQL function inline_code_block line 2 at IF"}},
		{"DO $$ DECLARE x int := 1 / (SELECT 0); BEGIN END $$", pgerr.Error{Message: "division by zero", Context: "SQL expression \"1 / (SELECT 0)\"\nPL/pgSQL function inline_code_block line 1 during statement block local variable initialization"}},
	} {
		var e *pgerr.Error
		if err := ses.Query(context.Background(), c.sql, &discard{}); !errors.As(err, &e) {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		got := pgerr.Error{Message: e.Message, Position: e.Position, InternalPosition: e.InternalPosition, InternalQuery: e.InternalQuery, Context: e.Context}
		if got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.sql, got, c.want)
		}
	}
}
