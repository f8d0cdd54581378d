package sql_test

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Errors about domains name the domain, with its schema where the search path does not
// lead to it, and the constraint.
func TestDomainError(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := n.session(t)
	mustExec(t, s, "CREATE SCHEMA other")
	mustExec(t, s, "CREATE DOMAIN other.positive AS INT NOT NULL CONSTRAINT above CHECK (VALUE > 0)")
	mustExec(t, s, "CREATE TABLE t (p other.positive, l other.positive[])")
	for _, c := range []struct{ path, statement, message, constraint string }{
		{"public", "INSERT INTO t VALUES (-1)", `value for domain other.positive violates check constraint "above"`, "above"},
		{"public", "INSERT INTO t VALUES (NULL)", "domain other.positive does not allow null values", ""},
		{"public", "SELECT 0::other.positive", `value for domain other.positive violates check constraint "above"`, "above"},
		{"public, other", "INSERT INTO t VALUES (-1)", `value for domain positive violates check constraint "above"`, "above"},
		{"public, other", "INSERT INTO t VALUES (1, '{1,0}')", `value for domain positive violates check constraint "above"`, "above"},
	} {
		mustExec(t, s, "SET search_path = "+c.path)
		var e *pgerr.Error
		if err := <-run(s, c.statement); !errors.As(err, &e) {
			t.Errorf("%s: %v", c.statement, err)
		} else if e.Message != c.message || e.Schema != "other" || e.DataType != "positive" || e.Constraint != c.constraint {
			t.Errorf("%s: %q, %q.%q, %q", c.statement, e.Message, e.Schema, e.DataType, e.Constraint)
		}
	}
}
