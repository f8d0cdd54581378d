package sessionvar_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/sessionvar"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

func errNoRole(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "role \"%s\" does not exist", name)
}

// session records the calls that it receives.
type session struct {
	database string
	seed     float64
}

func (s *session) MayChangeRole(string) error                { return nil }
func (s *session) SetRole(name string) error                 { return errNoRole(name) }
func (s *session) SetSessionAuthorization(name string) error { return errNoRole(name) }
func (s *session) MaySet(string) bool                        { return false }

func (s *session) Superuser() bool         { return true }
func (s *session) SessionUser() string     { return "root" }
func (s *session) Database() string        { return s.database }
func (s *session) SeedRandom(seed float64) { s.seed = seed }
func (s *session) UseDatabase(_ context.Context, name string) error {
	s.database = name
	return nil
}

func newVars() (*sessionvar.Vars, *session) {
	var v sessionvar.Vars
	s := &session{database: "defaultdb"}
	v.Init(settings.New(nil), new(transaction.Transaction), s)
	return &v, s
}

func setVar(t *testing.T, text string) *ast.SetVar {
	t.Helper()
	stmts, err := parser.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return stmts[0].AST.(*ast.SetVar)
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		text, name, want string
		code             pgerr.Code
	}{
		{text: "SET search_path = a, \"B\"", name: "search_path", want: `a, "B"`},
		{text: "SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE", name: "timezone", want: "<-08>+08"},
		{text: "SET TIME ZONE INTERVAL '1 day'", code: pgerr.InvalidParameterValue},
		{text: "SET statement_timeout = 1, 2", code: pgerr.InvalidParameterValue},
		{text: "SET optimizer_rules_off = fold_constants", name: "optimizer_rules_off", want: "fold_constants"},
		{text: "SET optimizer_rules_off = magic", code: pgerr.InvalidParameterValue},
		{text: "SET role = other", code: pgerr.InvalidParameterValue},
		{text: "SET no_such_parameter = 1", code: pgerr.UndefinedObject},
		{text: "SET LOCAL database = other", name: "database", want: "defaultdb"}, // outside a block
		{text: "SET database = other", name: "database", want: "other"},
	} {
		v, _ := newVars()
		_, err := v.Set(t.Context(), setVar(t, c.text), nil)
		if (err == nil) != (c.code == "") || err != nil && pgerr.From(err).Code != c.code {
			t.Errorf("%s: %v, want %q", c.text, err, c.code)
		}
		if got, _ := v.Show(c.name); c.name != "" && got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.text, c.name, got, c.want)
		}
	}
}

func TestSeed(t *testing.T) {
	v, s := newVars()
	if _, err := v.SetText(t.Context(), "seed", "0.5", false, nil); err != nil || s.seed != 0.5 {
		t.Errorf("seed %v, %v", s.seed, err)
	}
	for _, bad := range []string{"2", "NaN", "x"} {
		if _, err := v.SetText(t.Context(), "seed", bad, false, nil); err == nil {
			t.Errorf("seed %s is taken", bad)
		}
	}
}

// TestStored: only values that SET would accept are stored, and a stored value that has become
// invalid is skipped.
func TestStored(t *testing.T) {
	v, _ := newVars()
	got, err := v.Stored(setVar(t, "SET statement_timeout = '2s'"), nil)
	if err != nil || got.Name != "statement_timeout" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"SET statement_timeout = 'x'", "SET seed = 0.5", "SET optimizer_rules_off = magic"} {
		if _, err := v.Stored(setVar(t, bad), nil); err == nil {
			t.Errorf("%s is stored", bad)
		}
	}
	stored := []catalog.RoleSettings{{Settings: []catalog.Setting{{Name: "gone", Value: "1"}, {Name: "statement_timeout", Value: "3s"}}}}
	warned := 0
	v.SetStored(10, stored, nil, func(*pgerr.Error) { warned++ })
	if value, _ := v.Show("statement_timeout"); value != "3s" || warned != 1 {
		t.Errorf("statement_timeout is %s after %d warnings", value, warned)
	}
}
