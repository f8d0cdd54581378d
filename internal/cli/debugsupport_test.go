package cli_test

import (
	"os"
	"strings"
	"testing"
)

// TestSQLSupport: the page of what SQL there is says what holds. LICHEN_REWRITE=1 writes
// it anew.
func TestSQLSupport(t *testing.T) {
	const page = "../../docs/sql-support.md"
	got := want(t, "debug", "sql-support")
	if os.Getenv("LICHEN_REWRITE") != "" {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	old, now := strings.Split(string(b), "\n"), strings.Split(got, "\n")
	for i := range max(len(old), len(now)) {
		if i >= len(old) || i >= len(now) || old[i] != now[i] {
			t.Fatalf("line %d of %s is not what lichen debug sql-support writes; write it with LICHEN_REWRITE=1", i+1, page)
		}
	}
}
