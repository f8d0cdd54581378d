package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/distribute"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxNested bounds how deep plans of subqueries are optimized within each
// other; deeper ones are executed as they come from the planner.
const maxNested = 200

// maxFolded bounds how deep operators are folded, those of subqueries included.
const maxFolded = 2000

// Vectorization says where operators over columns take the place of those over rows.
type Vectorization uint8

// The values of Vectorization.
const (
	VectorizeByCost Vectorization = iota // where many rows are read
	VectorizeAlways                      // wherever there is such an operator
	VectorizeNever
)

// Distribution says where parts of plans run on the nodes that have their rows.
type Distribution uint8

// The values of Distribution.
const (
	DistributeNever  Distribution = iota
	DistributeByCost              // where it spares bytes between nodes
	DistributeAlways              // wherever it can be done
)

// Options control an optimization. The zero value is the default.
type Options struct {
	// Disabled names rules that are skipped.
	Disabled map[string]bool
	// Vectorize says which queries read columns instead of rows.
	Vectorize Vectorization
	// Distribute says which parts of plans run where their rows are. No plan that writes or locks has any.
	Distribute Distribution
	// Stats provides table statistics; nil means defaults for every table.
	Stats StatsSource
	// Params are the parameters of the execution that a plan is first made for, nil if
	// they are not known, and Context what its functions are called in. Costs are
	// estimated by them; the plan is right for any others.
	Params  []types.Datum
	Context *call.Context
	// Check, if not nil, is called every so often; its error ends the optimization.
	Check func() error
	// Fixed makes a plan for these parameters only, with their values as constants.
	Fixed bool
	// Constant computes an expression of constants that is no call; nil leaves them as they are.
	Constant func(plan.Expr) (types.Datum, error)
}

// Optimize rewrites p.Root. p must come from the planner and not have been
// shared yet. The only errors are those of opts.Check, after which p is of no use.
func Optimize(p *plan.Prepared, opts *Options) (err error) {
	if opts == nil {
		opts = &Options{}
	}
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			err = s.err
		}
	}()
	optimize(p, opts)
	return nil
}

func optimize(p *plan.Prepared, opts *Options) {
	o := &optimizer{opts: opts, rules: rules, nextCol: p.NextCol, values: valueSource{params: opts.Params, ctx: opts.Context}}
	switch root := p.Root.(type) {
	case *plan.DDL:
		if root.Query != nil {
			root.Query.NextCol = p.NextCol
			optimize(root.Query, opts)
			p.NextCol = root.Query.NextCol
		}
		return
	case *plan.Utility:
		return
	}
	o.sequential = p.CallsRoutines
	o.local = p.CallsRoutines || p.Modifies || p.RowTable != nil // a cursor that UPDATE may refer to needs the rows as they lie
	wanted := p.Columns
	if p.Procedure != nil { // the arguments
		wanted = p.Root.Props().Cols
	}
	p.Root = o.apply(statementScope, query{root: p.Root, stmt: p})
	p.Root = o.root(p.Root, plan.IDs(wanted))
	p.NextCol, p.Guessed, p.Weighed = o.nextCol, o.values.missed, o.values.used
	if o.failed != nil {
		p.Failed = o.failed
	}
}

// optimizer is the state of one optimization.
type optimizer struct {
	opts *Options
	// sequential says that no worker may read for the plan: functions of users run statements in
	// its transaction.
	sequential bool
	// local says that nothing runs on other nodes, which do not see what the statement writes.
	local   bool
	rules   []rule // all of them
	nextCol plan.ColID
	depth   int
	steps   int
	values  valueSource
	// outputs says how many of a scan's leading columns are needed above it;
	// the others serve its filter only.
	outputs []scanOutputs
	// ctes holds estimates of materialised CTEs by identifier.
	ctes map[int]float64
	// done are the optimized plans of subqueries.
	done   []plan.Node
	folder folder
	// folded are the plans of subqueries that are folded, if there are any.
	folded map[plan.Node]bool
	// unfit says that a constant could not be computed, empties that there may be parts without rows.
	unfit, empties bool
	// emptyWiths says that there are WITH clauses whose expressions are all inlined.
	emptyWiths bool
	// failed is what the statement fails with for a constant.
	failed *pgerr.Error
	// aliases maps the columns of scans of inlined CTEs to what they read.
	aliases map[plan.ColID]plan.ColID
}

// checkEvery is how many steps lie between two calls of Options.Check.
const checkEvery = 1024

// stopped unwinds an optimization that Options.Check ends.
type stopped struct{ err error }

// step counts an operator or an expression that is looked at.
func (o *optimizer) step() {
	if o.steps++; o.steps%checkEvery == 0 {
		o.check()
	}
}

// check unwinds the optimization if it is to end.
func (o *optimizer) check() {
	if o.opts.Check == nil {
		return
	}
	if err := o.opts.Check(); err != nil {
		panic(stopped{err})
	}
}

type scanOutputs struct {
	scan *plan.Scan
	n    int
}

func (o *optimizer) newCol() plan.ColID {
	id := o.nextCol
	o.nextCol++
	return id
}

// root optimizes a statement; out are the columns it sends.
func (o *optimizer) root(n plan.Node, out []plan.ColID) plan.Node {
	switch n := n.(type) {
	case *plan.Explain:
		n.Input = o.root(n.Input, outputOf(n.Input))
		return n
	case *plan.Copy:
		ids := plan.IDs(n.Columns)
		if n.From {
			ids = nil
		}
		n.Input = o.root(n.Input, ids)
		return n
	case *plan.DDL, *plan.Utility:
		return n
	}
	n = o.query(o.apply(rootScope, query{root: n, out: out}), out, false)
	o.markVectors(n, true)
	return o.distributed(n, true)
}

// distributed is n, an optimized plan, with the parts that other nodes run. entirely says that its consumer reads all of it, in any
// order.
func (o *optimizer) distributed(n plan.Node, entirely bool) plan.Node {
	if o.local || o.opts.Distribute == DistributeNever || !o.on(RuleDistribute) {
		return n
	}
	return distribute.Plan(n, entirely, &distribute.Options{
		Always: o.opts.Distribute == DistributeAlways, Rows: func(t *catalog.Table) float64 { return o.stats(t).Rows }, NewColumn: o.newCol,
		ReadsEntirely: readsEntirely, TakesAnyOrder: takesAnyOrder,
	})
}

// outputOf returns the columns of a statement whose consumer is not known.
func outputOf(n plan.Node) []plan.ColID { return plan.IDs(n.Props().Cols) }

// query optimizes a plan whose consumer needs the columns out; exact asks for
// exactly these columns, in order.
func (o *optimizer) query(n plan.Node, out []plan.ColID, exact bool) plan.Node {
	o.depth++
	defer func() { o.depth-- }()
	if o.depth > maxNested {
		return n
	}
	want := n.Props().Cols
	n = o.apply(queryScope, query{root: n, out: out})
	if exact {
		n = exactColumns(n, want)
	}
	return n
}

// subplans optimizes the plans of the subqueries in n's expressions, and returns n.
func (o *optimizer) subplans(n plan.Node) plan.Node {
	plan.Walk(n, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) {
			if !hasSubquery(*e) {
				return
			}
			plan.WalkExpr(*e, func(x plan.Expr) bool {
				if s, ok := x.(*plan.Subquery); ok {
					o.subquery(s)
				}
				return true
			})
		})
		return true
	})
	return n
}

// subquery optimizes the plan of a subquery, once: several expressions may share
// it, as SET (a, b) = (SELECT ...) does.
func (o *optimizer) subquery(s *plan.Subquery) {
	for _, p := range o.done {
		if p == s.Plan {
			return
		}
	}
	s.Plan = o.query(s.Plan, plan.IDs(s.Plan.Props().Cols), s.Kind != plan.ExistsSubquery)
	o.markVectors(s.Plan, false)
	o.done = append(o.done, s.Plan)
	s.Plan = o.distributed(s.Plan, false)
	o.done = append(o.done, s.Plan)
}

// exactColumns makes n produce exactly cols.
func exactColumns(n plan.Node, cols []plan.Column) plan.Node {
	have := n.Props().Cols
	same := len(have) == len(cols)
	for i := 0; same && i < len(cols); i++ {
		same = have[i].ID == cols[i].ID
	}
	if same {
		return n
	}
	p := &plan.Project{Input: n}
	p.Cols = cols
	for _, c := range cols {
		p.Exprs = append(p.Exprs, plan.Ref(c))
	}
	in := n.Props()
	p.Order, p.Rows, p.Startup, p.Total = in.Order, in.Rows, in.Startup, in.Total
	return p
}

// hasSubquery reports whether e contains a subquery.
func hasSubquery(e plan.Expr) (found bool) {
	plan.WalkExpr(e, func(x plan.Expr) bool {
		if _, ok := x.(*plan.Subquery); ok {
			found = true
		}
		return !found
	})
	return found
}

// eachChild replaces every input of n by f of it.
func eachChild(n plan.Node, f func(plan.Node) plan.Node) {
	plan.EachInput(n, func(in *plan.Node) { *in = f(*in) })
}
