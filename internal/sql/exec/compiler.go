package exec

import "github.com/lichendb/lichen/internal/sql/exec/expr"

// compiler turns one plan into operators and closures over one run.
type compiler struct {
	expr.Compiler
	run     *run
	ctes    map[int]*cteState
	demand  *demand  // of the innermost consumer that may stop; nil: there is none
	profile *Profile // of EXPLAIN ANALYZE, else nil
}

// newCompiler returns a compiler for one plan.
func newCompiler(r *run, p *Profile) *compiler {
	c := &compiler{run: r, ctes: map[int]*cteState{}, profile: p}
	c.Compiler = expr.NewCompiler(&r.State, c.compileSubquery)
	return c
}
