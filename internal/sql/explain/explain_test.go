package explain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/explain"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

func parse(t *testing.T, text string) *ast.Explain {
	t.Helper()
	stmts, err := parser.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return stmts[0].AST.(*ast.Explain)
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		text                     string
		analyze, summary, silent bool
		code                     pgerr.Code
	}{
		{text: "EXPLAIN SELECT 1"},
		{text: "EXPLAIN ANALYZE SELECT 1", analyze: true, summary: true},
		{text: "EXPLAIN (ANALYZE, SUMMARY off) SELECT 1", analyze: true},
		{text: "EXPLAIN (ANALYZE off, SUMMARY) SELECT 1", summary: true},
		{text: "EXPLAIN (BUFFERS) SELECT 1", silent: true},
		{text: "EXPLAIN (WAL) SELECT 1", code: pgerr.InvalidParameterValue},
		{text: "EXPLAIN (TIMING) SELECT 1", code: pgerr.InvalidParameterValue},
		{text: "EXPLAIN (FORMAT toml) SELECT 1", code: pgerr.InvalidParameterValue},
		{text: "EXPLAIN (COSTS maybe) SELECT 1", code: pgerr.SyntaxError},
		{text: "EXPLAIN (colour) SELECT 1", code: pgerr.SyntaxError},
	} {
		o, err := explain.Parse(parse(t, c.text).Options)
		if c.code != "" {
			if err == nil || pgerr.From(err).Code != c.code {
				t.Errorf("%s: %v, want %s", c.text, err, c.code)
			}
			continue
		}
		if err != nil || o.Analyze != c.analyze || o.Summary != c.summary || o.Silent != c.silent {
			t.Errorf("%s: %+v, %v", c.text, o, err)
		}
	}
}

// relations are the names of those that are there.
type relations []string

func (r relations) FindRelation(_ context.Context, _, _, name string) (*catalog.Table, bool, error) {
	for _, n := range r {
		if n == name {
			return &catalog.Table{}, false, nil
		}
	}
	return nil, false, nil
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text string
		skip bool
		code pgerr.Code
	}{
		{text: "EXPLAIN CREATE TABLE free AS SELECT 1"},
		{text: "EXPLAIN CREATE TABLE taken AS SELECT 1", code: pgerr.DuplicateTable},
		{text: "EXPLAIN CREATE TABLE IF NOT EXISTS taken AS SELECT 1", skip: true},
		{text: "EXPLAIN CREATE TABLE free AS EXECUTE p", code: pgerr.FeatureNotSupported},
		{text: "EXPLAIN ANALYZE CREATE TABLE free AS SELECT 1", code: pgerr.FeatureNotSupported},
		{text: "EXPLAIN ANALYZE SELECT 1 INTO free", code: pgerr.FeatureNotSupported},
		{text: "EXPLAIN ANALYZE SELECT 1"},
	} {
		st := parse(t, c.text)
		o, err := explain.Parse(st.Options)
		if err != nil {
			t.Fatal(err)
		}
		skip, err := o.Check(t.Context(), st, relations{"taken"})
		if (skip != nil) != c.skip || (err == nil) != (c.code == "") || err != nil && pgerr.From(err).Code != c.code {
			t.Errorf("%s: %v, %v", c.text, skip, err)
		}
	}
}

// TestUtilities says of statements without a plan that they have none, and runs none of them.
func TestUtilities(t *testing.T) {
	for format, want := range map[string]string{
		"text": "Utility statements have no plan structure", "json": "[\n  \"Utility Statement\"\n]",
		"yaml": "- \"Utility Statement\"", "xml": "<Utility-Statement />",
	} {
		o, err := explain.Parse(parse(t, "EXPLAIN (ANALYZE, FORMAT "+format+") SELECT 1").Options)
		if err != nil {
			t.Fatal(err)
		}
		if changed, took, err := o.Run(&plan.DDL{}, nil); changed != 0 || took != 0 || err != nil {
			t.Errorf("%d rows in %s, %v", changed, took, err)
		}
		if _, _, err := o.Run(&plan.Utility{}, nil); err == nil || pgerr.From(err).Code != pgerr.FeatureNotSupported {
			t.Errorf("running a utility statement: %v", err)
		}
		rows := o.Rows(&plan.DDL{}, explain.Times{})
		if len(rows) != 1 || !strings.Contains(rows[0].Str(), want) {
			t.Errorf("%s: %v, want %q", format, rows, want)
		}
	}
}
