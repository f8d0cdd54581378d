package textsearch

import (
	"slices"
	"strings"
)

// truth is whether a document has something. A document without positions may
// have a phrase: nothing tells.
type truth uint8

const (
	no truth = iota
	maybe
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// finder reports whether an operand occurs. Where the positions count, as in a phrase,
// it returns these too, ascending; maybe means that some are not known.
type finder func(q *Query, positions bool) ([]int, truth)

// Match reports whether a document fits a query.
func Match(v Vector, q *Query) bool { return q != nil && execute(q, v.positionsOf) }

// positionsOf finds an operand in v.
func (v Vector) positionsOf(q *Query, positions bool) (out []int, found truth) {
	i, ok := v.Find(q.Word)
	if !q.Prefix {
		if !ok {
			return nil, no
		}
		return v[i].positionsOf(q.Weights, positions)
	}
	for ; i < len(v) && strings.HasPrefix(v[i].Word, q.Word); i++ {
		ps, has := v[i].positionsOf(q.Weights, positions)
		if has == maybe || has == yes && !positions {
			return nil, has
		}
		found = max(found, has)
		out = append(out, ps...)
	}
	slices.Sort(out)
	return slices.Compact(out), found
}

func (l Lexeme) positionsOf(weights uint8, positions bool) (out []int, found truth) {
	if len(l.Positions) == 0 {
		// Without positions there are no weights either: the lexeme fits every weight.
		if positions {
			return nil, maybe
		}
		return nil, yes
	}
	for _, p := range l.Positions {
		if weights != 0 && weights&(1<<p.Weight) == 0 {
			continue
		}
		if !positions {
			return nil, yes
		}
		out = append(out, int(p.Pos))
	}
	return out, truthOf(len(out) > 0)
}

// execute reports whether q is true. A phrase that may match does not.
func execute(q *Query, find finder) bool {
	switch q.Op {
	case OpValue:
		_, found := find(q, false)
		return found == yes
	case OpNot:
		return !execute(q.Left, find)
	case OpAnd:
		return execute(q.Left, find) && execute(q.Right, find)
	case OpOr:
		return execute(q.Left, find) || execute(q.Right, find)
	}
	_, found := phrase(q, find)
	return found == yes
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
func phrase(q *Query, find finder) (span, truth) {
	switch q.Op {
	case OpValue:
		ps, found := find(q, true)
		return span{pos: ps}, found
	case OpNot:
		return phraseNot(phrase(q.Left, find))
	}
	l, lfound := phrase(q.Left, find)
	if lfound == no && q.Op != OpOr {
		return span{}, no
	}
	r, rfound := phrase(q.Right, find)
	if q.Op == OpOr {
		return phraseOr(l, r, lfound, rfound)
	}
	if least := min(lfound, rfound); least != yes {
		return span{}, least
	}
	return phraseAnd(q, l, r)
}

func phraseNot(s span, found truth) (span, truth) {
	switch {
	case found == maybe:
		return span{}, maybe
	case found == no:
		return span{negate: true}, yes
	case len(s.pos) > 0:
		s.negate = !s.negate
		return s, yes
	case s.negate:
		return span{}, no
	}
	return span{negate: true}, yes
}

// phraseAnd joins what both operands of q, an AND or a phrase, match.
func phraseAnd(q *Query, l, r span) (span, truth) {
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
		return out, yes
	case l.negate:
		out.pos = merge(l, r, lshift, rshift, keepRight)
	case r.negate:
		out.pos = merge(l, r, lshift, rshift, keepLeft)
	default:
		out.pos = merge(l, r, lshift, rshift, keepBoth)
	}
	return out, truthOf(len(out.pos) > 0)
}

func phraseOr(l, r span, lfound, rfound truth) (span, truth) {
	if lfound == maybe || rfound == maybe {
		return span{}, maybe
	}
	if lfound == no && rfound == no {
		return span{}, no
	}
	if lfound == no {
		l = span{}
	}
	if rfound == no {
		r = span{}
	}
	out := span{width: max(l.width, r.width)}
	lshift, rshift := out.width-l.width, out.width-r.width
	switch {
	case l.negate && r.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepBoth), true
		return out, yes
	case l.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepLeft), true
		return out, yes
	case r.negate:
		out.pos, out.negate = merge(l, r, lshift, rshift, keepRight), true
		return out, yes
	}
	out.pos = merge(l, r, lshift, rshift, keepBoth|keepLeft|keepRight)
	return out, truthOf(len(out.pos) > 0)
}
