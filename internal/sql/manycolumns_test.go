package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestManyColumns makes tables of as many columns as there can be, with and without a key of
// their own, and of one more.
func TestManyColumns(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	columns := func(first string, count int) string {
		cols := []string{"c1 " + first}
		for i := 2; i <= count; i++ {
			cols = append(cols, fmt.Sprintf("c%d INT", i))
		}
		return strings.Join(cols, ", ")
	}
	for i, first := range []string{"INT", "INT PRIMARY KEY"} {
		name := fmt.Sprintf("wide%d", i)
		mustExec(t, s, "CREATE TABLE "+name+" ("+columns(first, 1600)+")")
		mustExec(t, s, "INSERT INTO "+name+" (c1, c1600) VALUES (1, 1600)")
		if got := answer(t, s, "SELECT c1 + c1600 FROM "+name); got != "1601" {
			t.Errorf("%s: %s", name, got)
		}
		for _, refused := range []string{
			"ALTER TABLE " + name + " ADD COLUMN c1601 INT",
			"CREATE TABLE wider (" + columns(first, 1601) + ")",
		} {
			if err := exec1(s, refused); pgerr.CodeOf(err) != pgerr.TooManyColumns {
				t.Errorf("%.40s: %v", refused, err)
			}
		}
	}
}
