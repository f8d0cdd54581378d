package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestManyJoins joins many relations, in orders that are no good as they are written and
// in all kinds of joins: each has one row for every k.
func TestManyJoins(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	const tables = 100
	for i := range tables {
		mustExec(t, s, fmt.Sprintf("CREATE TABLE j%d (k INT PRIMARY KEY, l INT)", i))
		mustExec(t, s, fmt.Sprintf("INSERT INTO j%d SELECT g, g FROM generate_series(1, 5) g", i))
	}
	for _, count := range []int{33, 64, tables} {
		var names, chain, star, outer, inner []string
		for i := range count {
			// The written order has hardly any neighbours that a condition connects.
			names = append(names, fmt.Sprintf("j%d", i*37%count))
			if i > 0 {
				chain = append(chain, fmt.Sprintf("j%d.l = j%d.k", i-1, i))
				star = append(star, fmt.Sprintf("j0.k = j%d.l", i))
				outer = append(outer, fmt.Sprintf("LEFT JOIN j%d ON j%d.k = j%d.l", i, i, i/2))
				inner = append(inner, fmt.Sprintf("JOIN j%d USING (k)", i))
			}
		}
		if count%37 == 0 {
			t.Fatal("the tables are not all named")
		}
		clique := append([]string(nil), star...)
		for i := range count {
			for k := max(1, i-7); k < i; k++ {
				clique = append(clique, fmt.Sprintf("j%d.k = j%d.k", i, k))
			}
		}
		from := strings.Join(names, ", ")
		for name, query := range map[string]string{
			"chain":  "FROM " + from + " WHERE " + strings.Join(chain, " AND "),
			"star":   "FROM " + from + " WHERE " + strings.Join(star, " AND "),
			"clique": "FROM " + from + " WHERE " + strings.Join(clique, " AND "),
			"outer":  "FROM j0 " + strings.Join(outer, " "),
			"using":  "FROM j0 " + strings.Join(inner, " "),
			"mixed":  "FROM " + from + " LEFT JOIN (SELECT k AS o FROM j1) x ON j0.k = x.o WHERE " + strings.Join(star, " AND "),
		} {
			if got := answer(t, s, "SELECT count(*) "+strings.Replace(query, "j0.k = x.o", names[count-1]+".k = x.o", 1)); got != "5" {
				t.Errorf("%s of %d: %s rows", name, count, got)
			}
		}
	}
	// Without the order the written one is good enough here.
	for _, rule := range []string{"join_order", "push_filters", "lookup_join", "hash_join", "merge_join"} {
		mustExec(t, s, "SET optimizer_rules_off = '"+rule+"'")
		query := "SELECT count(*) FROM j0"
		for i := 1; i < 33; i++ {
			query += fmt.Sprintf(" JOIN j%d ON j%d.k = j%d.l", i, i, i-1)
		}
		if got := answer(t, s, query); got != "5" {
			t.Errorf("without %s: %s rows", rule, got)
		}
	}
}
