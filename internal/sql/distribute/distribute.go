package distribute

import (
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/fragment"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Options are what a rewriting needs of the optimizer.
type Options struct {
	// Always distributes whatever can be, whether or not it spares bytes.
	Always bool
	// Rows estimates the rows of a table.
	Rows func(*catalog.Table) float64
	// NewColumn returns an identifier that no column has.
	NewColumn func() plan.ColID
	// ReadsEntirely reports whether n reads its input in to the end, if its own consumer does or does not; TakesAnyOrder whether it
	// takes the rows of in in any order, likewise.
	ReadsEntirely, TakesAnyOrder func(n, in plan.Node, consumer bool) bool
}

const (
	// leastCost is the least cost of a part that runs elsewhere, in the optimizer's units: about thirty thousand rows. A request to
	// each node takes as long as a few hundred.
	leastCost = 500
	// costRow is what reading a row and looking at its conditions costs, about.
	costRow = 0.024
	// leastSpared is by which factor the rows of a table, as they are stored, must be larger than what becomes of them.
	leastSpared = 2
	// pairBytes is what a stored row takes beside its columns.
	pairBytes = 24
	// partsOfGroups is how many parts of a table have the same groups, about.
	partsOfGroups = 4
)

// Plan returns an optimized plan with a Gather above each part that other nodes run. It changes the plan in place. entirely says
// that its consumer reads all of it, in any order. The plan neither writes nor locks.
func Plan(n plan.Node, entirely bool, o *Options) plan.Node {
	return o.distribute(n, entirely, entirely)
}

// distribute has other nodes run the parts of a statement's plan, or of a subquery's, that end in a Gather then. entirely
// says that the consumer of n reads all of it, anyOrder that it takes the rows in any order.
func (o *Options) distribute(n plan.Node, entirely, anyOrder bool) plan.Node {
	switch x := n.(type) {
	case *plan.GroupBy:
		if o.splitGroups(x) {
			return x
		}
	case *plan.Sort:
		if o.splitTopK(x) {
			return x
		}
	case *plan.Scan, *plan.Filter, *plan.Project:
		if entirely && anyOrder {
			if g := o.gather(n, n.Props().Rows); g != nil {
				return g
			}
		}
	}
	plan.EachInput(n, func(in *plan.Node) {
		*in = o.distribute(*in, o.ReadsEntirely(n, *in, entirely), o.takesParts(n, *in, anyOrder))
	})
	return n
}

// takesParts reports whether n takes the rows of its input in in any order. Other than TakesAnyOrder it counts on no order that
// the query does not ask for.
func (o *Options) takesParts(n, in plan.Node, anyOrder bool) bool {
	switch n := n.(type) {
	case *plan.Sort:
		return n.Presorted == 0
	case *plan.Distinct:
		return !n.Ordered && !n.On
	case *plan.SetOp:
		return anyOrder
	}
	return o.TakesAnyOrder(n, in, anyOrder)
}

// chain returns the scan at the end of a chain of operators that nodes can compute in parts; nil if n is none.
func chain(n plan.Node) *plan.Scan {
	for {
		switch x := n.(type) {
		case *plan.Scan:
			return x
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			n = x.Input
		default:
			return nil
		}
	}
}

// gather returns a Gather over n, of which rows come back; nil if n can't run elsewhere or is not worth it.
func (o *Options) gather(n plan.Node, rows float64) *plan.Gather {
	in := n
	if g, ok := n.(*plan.GroupBy); ok {
		in = g.Input
	} else if s, ok := n.(*plan.Sort); ok {
		in = s.Input
	}
	s := chain(in)
	if s == nil || s.Point || s.Ordered || !o.worthSending(s, rows, n.Props().Cols) || readsNothing(in) || !fragment.Fits(n) {
		return nil
	}
	s.Cuts = nil
	g := &plan.Gather{Input: n}
	p := n.Props()
	g.Cols, g.Rows, g.Startup, g.Total = p.Cols, rows, p.Startup, p.Total
	g.Vectorized = in == n && p.Vectorized
	return g
}

// readsNothing reports whether a condition of a chain reads no column, so that it decides for all rows at once.
func readsNothing(n plan.Node) bool {
	var cond plan.Expr
	switch x := n.(type) {
	case *plan.Scan:
		cond = x.Filter
	case *plan.Filter:
		cond = x.Cond
	}
	for _, c := range plan.Conjuncts(cond, nil) {
		reads := false
		if plan.Refs(c, func(plan.ColID) { reads = true }); !reads {
			return true
		}
	}
	for _, in := range plan.Children(n) {
		if readsNothing(in) {
			return true
		}
	}
	return false
}

// worthSending reports whether it spares bytes to send rows of some columns rather than the rows of a scan as they are stored.
func (o *Options) worthSending(s *plan.Scan, rows float64, cols []plan.Column) bool {
	if o.Always {
		return true
	}
	if s.Total < leastCost {
		return false
	}
	read := s.Rows
	if s.Spans == nil {
		read = max(read, o.Rows(s.Table))
	} else {
		read = max(read, s.Total/costRow) // decoding and the conditions take about as long
	}
	var stored []plan.Column
	for i := range s.Table.Columns {
		stored = append(stored, plan.Column{Type: s.Table.Columns[i].Type})
	}
	return rows*float64(plan.Width(cols))*leastSpared <= read*float64(plan.Width(stored)+pairBytes)
}

// splitGroups has nodes group their rows, and n put the groups together; false if that can't be done, or is not worth it.
func (o *Options) splitGroups(n *plan.GroupBy) bool {
	if n.Sets != nil || n.Groupings != nil || n.Ordered && !n.Scalar || chain(n.Input) == nil {
		return false
	}
	part := &plan.GroupBy{Input: n.Input, Keys: n.Keys, Scalar: n.Scalar, Phase: plan.PartialGroups}
	in := n.Input.Props()
	for _, k := range n.Keys {
		part.Cols = append(part.Cols, in.Cols[plan.FindCol(in.Cols, k)])
	}
	part.Startup, part.Total = n.Total, n.Total
	aggs := make([]plan.Agg, len(n.Aggs))
	for i := range n.Aggs {
		if !o.splitAggregate(&n.Aggs[i], &aggs[i], part) {
			return false
		}
	}
	rows := n.Rows
	if !n.Scalar {
		rows = min(partsOfGroups*rows, in.Rows)
	}
	part.Rows = rows
	g := o.gather(part, rows)
	if g == nil {
		return false
	}
	n.Input, n.Aggs, n.Phase = g, aggs, plan.FinalGroups
	return true
}

// mergesItself lists the aggregates that are computed of their own results for parts of the rows.
var mergesItself = map[string]bool{
	"min": true, "max": true, "bool_and": true, "bool_or": true, "every": true, "bit_and": true, "bit_or": true,
}

// splitAggregate adds to part what computes the state of an aggregate, and makes final what puts states together.
func (o *Options) splitAggregate(a, final *plan.Agg, part *plan.GroupBy) bool {
	if a.Distinct || len(a.OrderBy) > 0 || !a.Fn.Associative && a.Fn.Name != "count" {
		return false
	}
	*final = plan.Agg{Fn: a.Fn, Out: a.Out}
	var ts []*types.T
	for _, e := range a.Args {
		ts = append(ts, e.Type())
	}
	switch {
	case a.Fn.Name == "count":
		final.Of = append([]*types.T{}, ts...)
		final.Args = []plan.Expr{o.stateOf(part, a.Fn, a)}
		return len(a.Args) <= 1
	case a.Fn.Name == "sum" || a.Fn.Name == "avg":
		count, sum := overload("count", "count(any)"), partialSum(a)
		if count == nil || sum == nil {
			return false
		}
		final.Of = ts
		final.Args = []plan.Expr{o.stateOf(part, count, a), o.stateOf(part, sum, a)}
		return true
	case mergesItself[a.Fn.Name] && len(a.Args) == 1:
		c := ts[0].Collation()
		if c != nil && !c.Bytewise() { // equal strings may differ
			return false
		}
		final.Args = []plan.Expr{o.stateOf(part, a.Fn, a)}
		return true
	}
	return false
}

// partialSum returns the aggregate that computes the sum which PartialSums takes; nil if there is none.
func partialSum(a *plan.Agg) *call.Aggregate {
	if len(a.Args) != 1 {
		return nil
	}
	t := a.Args[0].Type()
	if _, ok := a.Fn.New([]*types.T{t}).(call.PartialSums); !ok {
		return nil
	}
	switch t.Family {
	case types.IntFamily:
		return overload("sum", "sum(int8)")
	case types.DecimalFamily:
		return overload("sum", "sum(numeric)")
	}
	return nil
}

func overload(name, key string) *call.Aggregate {
	for _, a := range builtin.Aggregates(name) {
		if a.Key() == key {
			return a
		}
	}
	return nil
}

// stateOf returns the column of part that has fn of the arguments of a, which it adds unless it is there.
func (o *Options) stateOf(part *plan.GroupBy, fn *call.Aggregate, a *plan.Agg) plan.Expr {
	for i := range part.Aggs {
		if sameState(&part.Aggs[i], fn, a) {
			return plan.Ref(part.Aggs[i].Out)
		}
	}
	t := fn.Ret
	if mergesItself[fn.Name] {
		t = a.Out.Type
	}
	out := plan.Column{ID: o.NewColumn(), Name: fn.Name, Type: t}
	part.Aggs = append(part.Aggs, plan.Agg{Fn: fn, Args: a.Args, Filter: a.Filter, Out: out})
	part.Cols = append(part.Cols, out)
	return plan.Ref(out)
}

func sameState(b *plan.Agg, fn *call.Aggregate, a *plan.Agg) bool {
	if b.Fn != fn || len(b.Args) != len(a.Args) || (b.Filter == nil) != (a.Filter == nil) || a.Filter != nil && !plan.ExprEqual(a.Filter, b.Filter) {
		return false
	}
	for i := range a.Args {
		if !plan.ExprEqual(a.Args[i], b.Args[i]) {
			return false
		}
	}
	return true
}

// splitTopK has nodes find the first rows of theirs, of which n finds the first.
func (o *Options) splitTopK(n *plan.Sort) bool {
	if n.Bound.Count == nil || n.Presorted > 0 || chain(n.Input) == nil {
		return false
	}
	part := &plan.Sort{Input: n.Input, Keys: n.Keys, Bound: n.Bound}
	in := n.Input.Props()
	part.Cols, part.Rows, part.Startup, part.Total = in.Cols, n.Rows, n.Startup, n.Total
	g := o.gather(part, min(partsOfGroups*n.Rows, in.Rows))
	if g == nil {
		return false
	}
	n.Input = g
	return true
}
