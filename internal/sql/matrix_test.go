package sql_test

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	sqlast "github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
)

// withoutPrivilege are the kinds of statements that take no privilege of their own, and why.
var withoutPrivilege = map[string]string{
	"*ast.Begin": "anybody's transaction", "*ast.Commit": "anybody's transaction", "*ast.Rollback": "anybody's transaction",
	"*ast.Savepoint": "anybody's transaction", "*ast.Release": "anybody's transaction", "*ast.RollbackTo": "anybody's transaction",
	"*ast.PrepareTxn": "is not supported", "*ast.SetTransaction": "anybody's transaction", "*ast.SetConstraints": "anybody's transaction",
	"*ast.Prepare": "what EXECUTE takes", "*ast.Explain": "what the statement takes", "*ast.ShowRanges": "bounds of ranges are shown to who may read the table",
	"*ast.Vacuum": "is skipped for who does not own the table, with a WARNING", "*ast.Cancel": "ends what the user may end; see pg_signal_backend",
	"*ast.SetClusterSetting": "superusers', where there are cluster settings (TestAuditDenied in server)",
	"*ast.Use":               "CONNECT, of who logged in, as at the login (TestAuditLogins in server)",
	"*ast.Deallocate":        "the session's own", "*ast.CloseCursor": "the session's own", "*ast.Fetch": "the session's own; DECLARE took the privileges",
	"*ast.Discard": "the session's own", "*ast.Listen": "anybody may", "*ast.Unlisten": "the session's own", "*ast.Notify": "anybody may",
	"*ast.Show": "parameters are everybody's to see", "*ast.ShowObjects": "shows what the user may see",
	"*ast.ShowZone": "zones are everybody's to see", "*ast.Unsupported": "is not supported",
}

// TestMatrixComplete: the scripts of privileges try every kind of statement that the parser knows without a privilege that it takes, and
// with it.
func TestMatrixComplete(t *testing.T) {
	denied, done := triedStatements(t, "privileges", "rowsecurity")
	for _, kind := range statementKinds(t) {
		why := withoutPrivilege[kind]
		switch {
		case why == "" && !denied[kind]:
			t.Errorf("no script of testdata/logic/privileges tries %s without its privilege (42501)", kind)
		case why == "" && !done[kind]:
			t.Errorf("no script of testdata/logic/privileges tries %s with its privilege", kind)
		}
	}
}

// statementKinds returns the types of statements, from the source of package ast.
func statementKinds(t *testing.T) (kinds []string) {
	t.Helper()
	files, err := filepath.Glob("ast/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources of package ast", err)
	}
	for _, name := range files {
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "stmtNode" {
				continue
			}
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				kinds = append(kinds, "*ast."+star.X.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// triedStatements returns the kinds of the statements that the scripts of some areas say are refused for want of a privilege, and of
// those that succeed.
func triedStatements(t *testing.T, areas ...string) (denied, done map[string]bool) {
	t.Helper()
	denied, done = map[string]bool{}, map[string]bool{}
	for _, area := range areas {
		files, err := filepath.Glob(filepath.Join("testdata", "logic", area, "*.slt"))
		if err != nil || len(files) == 0 {
			t.Fatal("no scripts", err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range strings.Split(string(b), "\n\n") {
				noteTried(record, denied, done)
			}
		}
	}
	return denied, done
}

// noteTried notes the statements of a record of a script.
func noteTried(record string, denied, done map[string]bool) {
	lines := slices.DeleteFunc(strings.Split(record, "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
	if len(lines) < 2 {
		return
	}
	into := done
	switch head := lines[0]; {
	case strings.Contains(head, "42501"):
		into = denied
	case strings.Contains(head, "error"):
		return
	}
	text, _, _ := strings.Cut(strings.Join(lines[1:], "\n"), "\n----")
	list, err := parser.Parse(text)
	if err != nil {
		return
	}
	if strings.Contains(lines[0], "42501") {
		list = list[len(list)-1:] // what failed
	}
	for i := range list {
		into[kindOf(list[i].AST)] = true
	}
}

func kindOf(st sqlast.Statement) string { return reflect.TypeOf(st).String() }
