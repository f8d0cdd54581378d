package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of planning.
const (
	// maxQueryDepth bounds the nesting of queries, views included.
	maxQueryDepth = 200
	// maxTargets is the most columns a query may return.
	maxTargets = 1664
)

// builder plans one statement.
type builder struct {
	ctx       context.Context
	env       *Env
	nextCol   plan.ColID
	params    []*types.T // nil where not known yet
	deps      []plan.Dep
	used      []*use
	as        privilege.Role // see access.Use.As
	policyOf  []catalog.ID   // the tables whose policies are being planned
	depth     int            // of queries
	steps     int            // expressions
	nextCTE   int
	nextSub   int
	nextLevel int
	modifies  bool
	qualify   bool // see planAs
	// callsRoutines says that functions of users are called, callsVolatile one that may write.
	callsRoutines, callsVolatile bool
	procedure                    *call.Overload // of CALL
	uncacheable                  bool
	byValues                     bool // see plan.Prepared.ByValues
	// untyped are uses of parameters that take the type other uses determine.
	untyped  []*plan.Param
	cascades map[cascadeKey]*plan.Cascade
	// records holds the fields of columns of type record, where known.
	records map[plan.ColID][]field
	consts  []plan.Const // block that constants are taken from
	// rowSets are the functions that return sets in the VALUES of an INSERT: its
	// only row, of which they make several.
	rowSets []plan.SetFunc
	// outward remembers the enclosing query that an aggregate or GROUPING belongs
	// to, nil for none.
	outward map[ast.Node]*selectState
	// text is what is planned, the statement or the definition of a view; rowNames are the
	// names in it that may mean a whole row, once somebody asked.
	text     ast.Node
	rowNames map[ast.Name]bool
	view     *catalog.View // whose query text is
	refusal  error         // see refuse
	failed   *pgerr.Error  // see fails
	// explicitCollations says that there was a COLLATE clause: others may conflict.
	explicitCollations bool
	// explicit are the collations that COLLATE clauses among the arguments of aggregates give to these.
	explicit map[*plan.Agg]collation
}

// maxConsts is how many constants are allocated at a time, at most.
const maxConsts = 128

// constant returns a constant from a block, which grows with their number.
func (b *builder) constant(t *types.T, d types.Datum) *plan.Const {
	n := len(b.consts)
	if n == cap(b.consts) {
		b.consts, n = make([]plan.Const, 0, min(max(1, 2*n), maxConsts)), 0
	}
	b.consts = append(b.consts, plan.Const{T: t, D: d})
	return &b.consts[n]
}

// field is a field of a record.
type field struct {
	name string
	typ  *types.T
}

func (b *builder) newCol() plan.ColID {
	b.nextCol++
	return b.nextCol
}

// refuse takes down what PostgreSQL refuses once it has analysed the whole statement, in its
// rewriter: errors of the analysis come first.
func (b *builder) refuse(err error) {
	if b.refusal == nil {
		b.refusal = err
	}
}

// fails notes what executions of the statement fail with, unless computing its constants does:
// PostgreSQL finds it when it plans.
func (b *builder) fails(err *pgerr.Error) {
	if b.failed == nil {
		b.failed = err
	}
}

// noteTable records that the plan depends on t.
func (b *builder) noteTable(t *catalog.Table) {
	for i := range b.deps {
		if b.deps[i].ID == t.ID {
			return
		}
	}
	b.deps = append(b.deps, plan.Dep{ID: t.ID, Version: t.Version})
}

// enterQuery counts a level of query nesting; the caller defers leaveQuery.
func (b *builder) enterQuery() error {
	b.depth++
	if b.depth > maxQueryDepth {
		return pgerr.New(pgerr.StatementTooComplex, "queries are nested more than %d levels deep", maxQueryDepth)
	}
	return nil
}

func (b *builder) leaveQuery() { b.depth-- }

// param returns $n (n from 1) with the type known so far, types.Unknown if none.
func (b *builder) param(n, pos int) (plan.Expr, error) {
	if n < 1 || n > parser.MaxParam || b.env.FixedParams && n > len(b.env.ParamTypes) {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", n).At(pos)
	}
	for len(b.params) < n {
		b.params = append(b.params, nil)
	}
	t := b.params[n-1]
	if t == nil || t.Oid == types.Unknown.Oid {
		t = types.Unknown
	}
	return &plan.Param{Index: n - 1, T: t}, nil
}

// setParam infers the type of a parameter from where it is used.
func (b *builder) setParam(p *plan.Param, t *types.T, pos int) (plan.Expr, error) {
	t = t.WithTypmod(-1)
	known := b.params[p.Index]
	if known == nil || known.Oid == types.Unknown.Oid {
		b.params[p.Index] = t
		return &plan.Param{Index: p.Index, T: t}, nil
	}
	if !known.Is(t) {
		return nil, pgerr.New(pgerr.AmbiguousParameter, "inconsistent types deduced for parameter $%d", p.Index+1).
			WithDetail("%s versus %s", known.SQLName, t.SQLName).At(pos)
	}
	return &plan.Param{Index: p.Index, T: known}, nil
}

// finishParams returns the types of all parameters.
func (b *builder) finishParams() ([]*types.T, error) {
	for i, t := range b.params {
		if t == nil || t.Oid == types.Unknown.Oid {
			return nil, pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	for _, p := range b.untyped {
		p.T = b.params[p.Index]
	}
	return b.params, nil
}

func isUnknown(t *types.T) bool { return t.Oid == types.Unknown.Oid }
