package parser

import (
	"errors"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestLongTokensStop checks that a cancelled statement ends within one long token, comment or run of
// blanks, and that none is read otherwise for the looks in between.
func TestLongTokensStop(t *testing.T) {
	long := func(piece string) string { return strings.Repeat(piece, 4*stepBytes) }
	for name, text := range map[string]string{
		"string":           "SELECT '" + long("x") + "'",
		"doubled quotes":   "SELECT '" + long("''") + "'",
		"escapes":          "SELECT E'" + long(`\n`) + "'",
		"name":             "SELECT " + long("x"),
		"quoted name":      `SELECT "` + long(`""`) + `"`,
		"comment":          "SELECT /*" + long("*") + "*/ 1",
		"line":             "SELECT --" + long("-") + "\n 1",
		"blanks":           "SELECT " + long(" ") + " 1",
		"other characters": "SELECT '" + long("ä") + "'",
	} {
		looks := 0
		if _, _, err := ParseStrings(text, Options{Step: func(int) error { looks++; return nil }}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if looks < 4 {
			t.Errorf("%s: %d looks", name, looks)
		}
		for last := 1; last <= looks; last++ {
			n := 0
			_, _, err := ParseStrings(text, Options{Step: func(int) error {
				if n++; n < last {
					return nil
				}
				return pgerr.New(pgerr.QueryCanceled, "stopped")
			}})
			if pe := (*pgerr.Error)(nil); !errors.As(err, &pe) || pe.Message != "stopped" || pe.Position != 0 {
				t.Errorf("%s, look %d: %v", name, last, err)
			}
			if n > last+3 {
				t.Errorf("%s, look %d: %d more", name, last, n-last)
			}
		}
	}
}
