package parser

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// clearPositions sets every Loc below v to zero, so that trees from different
// texts can be compared.
func clearPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			clearPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clearPositions(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[ast.Loc]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			clearPositions(v.Field(i))
		}
	}
}

// hasUnsupported reports whether a tree holds a statement that has no text.
func hasUnsupported(n ast.Node) bool {
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.Unsupported); ok {
			found = true
		}
		return !found
	})
	return found
}

// checkRoundTrip checks that printing a statement and parsing the text gives
// the same tree. It spoils the tree's positions.
func checkRoundTrip(t testing.TB, s Statement) {
	t.Helper()
	if hasUnsupported(s.AST) {
		return
	}
	text := ast.Format(s.AST)
	again, err := ParseOne(text)
	if err != nil {
		t.Errorf("does not parse again: %v\n from %s\n text %s", err, s.SQL, text)
		return
	}
	clearPositions(reflect.ValueOf(&s.AST))
	clearPositions(reflect.ValueOf(&again.AST))
	if !reflect.DeepEqual(s.AST, again.AST) {
		t.Errorf("another tree\n from %s\n text %s\n then %s", s.SQL, text, ast.Format(again.AST))
		return
	}
	if s.NumParams != again.NumParams {
		t.Errorf("%d parameters became %d: %s", s.NumParams, again.NumParams, text)
	}
}

// corpus returns the lines of the files that list statements.
func corpus(t testing.TB) []string {
	t.Helper()
	var lines []string
	for _, name := range []string{"testdata/statements.sql", "testdata/dialect.sql"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	return lines
}

// TestFormatRoundTrip prints and parses again every statement of the corpus.
func TestFormatRoundTrip(t *testing.T) {
	for _, line := range corpus(t) {
		stmts, err := Parse(line)
		if err != nil {
			t.Errorf("%v at %d: %s", err, pgerr.From(err).Position, line)
			continue
		}
		for _, s := range stmts {
			checkRoundTrip(t, s)
		}
	}
}

// A parameter whose name is a word for a list of the dialects stays one when it is printed.
func TestShowOfParameterNamedAsList(t *testing.T) {
	words := []string{"create", "ranges", "range", "survival", "grants", "statistics", "cluster", "zone", "all", "savepoint", "trace", "syntax", "backup"}
	for word := range plainLists {
		words = append(words, word)
	}
	for word := range tableLists {
		words = append(words, word)
	}
	for _, word := range words {
		s, err := ParseOne(`SHOW "` + word + `"`)
		if err != nil {
			t.Fatal(word, err)
		}
		if _, ok := s.AST.(*ast.Show); !ok {
			t.Fatalf("%s: %T", word, s.AST)
		}
		checkRoundTrip(t, s)
	}
}
