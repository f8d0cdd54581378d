package optimizer

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// or analyses a disjunction whose arms all constrain one column, such as
// a BETWEEN 1 AND 2 OR a = 7 OR a > 100.
func (l *atomList) or(n *plan.Scan, conj int, c *plan.Or) {
	a := atom{kind: atomOr, ord: -1, conj: conj, exact: true}
	for _, arm := range c.Args {
		sub := atomList{conjs: plan.Conjuncts(arm, nil)}
		for i, x := range sub.conjs {
			sub.analyse(n, i, x)
		}
		if len(sub.atoms) != len(sub.conjs) {
			return
		}
		for i := range sub.atoms {
			if a.ord < 0 {
				a.ord = sub.atoms[i].ord
			}
			a.exact = a.exact && sub.atoms[i].exact
			if sub.atoms[i].ord != a.ord {
				return
			}
		}
		span, ok := armSpan(sub.atoms)
		if !ok {
			return
		}
		a.arms = append(a.arms, span)
	}
	l.add(a)
}

// armSpan turns the conditions of one arm into a span over the column alone.
func armSpan(atoms []atom) (plan.Span, bool) {
	var s plan.Span
	for i := range atoms {
		a := &atoms[i]
		switch a.kind {
		case atomEq, atomIn, atomArray, atomNull:
			m, _ := keyMatch(a)
			s.Eq = append(s.Eq, m)
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
