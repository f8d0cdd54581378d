package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
)

// compiler turns one plan into operators and closures over one run.
type compiler struct {
	*operator.Compiler
	ctes    map[int]*cteState
	rows    map[int]*rowSubplan // by the subquery's ID
	profile *Profile            // of EXPLAIN ANALYZE, else nil
	stmt    *mutation.Statement
}

// newCompiler returns a compiler for one plan.
func newCompiler(r *operator.Run, p *Profile, st *mutation.Statement) *compiler {
	c := &compiler{ctes: map[int]*cteState{}, rows: map[int]*rowSubplan{}, profile: p, stmt: st}
	c.Compiler = operator.NewCompiler(r, c.compileNode, c.compileSubquery)
	c.Vectors, c.Actual = c.compileVectors, p.actual
	return c
}
