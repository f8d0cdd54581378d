package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/generate"
	"github.com/lichendb/lichen/internal/sql/parser"
)

// grammar counts the productions of the parser's grammar that statements have, by what their trees
// are made of: a type of node, a field of one that is set, and which of its few values it has.
type grammar map[string]int

// statement counts the productions of the statements in a text. One that does not parse counts for nothing.
func (g grammar) statement(sql string) {
	list, err := parser.Parse(sql)
	if err != nil {
		return
	}
	for _, st := range list {
		g.value("", reflect.ValueOf(st.AST))
	}
}

// value counts what a part of a tree holds; name is the field that it stands in.
func (g grammar) value(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			g.value(name, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.value(name, v.Index(i))
		}
	case reflect.Struct:
		g.node(v)
	case reflect.Uint8: // one of the grammar's choices
		g[fmt.Sprintf("%s=%v", name, v)]++
	case reflect.String:
		if strings.HasSuffix(name, ".Op") {
			g[name+" "+v.String()]++
		}
	}
}

func (g grammar) node(v reflect.Value) {
	t := v.Type()
	if t == reflect.TypeFor[ast.Loc]() {
		return
	}
	g[t.Name()]++
	for i := range t.NumField() {
		f := v.Field(i)
		if !t.Field(i).IsExported() || f.IsZero() {
			continue
		}
		name := t.Name() + "." + t.Field(i).Name
		g[name]++
		g.value(name, f)
	}
}

// script counts the statements of a logic test.
func (g grammar) script(text string) {
	for _, record := range strings.Split(text, "\n\n") {
		head, body, _ := strings.Cut(strings.TrimLeft(record, "\n"), "\n")
		if strings.HasPrefix(head, "statement") || strings.HasPrefix(head, "query") {
			sql, _, _ := strings.Cut(body+"\n", "----\n")
			g.statement(sql)
		}
	}
}

// reportGrammar tells which productions the logic tests have that n generated statements do not; it
// returns the program's exit code.
func reportGrammar(scripts string, n int, seed uint64) int {
	files, err := filepath.Glob(filepath.Join(scripts, "*"))
	if err != nil || len(files) == 0 {
		fmt.Fprintln(os.Stderr, "differential: no logic tests in", scripts)
		return 2
	}
	known, generated := grammar{}, grammar{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			fmt.Fprintln(os.Stderr, "differential:", err)
			return 2
		}
		known.script(string(text))
	}
	for left := n; left > 0; seed++ {
		g := generate.New(seed)
		for _, sql := range g.Schema.Setup {
			generated.statement(sql)
		}
		for i := 0; i < perRound && left > 0; left-- {
			for _, st := range g.Case().Steps {
				generated.statement(st.SQL)
				i++
			}
		}
	}
	never := 0
	for _, p := range slices.Sorted(maps.Keys(known)) {
		if generated[p] == 0 {
			never++
			fmt.Printf("%5d  %s\n", known[p], p)
		}
	}
	fmt.Printf("%d of %d productions of the logic tests were generated\n", len(known)-never, len(known))
	return 0
}
