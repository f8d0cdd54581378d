package sql_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestViewChangeErrors checks what is said of changes that views do not allow: PostgreSQL
// words it for people who are to understand what a view lacks.
func TestViewChangeErrors(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, `CREATE TABLE t (a INT PRIMARY KEY, b TEXT);
		CREATE VIEW v AS SELECT a, upper(b) AS u FROM t WHERE a > 0 WITH CHECK OPTION;
		CREATE VIEW agg AS SELECT count(*) FROM t; CREATE VIEW over AS SELECT * FROM agg`)
	for _, c := range []struct{ sql, message, detail, hint string }{
		{"INSERT INTO v VALUES (1, 'x')", `cannot insert into column "u" of view "v"`,
			"View columns that are not columns of their base relation are not updatable.", ""},
		{"UPDATE v SET u = 'x'", `cannot update column "u" of view "v"`,
			"View columns that are not columns of their base relation are not updatable.", ""},
		{"INSERT INTO v VALUES (-1)", `new row violates check option for view "v"`, "Failing row contains (-1, null).", ""},
		{"DELETE FROM over", `cannot delete from view "agg"`, "Views that return aggregate functions are not automatically updatable.",
			"To enable deleting from the view, provide an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule."},
		{"INSERT INTO agg VALUES (1)", `cannot insert into view "agg"`, "Views that return aggregate functions are not automatically updatable.",
			"To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule."},
		{"MERGE INTO v USING t ON t.a = v.a WHEN MATCHED THEN DELETE", `cannot execute MERGE on relation "v"`,
			"This operation is not supported for views.", ""},
		{"CREATE VIEW n AS SELECT DISTINCT a FROM t WITH CHECK OPTION", "WITH CHECK OPTION is supported only on automatically updatable views",
			"", "Views containing DISTINCT are not automatically updatable."},
		{"COPY v FROM STDIN", `cannot copy to view "v"`, "", "To enable copying to a view, provide an INSTEAD OF INSERT trigger."},
	} {
		e := pgerr.From(exec1(s, c.sql))
		if e == nil || e.Message != c.message || e.Detail != c.detail || e.Hint != c.hint {
			t.Errorf("%s: %+v", c.sql, e)
		}
	}
}
