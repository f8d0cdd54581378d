package plan

import "github.com/lichendb/lichen/internal/sql/types"

// Implies reports whether a condition holds for every row for which all of given are
// true. It knows equal expressions, NULL tests, comparisons with constants, lists and
// alternatives; where it cannot tell it says no.
func Implies(given []Expr, cond Expr) bool {
	for _, c := range Conjuncts(cond, nil) {
		if !impliesOne(given, c) {
			return false
		}
	}
	return true
}

func impliesOne(given []Expr, c Expr) bool {
	for _, g := range given {
		if ExprEqual(g, c) || boolTest(g, c) || rangeImplies(g, c) || listImplies(g, c) {
			return true
		}
	}
	switch c := c.(type) {
	case *Or:
		for _, arm := range c.Args {
			if Implies(given, arm) {
				return true
			}
		}
	case *Is:
		if c.Kind == IsNotNull {
			for _, g := range given {
				if rejectsNull(g, c.Arg) {
					return true
				}
			}
		}
	case *Const:
		return !c.D.IsNull() && c.T.Is(types.Bool) && c.D.Bool()
	}
	for _, g := range given {
		if or, ok := g.(*Or); ok && impliedByAll(or, c) {
			return true
		}
	}
	return false
}

// impliedByAll reports whether each alternative implies c.
func impliedByAll(or *Or, c Expr) bool {
	for _, arm := range or.Args {
		if !impliesOne(Conjuncts(arm, nil), c) {
			return false
		}
	}
	return len(or.Args) > 0
}

// truth strips IS TRUE and = true from a boolean expression; not says that it is
// negated.
func truth(e Expr) (x Expr, not bool) {
	switch e := e.(type) {
	case *Is:
		switch e.Kind {
		case IsTrue:
			return truth(e.Arg)
		case IsFalse:
			x, not = truth(e.Arg)
			return x, !not
		}
	case *Not:
		x, not = truth(e.Arg)
		return x, !not
	case *Call:
		if l, r, ok := comparison(e, "="); ok && l.Type().Is(types.Bool) {
			if k, ok := r.(*Const); ok && !k.D.IsNull() {
				x, not = truth(l)
				return x, not == k.D.Bool()
			}
		}
	}
	return e, false
}

func boolTest(g, c Expr) bool {
	gx, gn := truth(g)
	cx, cn := truth(c)
	return (gx != g || cx != c) && gn == cn && ExprEqual(gx, cx)
}

// comparison takes a call of a comparison operator apart.
func comparison(e *Call, ops ...string) (l, r Expr, ok bool) {
	if !e.Fn.Operator || len(e.Args) != 2 {
		return nil, nil, false
	}
	for _, op := range ops {
		if e.Fn.Name == op {
			return e.Args[0], e.Args[1], true
		}
	}
	return nil, nil, false
}

// Mirrored maps a comparison to the one with its sides exchanged.
var Mirrored = map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "<>": "<>"}

// versusConst takes "x op constant" apart, turned around where the constant is on
// the left.
func versusConst(e Expr) (x Expr, op string, k *Const, ok bool) {
	c, isCall := e.(*Call)
	if !isCall || !c.Fn.Operator || len(c.Args) != 2 || Mirrored[c.Fn.Name] == "" {
		return nil, "", nil, false
	}
	if k, ok := c.Args[1].(*Const); ok && !k.D.IsNull() {
		return c.Args[0], c.Fn.Name, k, true
	}
	if k, ok := c.Args[0].(*Const); ok && !k.D.IsNull() {
		return c.Args[1], Mirrored[c.Fn.Name], k, true
	}
	return nil, "", nil, false
}

// rangeImplies compares two comparisons of the same expression with constants.
func rangeImplies(g, c Expr) bool {
	gx, gop, gk, ok := versusConst(g)
	if !ok {
		return false
	}
	cx, cop, ck, ok := versusConst(c)
	if !ok || !ExprEqual(gx, cx) || gk.D.Family() != ck.D.Family() || gk.T.Elem != nil || !types.HasOrder(gk.T) {
		return false
	}
	return holds(gop, types.Compare(gk.D, ck.D), cop)
}

// holds reports whether x gop a implies x cop b, where cmp compares a with b.
func holds(gop string, cmp int, cop string) bool {
	switch gop {
	case "=":
		return compared(cmp, cop)
	case "<", "<=":
		strict := gop == "<"
		switch cop {
		case "<":
			return cmp < 0 || cmp == 0 && strict
		case "<=":
			return cmp <= 0
		case "<>":
			return cmp < 0 || cmp == 0 && strict
		}
	case ">", ">=":
		strict := gop == ">"
		switch cop {
		case ">":
			return cmp > 0 || cmp == 0 && strict
		case ">=":
			return cmp >= 0
		case "<>":
			return cmp > 0 || cmp == 0 && strict
		}
	}
	return false
}

func compared(cmp int, op string) bool {
	switch op {
	case "=":
		return cmp == 0
	case "<>":
		return cmp != 0
	case "<":
		return cmp < 0
	case "<=":
		return cmp <= 0
	case ">":
		return cmp > 0
	}
	return cmp >= 0
}

// listImplies compares memberships: g is x = constant or x IN (constants).
func listImplies(g, c Expr) bool {
	var values []Expr
	var x Expr
	switch g := g.(type) {
	case *InList:
		if g.Not {
			return false
		}
		x, values = g.Left, g.List
	default:
		gx, op, k, ok := versusConst(g)
		if !ok || op != "=" {
			return false
		}
		x, values = gx, []Expr{k}
	}
	for _, v := range values {
		k, ok := v.(*Const)
		if !ok || k.D.IsNull() || !admits(c, x, k) {
			return false
		}
	}
	return len(values) > 0
}

// admits reports whether c is true of x = k.
func admits(c, x Expr, k *Const) bool {
	if l, ok := c.(*InList); ok {
		if l.Not || !ExprEqual(l.Left, x) {
			return false
		}
		for _, v := range l.List {
			if o, ok := v.(*Const); ok && !o.D.IsNull() && o.D.Family() == k.D.Family() && types.Compare(o.D, k.D) == 0 {
				return true
			}
		}
		return false
	}
	cx, op, ck, ok := versusConst(c)
	return ok && ExprEqual(cx, x) && ck.D.Family() == k.D.Family() && compared(types.Compare(k.D, ck.D), op)
}

// rejectsNull reports whether g cannot be true if x is NULL.
func rejectsNull(g, x Expr) bool {
	switch g := g.(type) {
	case *Call:
		if !g.Fn.Operator || Mirrored[g.Fn.Name] == "" && g.Fn.Name != "~~" {
			return false
		}
		for _, a := range g.Args {
			if ExprEqual(a, x) {
				return true
			}
		}
	case *InList:
		return ExprEqual(g.Left, x)
	case *AnyAll:
		return !g.All && ExprEqual(g.Left, x)
	case *Is:
		return (g.Kind == IsNotNull || g.Kind == IsTrue || g.Kind == IsFalse) && ExprEqual(g.Arg, x)
	}
	return ExprEqual(g, x)
}
