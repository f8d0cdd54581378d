package optimizer

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// or analyses a disjunction whose arms all constrain one column, such as
// a BETWEEN 1 AND 2 OR a = 7 OR a > 100 AND b = 3.
func (l *atomList) or(n *plan.Scan, conj int, c *plan.Or) {
	if a := tuple(n, conj, c); a != nil {
		l.add(*a)
		return
	}
	arms := make([]atomList, len(c.Args))
	for i, arm := range c.Args {
		arms[i].conjs = plan.Conjuncts(arm, nil)
		for k, x := range arms[i].conjs {
			arms[i].analyse(n, k, x)
		}
	}
	var tried []int
	for i := range arms[0].atoms {
		if ord := arms[0].atoms[i].ord; !slices.Contains(tried, ord) {
			tried = append(tried, ord)
			l.armsOn(ord, conj, arms)
		}
	}
}

// armsOn adds what the arms of a disjunction say of one column, if each says something. The
// condition is checked again if one says something else as well.
func (l *atomList) armsOn(ord, conj int, arms []atomList) {
	a := atom{kind: atomOr, ord: ord, conj: conj, exact: true}
	for i := range arms {
		var of []atom
		for _, x := range arms[i].atoms {
			if x.ord == ord {
				of = append(of, x)
				a.exact = a.exact && x.exact
			}
		}
		span, ok := armSpan(of)
		if !ok {
			return
		}
		a.exact = a.exact && len(of) == len(arms[i].conjs)
		a.arms = append(a.arms, span)
	}
	l.add(a)
}

// tuple analyses a disjunction each of whose arms gives the same columns a value, such as
// (a, b) IN ((1, 2), (3, 4)); nil if it is none.
func tuple(n *plan.Scan, conj int, c *plan.Or) *atom {
	a := &atom{kind: atomTuple, ord: -1, conj: conj, exact: true}
	for _, arm := range c.Args {
		sub := atomList{conjs: plan.Conjuncts(arm, nil)}
		for k, x := range sub.conjs {
			sub.analyse(n, k, x)
		}
		if slices.ContainsFunc(sub.conjs, neverTrue) {
			continue // (1, NULL)
		}
		a.exact = a.exact && len(sub.atoms) == len(sub.conjs)
		if len(a.arms) == 0 {
			for k := range sub.atoms {
				a.ords = append(a.ords, sub.atoms[k].ord)
			}
		}
		span := plan.Span{}
		for _, ord := range a.ords {
			k := sub.single(ord)
			if k < 0 || sub.atoms[k].kind != atomEq {
				return nil
			}
			span.Eq = append(span.Eq, plan.KeyMatch{Values: []plan.Expr{sub.atoms[k].value}})
		}
		if len(sub.atoms) != len(a.ords) || len(a.ords) < 2 {
			return nil
		}
		a.arms = append(a.arms, span)
	}
	if len(a.arms) == 0 {
		return nil
	}
	return a
}

// neverTrue reports whether a condition is the constant NULL or false.
func neverTrue(e plan.Expr) bool {
	d, ok := constOf(e)
	return ok && (d.IsNull() || !d.Bool())
}

// tuples uses a disjunction over the key columns after the equality prefix, each of which
// has a value in each arm.
func (c *constrained) tuples(l *atomList, t *catalog.Table, st *TableStats) {
	for i := range l.atoms {
		a := &l.atoms[i]
		if a.kind != atomTuple || c.keys*float64(len(a.arms)) > maxKeys {
			continue
		}
		var at []int // which value of an arm each key column takes
		for _, col := range c.key[c.eqCols:] {
			k := slices.Index(a.ords, t.ColumnByID(col.Column))
			if k < 0 {
				break
			}
			at = append(at, k)
		}
		if len(at) == 0 {
			continue
		}
		sel := 0.0
		for _, arm := range a.arms {
			span, s := plan.Span{}, 1.0
			for _, k := range at {
				span.Eq = append(span.Eq, arm.Eq[k])
				s *= st.equal(t, a.ords[k], arm.Eq[k].Values[0])
			}
			c.arms = append(c.arms, span)
			sel += s
		}
		c.armCols = len(at)
		c.sel *= min(1, sel)
		c.keys *= float64(len(a.arms))
		if len(at) == len(a.ords) {
			c.use(l, a)
		}
		return
	}
}

// armSpan turns the conditions of one arm into a span over the column alone.
func armSpan(atoms []atom) (plan.Span, bool) {
	var s plan.Span
	for i := range atoms {
		a := &atoms[i]
		switch a.kind {
		case atomEq, atomIn, atomArray, atomNull:
			s.Eq = append(s.Eq, a.match())
		case atomLo:
			if s.Lo != nil {
				return s, false
			}
			s.Lo = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: a.inclusive}
		case atomHi:
			if s.Hi != nil {
				return s, false
			}
			s.Hi = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: a.inclusive}
		case atomPrefix:
			if s.Lo != nil || s.Hi != nil {
				return s, false
			}
			s.Lo = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: true}
			if a.hi != nil {
				s.Hi = &plan.Bound{Values: []plan.Expr{a.hi}}
			}
		default:
			return s, false
		}
	}
	ranged := s.Lo != nil || s.Hi != nil
	return s, len(s.Eq) == 1 && !ranged || len(s.Eq) == 0 && ranged
}

// alternatives uses a disjunction over the key column after the equality
// prefix, unless the span already has something about that column.
func (c *constrained) alternatives(l *atomList, t *catalog.Table, ord int, st *TableStats) {
	if c.span.Lo != nil || c.span.Hi != nil {
		return
	}
	for i := range l.atoms {
		a := &l.atoms[i]
		if a.kind != atomOr || a.ord != ord {
			continue
		}
		sel := 0.0
		for _, arm := range a.arms {
			if len(arm.Eq) > 0 {
				sel += st.anyOf(t, ord, arm.Eq[0].Values)
			} else {
				sel += st.between(t, ord, arm.Lo, arm.Hi)
			}
		}
		c.arms, c.span.NotNull = a.arms, false
		c.sel *= min(1, sel)
		c.keys *= float64(len(a.arms))
		c.any = true
		c.use(l, a)
		return
	}
}

// spans returns the spans that the constraints amount to.
func (c *constrained) spans() []plan.Span {
	if len(c.arms) == 0 {
		return []plan.Span{c.span}
	}
	out := make([]plan.Span, len(c.arms))
	for i, arm := range c.arms {
		out[i] = arm
		out[i].Eq = append(append([]plan.KeyMatch(nil), c.span.Eq...), arm.Eq...)
	}
	return out
}
