package metamorphic

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// names matches the words of a query that may be names, qualified those that have the name of
// a relation before them, wholeRow the rows of relations, which columns are added to.
var (
	wholeRow  = regexp.MustCompile(`\(\w+ IS (NOT )?NULL|\w+\.\*|a\d+::text|\(a\d+ = a\d+\)|to_jsonb\(a`)
	names     = regexp.MustCompile(`\b[a-z]\w*\b`)
	qualified = regexp.MustCompile(`\b[a-z]+\d+\.([a-z]\w*\b)`)
)

// maxViewChanges is how many changes a view outlives.
const maxViewChanges = 4

// viewOverDDL changes the relations that a view reads, in ways that do not matter to it: its
// rows stay, and the query that is printed for it has them too.
func (c *Checker) viewOverDDL() (string, error) {
	q, types := c.query(generate.Types)
	for wholeRow.MatchString(q) {
		q, types = c.query(generate.Types)
	}
	if c.OneIn(2) { // names that later columns could take
		q = qualified.ReplaceAllStringFunc(q, func(s string) string {
			if c.OneIn(2) {
				return s
			}
			return qualified.ReplaceAllString(s, "$1")
		})
	}
	if err := c.begin(); err != nil {
		return "", err
	}
	if err := c.do(fmt.Sprintf("CREATE VIEW vx(%s) AS %s", columnNames(len(types)), q)); err != nil {
		return "", err
	}
	want, err := c.ask("SELECT * FROM vx")
	if err != nil {
		return "", err
	}
	for i := range 1 + c.IntN(maxViewChanges) {
		if err := c.changeBelow(q, i); err != nil {
			return "", err
		}
	}
	got, err := c.ask("SELECT * FROM vx")
	if err != nil {
		return "its rows cannot be read any more: " + err.Error(), nil
	}
	if d := differ(want, got); d != "" {
		return d, nil
	}
	return c.printedView(want, len(types))
}

// printedView makes a view vy of the query that is printed for vx, whose rows are want, and one
// of the query that is printed for vy. By then all that is left to be understood is written out:
// the text stays.
func (c *Checker) printedView(want []string, columns int) (string, error) {
	if d, err := c.again("vx", "vy", columns); d != "" || err != nil {
		return d, err
	}
	got, err := c.ask("SELECT * FROM vy")
	if err != nil {
		return "", err
	}
	if d := differ(want, got); d != "" {
		return d, nil
	}
	if d, err := c.again("vy", "vz", columns); d != "" || err != nil {
		return d, err
	}
	return c.same(viewText("vy"), viewText("vz"))
}

// again makes a view of the query that is printed for another. It tells why that fails.
func (c *Checker) again(view, other string, columns int) (string, error) {
	text, err := c.ask(viewText(view))
	if err != nil {
		return "", err
	}
	def := text[0]
	if plain, err := strconv.Unquote(def); err == nil { // as some databases under test give texts
		def = plain
	}
	if err := c.do(fmt.Sprintf("CREATE VIEW %s(%s) AS %s", other, columnNames(columns), def)); err != nil {
		return "the printed query of " + view + " does not read back: " + err.Error(), nil
	}
	return "", nil
}

func viewText(view string) string { return "SELECT pg_get_viewdef('" + view + "'::regclass)" }

// changeBelow makes a change to what a query reads. One that is refused leaves all as it was.
func (c *Checker) changeBelow(q string, n int) error {
	t := c.Schema.Tables[c.IntN(len(c.Schema.Tables))]
	words := append(names.FindAllString(q, -1), "id")
	word := words[c.IntN(len(words))]
	col := t.Cols[c.IntN(len(t.Cols))]
	change := c.Pick(
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN \"%s\" int DEFAULT 7", t.Name, word),
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN \"%s\" int DEFAULT 7", t.Name, word),
		fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO \"%s\"", t.Name, col.Name, word),
		fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO renamed%d", t.Name, col.Name, n),
		fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", t.Name, col.Name),
		fmt.Sprintf("ALTER TABLE %s RENAME TO \"%s\"", t.Name, word),
		fmt.Sprintf("ALTER TABLE %s SET SCHEMA public", t.Name),
		fmt.Sprintf("CREATE TEMP TABLE %s (%s int)", t.Name, col.Name))
	if err := c.do("SAVEPOINT change"); err != nil {
		return err
	}
	if c.do(change) != nil {
		return c.do("ROLLBACK TO change")
	}
	return nil
}
