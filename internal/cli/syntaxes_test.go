package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSyntaxes requires that \h knows only statements whose forms are tried (sql/support), and that what it says of
// indexes and of SHOW is whole.
func TestSyntaxes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "sql", "support", "statements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{} // by statement
	var names []string
	for line := range strings.Lines(string(b)) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "== "); ok {
			names = strings.Split(list, ", ")
			continue
		}
		for _, name := range names {
			form, _, _ := strings.Cut(line, " | ")
			forms[name] += form + "\n"
		}
	}
	for name, syntax := range syntaxes {
		if forms[name] == "" && name != "UPSERT" && name != "DROP TABLE" {
			t.Errorf("%s: sql/support tries no form of it", name)
		}
		if !strings.HasPrefix(syntax, strings.Fields(name)[0]) {
			t.Errorf("%s: %s", name, syntax)
		}
	}
	for _, method := range []string{"gin", "gist", "brin"} {
		if !strings.Contains(forms["CREATE INDEX"], "USING "+method) || !strings.Contains(syntaxes["CREATE INDEX"], method) {
			t.Errorf("CREATE INDEX: an index by %s: %s", method, syntaxes["CREATE INDEX"])
		}
	}
	for _, list := range []string{"TABLES", "RANGES"} {
		if !strings.Contains(syntaxes["SHOW"], list) {
			t.Errorf("SHOW lists no %s: %s", list, syntaxes["SHOW"])
		}
	}
}
