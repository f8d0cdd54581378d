// Package dist routes requests to the ranges that hold their keys: it splits
// what crosses a range border, sends the parts to the ranges' leaders and puts
// the answers together.
//
// Above it is kv; below it a Locator, filled in by server, that finds the
// replica for a key. Read router.go.
//
// Invariants:
//
//	D1. A part of a request never reaches a range that does not hold all of its
//	    keys (Router cuts every span at the range's end).
//
// A Router has no state of its own and is safe for concurrent use. It does not
// commit across ranges: a commit that touches two is refused.
package dist
