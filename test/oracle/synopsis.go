package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
)

// perSynopsis is how many statements are generated from each synopsis.
const perSynopsis = 40

// synopses generates statements from the synopses that psql prints, so that the
// corpus holds every statement PostgreSQL has. A synopsis is read loosely, and so
// not all of the statements are valid.
func synopses(server string, seed uint64) ([]string, error) {
	out, err := exec.Command("psql", server, "-X", "-P", "pager=off", "-c", `\h *`).Output()
	if err != nil {
		return nil, fmt.Errorf("psql: %w", err)
	}
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1))}
	var list []string
	for _, command := range regexp.MustCompile(`(?m)^Command: `).Split(string(out), -1) {
		_, syntax, ok := strings.Cut(command, "Syntax:\n")
		if !ok {
			continue
		}
		syntax, _, _ = strings.Cut(syntax, "\n\nURL:")
		list = append(list, g.statements(syntax)...)
	}
	return list, nil
}

// generator turns a synopsis into statements.
type generator struct {
	rng   *rand.Rand
	parts map[string][]string // "where x is:" definitions
	depth int
}

var whereClause = regexp.MustCompile(`(?m)^(?:where |and )[^\n]*(?:is|are)[^\n]*:$`)

// statements generates from one command: its first part holds the statements, one
// per paragraph or line that begins in upper case, the others define words.
func (g *generator) statements(syntax string) []string {
	sections := whereClause.Split(syntax, -1)
	heads := whereClause.FindAllString(syntax, -1)
	g.parts = map[string][]string{}
	for i, h := range heads {
		for _, w := range regexp.MustCompile(`[a-z_]+`).FindAllString(h, -1) {
			g.parts[w] = synopsisTokens(sections[i+1])
		}
	}
	var list []string
	var forms []string
	for _, l := range strings.Split(sections[0], "\n") {
		if l == "" {
			continue
		}
		if l[0] == ' ' && len(forms) > 0 {
			forms[len(forms)-1] += "\n" + l
		} else {
			forms = append(forms, l)
		}
	}
	for _, f := range forms {
		t := synopsisTokens(f)
		for range perSynopsis {
			g.depth = 0
			list = append(list, strings.Join(g.sequence(t), " "))
		}
	}
	return list
}

func synopsisTokens(s string) []string {
	return regexp.MustCompile(`'[^']*'|[A-Za-z_][A-Za-z_0-9]*|\.\.\.|[^\sA-Za-z_]`).FindAllString(s, -1)
}

// sequence generates from a list of items up to an alternative's end.
func (g *generator) sequence(t []string) []string {
	var out []string
	for len(t) > 0 {
		item, rest := cutItem(t)
		var more []string
		switch item[0] {
		case "[":
			if g.rng.IntN(2) == 0 {
				more = g.choice(item[1 : len(item)-1])
			}
		case "{":
			more = g.choice(item[1 : len(item)-1])
		case "...":
		default:
			more = g.word(item[0])
		}
		out = append(out, more...)
		t = rest
	}
	return out
}

// choice generates one of the alternatives that | separates.
func (g *generator) choice(t []string) []string {
	var alternatives [][]string
	start, depth := 0, 0
	for i, w := range t {
		switch w {
		case "[", "{":
			depth++
		case "]", "}":
			depth--
		case "|":
			if depth == 0 {
				alternatives = append(alternatives, t[start:i])
				start = i + 1
			}
		}
	}
	alternatives = append(alternatives, t[start:])
	return g.sequence(alternatives[g.rng.IntN(len(alternatives))])
}

// cutItem takes a word or a bracketed group off the front.
func cutItem(t []string) (item, rest []string) {
	if t[0] != "[" && t[0] != "{" {
		return t[:1], t[1:]
	}
	depth := 0
	for i, w := range t {
		switch w {
		case "[", "{":
			depth++
		case "]", "}":
			if depth--; depth == 0 {
				return t[:i+1], t[i+1:]
			}
		}
	}
	return []string{"..."}, nil
}

// word generates a keyword as it is, and something for a placeholder.
func (g *generator) word(w string) []string {
	if def, ok := g.parts[w]; ok && g.depth < 3 {
		g.depth++
		defer func() { g.depth-- }()
		return g.choice(def)
	}
	if w[0] < 'a' || w[0] > 'z' {
		return []string{w}
	}
	is := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(w, p) {
				return true
			}
		}
		return false
	}
	pick := func(list ...string) []string { return []string{list[g.rng.IntN(len(list))]} }
	switch {
	case is("type") && !is("type_name"):
		return pick("int", "text", "numeric(10,2)", "s.t", "double precision", "int[]", "timestamp with time zone")
	case is("query", "select", "statement"):
		return pick("SELECT 1", "VALUES (1, 2)", "SELECT a FROM t WHERE b > 1")
	case is("expression", "condition", "predicate", "default", "expr"):
		return pick("1", "a + 1", "f(a)", "a > 0 AND b", "'x'", "NULL", "(a)")
	case is("operator"):
		return pick("+", "=", "<", "@>", "||")
	case is("literal", "string", "text", "label", "definition", "file", "password", "timestamp", "uid", "comment", "conninfo"):
		return pick("'x'", "'2020-01-01'", "'a b'")
	case is("number", "integer", "count", "value", "limit", "seed", "minvalue", "maxvalue", "increment", "start", "cache", "rows", "cost", "precision", "oid"):
		return pick("1", "10", "-1", "'x'", "on", "1.5")
	}
	return pick("a", "b", "t", "s.t", "\"Q\"", "x")
}
