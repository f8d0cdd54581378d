package types

import "iter"

// jsonPiece is how many elements a piece of a JSONElems holds.
const jsonPiece = 256

// shortJSON is how many elements the first piece has room for before it grows.
const shortJSON = 2

// JSONElems holds the elements of a JSON array in pieces, all but the last of which are full: a
// slice of millions of elements takes hundreds of milliseconds to allocate and to move, during
// which a statement can't be cancelled. The zero value is empty.
type JSONElems struct{ pieces [][]JSONValue }

// NewJSONArray returns an array of the given elements.
func NewJSONElems(elems ...JSONValue) JSONElems {
	var a JSONElems
	for _, e := range elems {
		a.Append(e)
	}
	return a
}

// Len returns the number of elements.
func (a JSONElems) Len() int {
	n := len(a.pieces)
	if n == 0 {
		return 0
	}
	return (n-1)*jsonPiece + len(a.pieces[n-1])
}

// At returns the element at a position from 0.
func (a JSONElems) At(i int) JSONValue { return a.pieces[i/jsonPiece][i%jsonPiece] }

// All iterates over the elements and their positions.
func (a JSONElems) All() iter.Seq2[int, JSONValue] {
	return func(yield func(int, JSONValue) bool) {
		for k, piece := range a.pieces {
			for i := range piece {
				if !yield(k*jsonPiece+i, piece[i]) {
					return
				}
			}
		}
	}
}

// Append adds an element to a, of which there must be no copy.
func (a *JSONElems) Append(e JSONValue) {
	last := len(a.pieces) - 1
	if last < 0 || len(a.pieces[last]) == jsonPiece {
		size := jsonPiece
		if last < 0 {
			size = shortJSON
		}
		a.pieces = append(a.pieces, make([]JSONValue, 0, size))
		last++
	}
	a.pieces[last] = append(a.pieces[last], e)
}

// AppendRange adds b's elements from a position up to another to a, of which there must be no
// copy.
func (a *JSONElems) AppendRange(b JSONElems, from, to int, fc *FormatContext) {
	for i := from; i < to; i++ {
		if i%jsonPiece == jsonPiece-1 && fc.Stopped(jsonPiece) {
			return
		}
		a.Append(b.At(i))
	}
}

// Splice returns the elements of a with others in place of those from a position up to another.
func (a JSONElems) Splice(from, to int, fc *FormatContext, with ...JSONValue) JSONElems {
	var out JSONElems
	out.AppendRange(a, 0, from, fc)
	for _, e := range with {
		out.Append(e)
	}
	out.AppendRange(a, to, a.Len(), fc)
	return out
}
