package generate

import "fmt"

// Generator draws SQL over a schema from one source, so that a seed gives the same SQL
// everywhere.
type Generator struct {
	Rand
	Schema   *Schema
	Coverage *Coverage

	expressions []expressionProduction
	relations   []relationProduction
	queries     []queryProduction
	statements  []statementProduction

	names int
	above []string // the productions that are being written, the innermost last
}

// New returns a generator with a schema of its own.
func New(seed uint64) *Generator {
	g := &Generator{
		Rand: NewRand(seed), Coverage: NewCoverage(),
		expressions: expressions(), relations: relations(), queries: queries(), statements: statements(),
	}
	g.Schema = newSchema(g)
	return g
}

// name is a name that nothing else in the run has.
func (g *Generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// in writes a production: what it draws counts as nested in it. An empty text, for a production
// that does not fit, leaves no trace.
func (g *Generator) in(p string, write func() string) string {
	parent := ""
	if n := len(g.above); n > 0 {
		parent = g.above[n-1]
	}
	g.above = append(g.above, p)
	text := write()
	g.above = g.above[:len(g.above)-1]
	if text != "" {
		g.Coverage.add(parent, p)
	}
	return text
}

// seldom is which of two productions has been nested less often in the one that is being
// written. Drawing two and taking this one makes rare nestings come up.
func (g *Generator) seldom(a, b string) bool {
	if len(g.above) == 0 {
		return true
	}
	parent := g.above[len(g.above)-1]
	return g.Coverage.pairs[[2]string{parent, a}] <= g.Coverage.pairs[[2]string{parent, b}]
}
