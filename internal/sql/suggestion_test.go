package sql_test

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Errors about names that there are not name those that may be meant.
func TestSuggestions(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "s")
	mustExec(t, s, "CREATE TABLE customers (customer_id INT PRIMARY KEY, email TEXT)")
	for text, want := range map[string]string{
		"SELECT * FROM customer":                    `Perhaps you meant the relation "customers".`,
		"ALTER TABLE custmers ADD COLUMN x INT":     `Perhaps you meant the relation "customers".`,
		"SELECT emial FROM customers":               `Perhaps you meant to reference the column "customers.email".`,
		"INSERT INTO customers (emial) VALUES ('')": `Perhaps you meant the column "email".`,
		"ALTER TABLE customers DROP COLUMN emial":   `Perhaps you meant the column "email".`,
		"SELECT lowerr('A')":                        `Perhaps you meant the function "lower".`,
		"SELECT * FROM generate_serie(1, 2)":        `Perhaps you meant the function "generate_series".`,
		"SELECT 1::integr":                          `Perhaps you meant the type "integer".`,
		"SET work_memm = 1":                         `Perhaps you meant the parameter "work_mem".`,
	} {
		if got := pgerr.From(exec1(s, text)).Hint; got != want {
			t.Errorf("%s: hint %q, want %q", text, got, want)
		}
	}
}

// A statement that reads the past says what time that is, and when a relation that is not
// there yet began.
func TestUndefinedInThePast(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "s")
	mustExec(t, s, "CREATE TABLE customers (customer_id INT PRIMARY KEY, email TEXT)")
	const then = "The statement reads the database as of 2020-01-01 00:00:00.000000+00"
	for text, want := range map[string]string{
		"SELECT * FROM customers AS OF SYSTEM TIME '2020-01-01'": then + "; the relation was created at 20",
		"SELECT * FROM customer AS OF SYSTEM TIME '2020-01-01'":  then + ".",
	} {
		if got := pgerr.From(exec1(s, text)).Detail; !strings.HasPrefix(got, want) {
			t.Errorf("%s: detail %q, want %q", text, got, want)
		}
	}
}

// The error of a SHOW that stands for a query points into the client's text.
func TestShowErrorPosition(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "s")
	for _, text := range []string{
		"SHOW COLUMNS FROM nosuch", "SHOW CREATE TABLE nosuch", "SHOW INDEX FROM nosuch", "SELECT * FROM [SHOW COLUMNS FROM nosuch]",
	} {
		if got, want := pgerr.From(exec1(s, text)).Position, strings.Index(text, "nosuch")+1; got != want {
			t.Errorf("%s: position %d, want %d", text, got, want)
		}
	}
}

// TestPositionOfTypeName: an error within the text of a type's name is where that text is.
func TestPositionOfTypeName(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := named(t, n, "s")
	for text, want := range map[string]int{
		"SELECT 1, 'nonesuch'::regtype":  11,
		"SELECT 'int4 foo bar'::regtype": 8,
		"SELECT ''::regtype":             8,
	} {
		if got := pgerr.From(exec1(s, text)).Position; got != want {
			t.Errorf("%s: position %d, want %d", text, got, want)
		}
	}
}
