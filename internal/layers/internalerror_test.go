package layers_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayTellInternalErrors are the files that may say XX000, which a client must never be able to
// bring about: the assertion, and what looks at or reports errors of any kind.
var mayTellInternalErrors = []string{
	"internal/sql/pgerr/codes.go", "internal/sql/pgerr/pgerr.go", "internal/sql/kverror/kverror.go",
	"internal/pgwire/conn.go", "internal/pgwire/errors.go",
}

var internalError = regexp.MustCompile(`\bInternalError\b|"XX000"`)

// TestInternalErrors requires everybody else to use pgerr.Assertion, or a SQLSTATE that tells the
// client something.
func TestInternalErrors(t *testing.T) {
	walk(t, repository+"/internal", ".go", func(path string) {
		name := strings.TrimPrefix(strings.TrimPrefix(path, repository), "/")
		if strings.HasSuffix(name, "_test.go") || slices.Contains(mayTellInternalErrors, name) {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if internalError.Match(b) {
			t.Errorf("%s tells an internal error: use pgerr.Assertion", name)
		}
	})
}
