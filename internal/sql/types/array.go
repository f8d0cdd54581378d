package types

import (
	"iter"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Limits of arrays.
const (
	// MaxArrayDims is the largest number of dimensions.
	MaxArrayDims = 6
	// MaxArrayElems bounds the elements of one array.
	MaxArrayElems = 1 << 27
)

// ArrayDim is one dimension: its length and the subscript of its first element.
type ArrayDim struct {
	Len   int32
	Lower int32
}

// Array is a decoded array: elements in row-major order, NULLs among them. An
// empty array has no dimensions.
type Array struct {
	Dims  []ArrayDim
	Elems []Datum
}

// NewArray returns a one-dimensional array with subscripts from 1. It copies
// the elements.
func NewArray(elems []Datum) Datum {
	if len(elems) == 0 {
		return NewArrayDims(nil, nil)
	}
	return NewArrayDims([]ArrayDim{{Len: int32(len(elems)), Lower: 1}}, elems)
}

// NewArrayDims returns an array of any shape; the product of the dimensions'
// lengths must be len(elems).
func NewArrayDims(dims []ArrayDim, elems []Datum) Datum { return EncodeArray(dims, elems, nil) }

// EncodeArray is NewArrayDims that counts its steps with fc. Once fc.Step fails it returns an empty
// array.
func EncodeArray(dims []ArrayDim, elems []Datum, fc *FormatContext) Datum {
	if len(elems) == 0 {
		dims = nil
	}
	must.True(len(elems) == dimsCount(dims), "types: array of %d elements with dimensions %v", len(elems), dims)
	var b []byte
	if len(elems) <= longArray {
		b = make([]byte, 0, 8+8*len(elems))
	}
	b = append(b, byte(len(dims)))
	for _, d := range dims {
		b = appendUvarint(b, uint64(uint32(d.Len)))
		b = appendVarint(b, int64(d.Lower))
	}
	if len(elems) > longArray {
		return encodeLongArray(string(b), elems, fc)
	}
	for i, e := range elems {
		if i%arrayElemsPerStep == arrayElemsPerStep-1 && fc.Stopped(arrayElemsPerStep) {
			return EncodeArray(nil, nil, nil)
		}
		b = AppendEncoded(b, e)
	}
	return Datum{fam: ArrayFamily, s: string(b)}
}

// longArray is from how many elements on an array is encoded in pieces.
const longArray = 64 << 10

// encodeLongArray encodes elements behind head, which has the dimensions.
func encodeLongArray(head string, elems []Datum, fc *FormatContext) Datum {
	p := NewPieces(fc)
	for i, e := range elems {
		if i%arrayElemsPerStep == arrayElemsPerStep-1 && fc.Stopped(arrayElemsPerStep) {
			return EncodeArray(nil, nil, nil)
		}
		p.SetTail(AppendEncoded(p.Tail(), e))
	}
	s := p.behind(head)
	if p.stopped {
		return EncodeArray(nil, nil, nil)
	}
	return Datum{fam: ArrayFamily, s: s}
}

// ArrayBuilder makes a one-dimensional array of many elements, which it does not keep besides.
// Its zero value is empty and counts no steps.
type ArrayBuilder struct {
	elems Pieces
	n     int
}

// NewArrayBuilder returns an empty ArrayBuilder that counts its steps with fc.
func NewArrayBuilder(fc *FormatContext) ArrayBuilder { return ArrayBuilder{elems: NewPieces(fc)} }

// Add adds an element.
func (b *ArrayBuilder) Add(d Datum) {
	b.elems.SetTail(AppendEncoded(b.elems.Tail(), d))
	b.n++
}

// Array returns the array, with subscripts from 1.
func (b *ArrayBuilder) Array() Datum {
	if b.n == 0 {
		return NewArray(nil)
	}
	var head []byte
	head = append(head, 1)
	head = appendUvarint(head, uint64(b.n))
	head = appendVarint(head, 1)
	s := b.elems.behind(string(head))
	if b.elems.stopped {
		return NewArray(nil)
	}
	return Datum{fam: ArrayFamily, s: s}
}

func dimsCount(dims []ArrayDim) int {
	if len(dims) == 0 {
		return 0
	}
	n := 1
	for _, d := range dims {
		n *= int(d.Len)
	}
	return n
}

// Array decodes an array; its elements share memory with d.
func (d Datum) Array() Array { return d.DecodeArray(nil) }

// arrayElemsPerStep is how many elements are decoded or encoded between two steps.
const arrayElemsPerStep = 1 << 10

// DecodeArray is Array that counts its steps with fc, and ends when fc.Step says so: the elements
// that it does not come to are NULL.
func (d Datum) DecodeArray(fc *FormatContext) Array {
	r := reader{s: d.s}
	dims := r.dims()
	a := Array{Dims: dims}
	if n := dimsCount(dims); n > 0 {
		a.Elems = make([]Datum, n)
		for i := range a.Elems {
			if i%arrayElemsPerStep == arrayElemsPerStep-1 && fc.Stopped(arrayElemsPerStep) {
				return a
			}
			a.Elems[i] = r.datum(0)
		}
	}
	must.True(r.err == nil, "types: array payload: %v", r.err)
	return a
}

// ArrayLen returns the number of elements, over all dimensions.
func (d Datum) ArrayLen() int {
	r := reader{s: d.s}
	return dimsCount(r.dims())
}

// ArrayDims returns the dimensions.
func (d Datum) ArrayDims() []ArrayDim {
	r := reader{s: d.s}
	return r.dims()
}

// ArrayElems iterates over the elements in row-major order without decoding
// them all first.
func (d Datum) ArrayElems() iter.Seq2[int, Datum] {
	return func(yield func(int, Datum) bool) {
		r := reader{s: d.s}
		n := dimsCount(r.dims())
		for i := 0; i < n; i++ {
			if !yield(i, r.datum(0)) {
				return
			}
		}
	}
}

// Field is one field of a record.
type Field struct {
	Type *T
	Datum
	// unknownOid is the type as stored, if this package does not declare it.
	unknownOid uint32
}

// TypeOid returns the oid of the field's type.
func (f *Field) TypeOid() uint32 {
	if f.unknownOid != 0 {
		return f.unknownOid
	}
	return f.Type.Oid
}

// NewRecord returns a record of the given fields; types and fields have the
// same length.
func NewRecord(ts []*T, fields []Datum) Datum {
	must.True(len(ts) == len(fields), "types: record of %d types and %d fields", len(ts), len(fields))
	b := make([]byte, 0, 2+10*len(fields))
	b = appendUvarint(b, uint64(len(fields)))
	for i, f := range fields {
		b = appendUvarint(b, uint64(ts[i].Oid))
		b = AppendEncoded(b, f)
	}
	return Datum{fam: RecordFamily, s: string(b)}
}

// Record decodes a record. A field whose type this package does not declare is
// typed Unknown.
func (d Datum) Record() []Field {
	r := reader{s: d.s}
	fields := r.record(0)
	must.True(r.err == nil, "types: record payload: %v", r.err)
	return fields
}

// IsVector reports whether t is int2vector or oidvector, whose text is a list
// separated by spaces.
func IsVector(t *T) bool { return t.Oid == Int2Vector.Oid || t.Oid == OidVector.Oid }

// SubArray reports whether values of t are the elements of an array with one dimension more:
// of arrays, but not of the vectors, which have arrays of their own.
func (t *T) SubArray() bool { return t.Elem != nil && !IsVector(t) }

// TooManyDims says that an array of n dimensions is too many.
func TooManyDims(n int) *pgerr.Error {
	return pgerr.New(pgerr.ProgramLimitExceeded,
		"number of array dimensions (%d) exceeds the maximum allowed (%d)", n, MaxArrayDims)
}
