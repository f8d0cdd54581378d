package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readCorpus collects the statements under Lichen's root: those of the logic
// tests, of the parser's tests, and what its fuzzer found.
func readCorpus(root string) ([]string, error) {
	var list []string
	for _, source := range []struct {
		pattern string
		read    func(text string) []string
	}{
		{"internal/sql/testdata/logic/*/*.slt", logicStatements},
		{"internal/sql/parser/testdata/*.sql", lines},
		{"internal/sql/parser/testdata/fuzz/*/*", fuzzInputs},
		{"test/oracle/testdata/*.sql", lines},
	} {
		files, err := filepath.Glob(filepath.Join(root, source.pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			list = append(list, source.read(string(text))...)
		}
	}
	return distinct(list), nil
}

// lines are the lines of a text that are neither empty nor comments.
func lines(text string) []string {
	var list []string
	for _, l := range strings.Split(text, "\n") {
		if l != "" && !strings.HasPrefix(l, "#") {
			list = append(list, l)
		}
	}
	return list
}

// logicStatements takes the statements out of a logic test: what follows a line
// "statement ..." or "query ...", to an empty line or "----".
func logicStatements(text string) []string {
	var list []string
	var stmt []string
	inside := false
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	flush := func() {
		if len(stmt) > 0 {
			list = append(list, strings.Join(stmt, "\n"))
		}
		stmt, inside = nil, false
	}
	for sc.Scan() {
		l := sc.Text()
		switch {
		case l == "" || l == "----":
			flush()
		case inside:
			stmt = append(stmt, l)
		case strings.HasPrefix(l, "statement ") || strings.HasPrefix(l, "query"):
			inside = true
		}
	}
	flush()
	return list
}

// fuzzInputs reads the one string of a Go fuzzing corpus file.
func fuzzInputs(text string) []string {
	for _, l := range strings.Split(text, "\n") {
		quoted, ok := strings.CutPrefix(l, "string(")
		if !ok {
			continue
		}
		if s, err := strconv.Unquote(strings.TrimSuffix(quoted, ")")); err == nil && utf8.ValidString(s) && !strings.Contains(s, "\x00") {
			return []string{s}
		}
	}
	return nil
}

// distinct drops repetitions.
func distinct(list []string) []string {
	seen := map[string]bool{}
	out := list[:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
