package optimizer

import "github.com/lichendb/lichen/internal/sql/plan"

// leastVectorized is the least cost of a part of a plan that is computed as columns: about a thousand
// rows.
const leastVectorized = 20

// markVectors marks the parts of a statement's plan, or of a subquery's, that are computed as columns.
// Plans of which no part is worth it are left alone.
func (o *optimizer) markVectors(n plan.Node, entirely bool) {
	worth := false
	plan.Walk(n, func(n plan.Node) bool {
		worth = worth || columnar(n) && o.worthVectors(n.Props())
		return !worth
	})
	if worth {
		o.vectorize(n, entirely)
		if o.on(RuleParallel) && !o.sequential {
			o.parallelize(n, false)
		}
	}
}

// vectorize marks the parts of a plan that are computed as columns rather than as rows: those that
// are worth it, are read to their end, and in which it does not matter in which sequence expressions
// are computed. entirely says that the consumer of n reads all of it.
func (o *optimizer) vectorize(n plan.Node, entirely bool) (pure bool) {
	pure = true
	switch n.(type) {
	case *plan.LockRows, *plan.Insert, *plan.Update, *plan.Delete, *plan.Merge, *plan.Instead:
		pure = false
	}
	plan.VisitExprs(n, func(e *plan.Expr) { pure = pure && !plan.Volatile(*e) })
	if s, ok := n.(*plan.Scan); ok && s.Locking != nil {
		s.FilterVectors = pure && !s.Virtual() && s.Tokens == nil && o.worthVectors(&s.Base)
	}
	for _, in := range plan.Children(n) {
		pure = o.vectorize(in, readsEntirely(n, in, entirely)) && pure
	}
	b := n.Props()
	b.Vectorized = entirely && pure && columnar(n) && o.worthVectors(b)
	return pure
}

// worthVectors reports whether the cost of a part of a plan, or the setting, asks for columns.
func (o *optimizer) worthVectors(b *plan.Base) bool {
	switch o.opts.Vectorize {
	case VectorizeAlways:
		return true
	case VectorizeNever:
		return false
	}
	return b.Total >= leastVectorized
}

// columnar reports whether there are operators over columns for a kind of node.
func columnar(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return !n.Virtual()
	case *plan.IndexJoin:
		return n.Locking == nil && n.Bound.Count == nil
	case *plan.Filter, *plan.Project:
		return true
	case *plan.Join:
		return n.Algo == plan.HashJoin || n.Batches()
	}
	return false
}

// readsEntirely reports whether n reads its input in to the end, if its own consumer does or does not.
func readsEntirely(n, in plan.Node, entirely bool) bool {
	switch n := n.(type) {
	case *plan.GroupBy:
		return entirely || !n.Ordered
	case *plan.Sort, *plan.Window:
		return true
	case *plan.Limit, *plan.LockRows, *plan.With, *plan.Update, *plan.Delete, *plan.Merge, *plan.IndexJoin:
		return false
	case *plan.Join:
		switch n.Algo {
		case plan.HashJoin, plan.LoopJoin:
			return entirely || in == n.Right
		}
		return entirely && in == n.Left // the right side of a merge may end before, that of a lookup is read anew
	}
	return entirely
}
