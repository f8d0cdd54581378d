package textsearch

import (
	"slices"
	"strings"
)

// finder returns the positions at which an operand occurs, ascending, and
// whether it occurs at all.
type finder func(q *Query) (positions []int, found bool)

// Match reports whether a document fits a query.
func Match(v Vector, q *Query) bool {
	return q != nil && execute(q, func(o *Query) ([]int, bool) { return v.positionsOf(o) })
}

// positionsOf finds an operand in v.
func (v Vector) positionsOf(q *Query) (out []int, found bool) {
	i, ok := v.Find(q.Word)
	if !q.Prefix {
		if !ok {
			return nil, false
		}
		return v[i].positionsOf(q.Weights)
	}
	for ; i < len(v) && strings.HasPrefix(v[i].Word, q.Word); i++ {
		ps, ok := v[i].positionsOf(q.Weights)
		found = found || ok
		out = append(out, ps...)
	}
	slices.Sort(out)
	return slices.Compact(out), found
}

func (l Lexeme) positionsOf(weights uint8) (out []int, found bool) {
	for _, p := range l.Positions {
		if weights == 0 || weights&(1<<p.Weight) != 0 {
			out = append(out, int(p.Pos))
		}
	}
	// A lexeme without positions counts as of weight D.
	bare := len(l.Positions) == 0 && (weights == 0 || weights&(1<<WeightD) != 0)
	return out, len(out) > 0 || bare
}

func execute(q *Query, find finder) bool {
	switch q.Op {
	case OpValue:
		_, ok := find(q)
		return ok
	case OpNot:
		return !execute(q.Left, find)
	case OpAnd:
		return execute(q.Left, find) && execute(q.Right, find)
	case OpOr:
		return execute(q.Left, find) || execute(q.Right, find)
	}
	_, ok := phrase(q, find)
	return ok
}

// span is where a part of a phrase matches: at the positions, or with negate
// everywhere else. A position is where the match ends, width how far before it
// it begins.
type span struct {
	pos    []int
	negate bool
	width  int
}

// Which positions of two lists merge keeps.
const (
	keepBoth = 1 << iota
	keepLeft
	keepRight
)

// merge walks two position lists, shifted by their offsets.
func merge(l, r span, lshift, rshift, keep int) []int {
	var out []int
	i, j := 0, 0
	for i < len(l.pos) || j < len(r.pos) {
		switch {
		case j == len(r.pos) || i < len(l.pos) && l.pos[i]+lshift < r.pos[j]+rshift:
			if keep&keepLeft != 0 {
				out = append(out, l.pos[i]+lshift)
			}
			i++
		case i == len(l.pos) || r.pos[j]+rshift < l.pos[i]+lshift:
			if keep&keepRight != 0 {
				out = append(out, r.pos[j]+rshift)
			}
			j++
		default:
			if keep&keepBoth != 0 {
				out = append(out, l.pos[i]+lshift)
			}
			i++
			j++
		}
	}
	return out
}

// phrase matches an operand of a phrase.
func phrase(q *Query, find finder) (span, bool) {
	switch q.Op {
	case OpValue:
		ps, _ := find(q)
		return span{pos: ps}, len(ps) > 0
	case OpNot:
		s, ok := phrase(q.Left, find)
		switch {
		case !ok:
			return span{negate: true}, true
		case len(s.pos) > 0:
			s.negate = !s.negate
			return s, true
		case s.negate:
			return span{}, false
		}
		return span{negate: true}, true
	}
	l, lok := phrase(q.Left, find)
	if !lok && q.Op != OpOr {
		return span{}, false
	}
	r, rok := phrase(q.Right, find)
	if q.Op == OpOr {
		return phraseOr(l, r, lok, rok)
	}
	if !rok {
		return span{}, false
	}
	var lshift, rshift, width int
	if q.Op == OpPhrase {
		lshift = int(q.Distance) + r.width
		width = int(q.Distance) + l.width + r.width
	} else {
		width = max(l.width, r.width)
		lshift, rshift = width-l.width, width-r.width
	}
	out := span{width: width}
	switch {
	case l.negate && r.negate:
		out.pos = merge(l, r, lshift, rshift, keepBoth|keepLeft|keepRight)
		out.negate = true
		return out, true
	case l.negate:
		out.pos = merge(l, r, lshift, rshift, keepRight)
	case r.negate:
		out.pos = merge(l, r, lshift, rshift, keepLeft)
	default:
		out.pos = merge(l, r, lshift, rshift, keepBoth)
	}
	return out, len(out.pos) > 0
}

func phraseOr(l, r span, lok, rok bool) (span, bool) {
	if !lok && !rok {
		return span{}, false
	}
	if !lok {
		l = span{}
	}
	if !rok {
		r = span{}
	}
	out := span{width: max(l.width, r.width)}
	lshift, rshift := out.width-l.width, out.width-r.width
	switch {
	case l.negate && r.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepBoth), true
		return out, true
	case l.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepLeft), true
		return out, true
	case r.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepRight), true
		return out, true
	}
	out.pos = merge(l, r, lshift, rshift, keepBoth|keepLeft|keepRight)
	return out, len(out.pos) > 0
}
