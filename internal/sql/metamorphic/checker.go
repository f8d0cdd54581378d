package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// DB is the database under test, as one session sees it.
type DB interface {
	// Query runs one statement and returns its rows, each as one text in which values differ
	// where theirs do. An error is an *Error.
	Query(ctx context.Context, sql string) ([]string, error)
}

// Error is an error that the database returned.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Broken says that the statement has found a bug by itself: the database failed inside or went away.
func (e *Error) Broken() bool { return e.Code == "lost" || strings.HasPrefix(e.Code, "XX") }

// Finding is statements whose answers contradict each other.
type Finding struct {
	Relation   string
	Statements []string
	Detail     string
}

func (f *Finding) String() string {
	return fmt.Sprintf("%s: %s\n  %s", f.Relation, f.Detail, strings.Join(f.Statements, ";\n  "))
}

// relation is a way to find a contradiction.
type relation struct {
	name  string
	check func(*Checker) (string, error)
}

func relations() []relation {
	return []relation{
		{"partition of WHERE", (*Checker).partitionWhere},
		{"partition of DISTINCT", (*Checker).partitionDistinct},
		{"partition of GROUP BY", (*Checker).partitionGroups},
		{"partition of HAVING", (*Checker).partitionHaving},
		{"partition of aggregates", (*Checker).partitionAggregates},
		{"reference engine", (*Checker).reference},
		{"pivoted row", (*Checker).pivot},
		{"rules off", (*Checker).rulesOff},
		{"WITH", (*Checker).throughWith},
		{"equal columns", (*Checker).equalColumns},
		{"view", (*Checker).throughView},
		{"stored rows", (*Checker).stored},
		{"without indexes", (*Checker).withoutIndexes},
		{"IN, EXISTS and join", (*Checker).semiJoin},
		{"NOT IN and NOT EXISTS", (*Checker).antiJoin},
		{"outer join", (*Checker).outerJoin},
		{"outer join below a join", (*Checker).outerBelowJoin},
		{"DISTINCT", (*Checker).distinctRows},
		{"LIMIT", (*Checker).firstRows},
		{"row by row", (*Checker).rowByRow},
		{"UPDATE", (*Checker).update},
		{"DELETE", (*Checker).deletion},
		{"cursor", (*Checker).cursor},
		{"prepared", (*Checker).prepared},
		{"prepared over DDL", (*Checker).preparedOverDDL},
		{"sequence", (*Checker).sequence},
		{"view over DDL", (*Checker).viewOverDDL},
	}
}

// Relations lists the names of all relations.
func Relations() []string {
	var list []string
	for _, r := range relations() {
		list = append(list, r.name)
	}
	return list
}

// Checker checks relations over one schema.
type Checker struct {
	*generate.Generator
	db        DB
	ctx       context.Context
	rules     []string // of the optimizer
	relations []relation
	ran       []string // the statements of the check under way
	block     bool     // which is in a transaction

	// Checked and Skipped count checks by relation; those skipped met an error that SQL
	// allows, such as a division by zero.
	Checked, Skipped map[string]int
}

// New returns a Checker with a schema of its own, made from a seed. Rules are the rules of the
// optimizer, which the setting optimizer_rules_off takes. Names are the relations to check, all
// if there is none.
func New(seed uint64, rules []string, names ...string) *Checker {
	c := &Checker{Generator: generate.New(seed), rules: rules, Checked: map[string]int{}, Skipped: map[string]int{}}
	for _, r := range relations() {
		if len(names) == 0 || slices.Contains(names, r.name) {
			c.relations = append(c.relations, r)
		}
	}
	return c
}

// Setup makes the schema. A row that a constraint refuses is left out.
func (c *Checker) Setup(ctx context.Context, db DB) error {
	c.ctx, c.db = ctx, db
	for _, sql := range c.Schema.Setup {
		var refused *Error
		if _, err := db.Query(ctx, sql); err != nil && (!errors.As(err, &refused) || refused.Broken()) {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// Check draws a relation and checks it; it returns nil if it holds.
func (c *Checker) Check() *Finding {
	r := c.relations[c.IntN(len(c.relations))]
	c.ran = nil
	detail, err := r.check(c)
	c.end()
	var refused *Error
	switch {
	case errors.As(err, &refused) && refused.Broken():
		detail = refused.Error()
	case err != nil:
		c.Skipped[r.name]++
		return nil
	}
	c.Checked[r.name]++
	if detail == "" {
		return nil
	}
	return &Finding{Relation: r.name, Statements: c.ran, Detail: detail}
}

// ask runs a statement of the check.
func (c *Checker) ask(sql string) ([]string, error) {
	c.ran = append(c.ran, sql)
	return c.db.Query(c.ctx, sql)
}

// do runs statements whose rows do not matter.
func (c *Checker) do(list ...string) error {
	for _, sql := range list {
		if _, err := c.ask(sql); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a transaction, which ends with the check.
func (c *Checker) begin() error {
	c.block = true
	return c.do("BEGIN")
}

// end undoes what the check has done to the session and the database.
func (c *Checker) end() {
	if c.block {
		_, _ = c.db.Query(c.ctx, "ROLLBACK") // fails only if the connection is lost, which the next statement says
		c.block = false
	}
	_, _ = c.db.Query(c.ctx, "DEALLOCATE ALL")
	_, _ = c.db.Query(c.ctx, "RESET optimizer_rules_off")
}

// same returns how the rows of two queries differ as multisets, "" if they do not.
func (c *Checker) same(a, b string) (string, error) {
	left, err := c.ask(a)
	if err != nil {
		return "", err
	}
	right, err := c.ask(b)
	if err != nil {
		return "", err
	}
	return differ(left, right), nil
}

// differ returns how two multisets of rows differ.
func differ(a, b []string) string {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	if slices.Equal(a, b) {
		return ""
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	at := func(rows []string) string {
		if i < len(rows) {
			return rows[i]
		}
		return "no row"
	}
	return fmt.Sprintf("%d rows and %d rows, where one has %s the other has %s", len(a), len(b), at(a), at(b))
}
