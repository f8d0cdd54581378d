package plan

import "slices"

// JoinKind is the kind of a join.
type JoinKind uint8

// The kinds of joins. Semi and anti joins produce columns of the left input
// only.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	SemiJoin
	AntiJoin
)

// JoinAlgorithm is how a join is executed.
type JoinAlgorithm uint8

// The join algorithms.
const (
	// LoopJoin compares every pair of rows. Right does not depend on Left's row
	// and may be kept in memory.
	LoopJoin JoinAlgorithm = iota
	// ApplyJoin evaluates Right anew for each row of Left: Right refers to the
	// columns in Outer. Not for right and full joins.
	ApplyJoin
	// LookupJoin is ApplyJoin where Right is a Scan, or an IndexJoin, with spans
	// over Outer columns; the executor may batch lookups as long as it keeps
	// the order of Left.
	LookupJoin
	// HashJoin builds a table from Right by RightKeys and probes it with
	// LeftKeys.
	HashJoin
	// MergeJoin relies on both inputs being sorted ascending, NULLs last, on
	// their keys.
	MergeJoin
)

// Join joins two inputs. A pair of rows matches if all keys are equal (NULLs
// are not) and On is true.
type Join struct {
	Base  // Cols are any of Left's and Right's columns
	Kind  JoinKind
	Algo  JoinAlgorithm
	Left  Node
	Right Node
	// LeftKeys[i] = RightKeys[i], for hash and merge joins. Each pair has types
	// of one family, so that equal values have equal encodings.
	LeftKeys, RightKeys []Expr
	// On is the rest of the condition over both inputs; nil is true.
	On Expr
	// Outer are Left's columns that Right refers to.
	Outer []ColID
}

// Batches reports whether the lookups of many left rows can be done at once: the ranges of keys that any
// two of them read are the same or have no key in common.
func (n *Join) Batches() bool {
	s, ok := n.Right.(*Scan)
	if j, is := n.Right.(*IndexJoin); is {
		s, ok = j.Input, true
	}
	if n.Algo != LookupJoin || !ok || len(s.Spans) != 1 {
		return false
	}
	span := &s.Spans[0]
	for _, m := range span.Eq {
		if len(m.Values) != 1 && !m.Null {
			return false
		}
	}
	return len(span.Eq) >= s.Index.HashColumns && n.sameForAll(span.Lo) && n.sameForAll(span.Hi)
}

// sameForAll reports whether a bound is the same for all left rows.
func (n *Join) sameForAll(b *Bound) bool {
	if b == nil {
		return true
	}
	for _, e := range b.Values {
		same := true
		Refs(e, func(id ColID) { same = same && !slices.Contains(n.Outer, id) })
		if !same {
			return false
		}
	}
	return true
}
