package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/jsonfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// collectAggregates declares the aggregates that keep all values.
func collectAggregates() []*call.Aggregate {
	jsonArray := func(binary bool) func([]*types.T) call.Accumulator {
		return func(ts []*types.T) call.Accumulator { return &jsonAcc{ts: ts, binary: binary} }
	}
	strs := func(bytes bool) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &stringAcc{bytes: bytes} }
	}
	return []*call.Aggregate{
		call.Agg("string_agg(text,text) text", strs(false)).Ordered(), call.Agg("string_agg(bytea,bytea) bytea", strs(true)).Ordered(),
		call.Agg("array_agg(anynonarray) anyarray", func([]*types.T) call.Accumulator { return &arrayAcc{} }).Ordered(),
		call.Agg("array_agg(anyarray) anyarray", func([]*types.T) call.Accumulator { return &arrayAcc{nested: true} }).Ordered(),
		call.Agg("json_agg(anyelement) json", jsonArray(false)).Ordered(), call.Agg("jsonb_agg(anyelement) jsonb", jsonArray(true)).Ordered(),
		call.Agg("json_object_agg(any,any) json", jsonArray(false)).Ordered(), call.Agg("jsonb_object_agg(any,any) jsonb", jsonArray(true)).Ordered(),
	}
}

// stringAcc is string_agg: the delimiter of a row goes before its value, that
// of the first is dropped.
type stringAcc struct {
	bytes bool
	any   bool
	first int // length of the first delimiter, which buf begins with
	buf   []byte
}

// Add implements Accumulator.
func (a *stringAcc) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() {
		return nil
	}
	if !args[1].IsNull() {
		a.buf = append(a.buf, args[1].Str()...)
	}
	if !a.any {
		a.any, a.first = true, len(a.buf)
	}
	a.buf = append(a.buf, args[0].Str()...)
	return a.check()
}

func (a *stringAcc) check() error {
	if len(a.buf) > call.MaxStringLen {
		return call.Fail(call.ErrTooLong)
	}
	return nil
}

// Result implements Accumulator.
func (a *stringAcc) Result(c *call.Context) (types.Datum, error) {
	if !a.any {
		return types.Null, nil
	}
	if err := c.Reserve(len(a.buf) - a.first); err != nil {
		return types.Null, err
	}
	if a.bytes {
		return types.NewBytes(string(a.buf[a.first:])), nil
	}
	return call.Text(string(a.buf[a.first:]))
}

// Reset implements Accumulator.
func (a *stringAcc) Reset() { a.any, a.first, a.buf = false, 0, a.buf[:0] }

// Merge implements Accumulator.
func (a *stringAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*stringAcc](other)
	if !a.any {
		a.any, a.first = b.any, b.first
	}
	a.buf = append(a.buf, b.buf...)
	return a.check()
}

// SizeBytes implements Accumulator. The text is there twice while it grows and while
// the result is made of it.
func (a *stringAcc) SizeBytes() int64 { return call.AccumulatorBytes + 2*int64(cap(a.buf)) }

// arrayAcc is array_agg; with nested, the values are arrays of one shape that
// become the elements of an array of one dimension more.
type arrayAcc struct {
	nested bool
	n      int32
	dims   []types.ArrayDim
	elems  []types.Datum
	bytes  int64
}

// NestArrays makes an array of arrays of one shape, as array_agg does.
func NestArrays(c *call.Context, arrays []types.Datum) (types.Datum, error) {
	if len(arrays) == 0 {
		return types.NewArray(nil), nil
	}
	a := &arrayAcc{nested: true}
	for _, d := range arrays {
		if err := a.addArray(c, d); err != nil {
			return types.Null, err
		}
	}
	return a.Result(c)
}

// Add implements Accumulator.
func (a *arrayAcc) Add(c *call.Context, args []types.Datum) error {
	a.bytes += int64(len(args[0].Str()))
	if a.nested {
		return a.addArray(c, args[0])
	}
	a.n++
	a.elems = append(a.elems, args[0])
	return a.check()
}

func (a *arrayAcc) check() error {
	if len(a.elems) >= types.MaxArrayElems {
		return call.Fail(arrayfuncs.ErrArrayTooLarge)
	}
	return nil
}

func (a *arrayAcc) addArray(c *call.Context, d types.Datum) error {
	if d.IsNull() {
		return pgerr.New(pgerr.NullValueNotAllowed, "cannot accumulate null arrays")
	}
	arr := d.DecodeArray(c.Format)
	if err := c.Step(0); err != nil {
		return err
	}
	if len(arr.Dims) == 0 {
		return pgerr.New(pgerr.ArraySubscriptError, "cannot accumulate empty arrays")
	}
	if len(arr.Dims) >= types.MaxArrayDims {
		return types.TooManyDims(len(arr.Dims) + 1)
	}
	if a.n > 0 && !sameDims(a.dims, arr.Dims) {
		return errArrayShape()
	}
	a.n++
	a.dims = arr.Dims
	a.elems = append(a.elems, arr.Elems...)
	return a.check()
}

func errArrayShape() error {
	return pgerr.New(pgerr.ArraySubscriptError, "cannot accumulate arrays of different dimensionality")
}

func sameDims(a, b []types.ArrayDim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Result implements Accumulator.
func (a *arrayAcc) Result(c *call.Context) (types.Datum, error) {
	if a.n == 0 {
		return types.Null, nil
	}
	if err := c.Reserve(int(a.bytes)); err != nil {
		return types.Null, err
	}
	dims := append([]types.ArrayDim{{Len: a.n, Lower: 1}}, a.dims...)
	return types.EncodeArray(dims, a.elems, c.Format), nil
}

// Reset implements Accumulator.
func (a *arrayAcc) Reset() {
	clear(a.elems)
	a.n, a.dims, a.elems, a.bytes = 0, nil, a.elems[:0], 0
}

// Merge implements Accumulator.
func (a *arrayAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*arrayAcc](other)
	switch {
	case b.n == 0:
		return nil
	case a.n > 0 && !sameDims(a.dims, b.dims):
		return errArrayShape()
	}
	a.n += b.n
	a.dims = b.dims
	a.bytes += b.bytes
	a.elems = append(a.elems, b.elems...)
	return a.check()
}

// datumBytes is the size of a Datum in memory.
const datumBytes = 32

// SizeBytes implements Accumulator.
func (a *arrayAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + a.bytes + datumBytes*int64(cap(a.elems))
}

// jsonAcc is json_agg, or with two arguments json_object_agg.
type jsonAcc struct {
	ts     []*types.T
	binary bool
	buf    []byte // what the brackets enclose
	value  []byte // of jsonb_agg: the text of a value, before it is that of jsonb
}

// elements reports whether a is jsonb_agg, whose values become jsonb one by one: that of all
// of them together would take many times their memory.
func (a *jsonAcc) elements() bool { return a.binary && len(a.ts) == 1 }

// Add implements Accumulator.
func (a *jsonAcc) Add(c *call.Context, args []types.Datum) error {
	if len(a.buf) > 0 {
		a.buf = append(a.buf, ", "...)
		if f := args[0].Family(); len(a.ts) == 1 && !a.binary && (f == types.RecordFamily || f == types.ArrayFamily) {
			a.buf = append(a.buf, "\n "...)
		}
	}
	fc := jsonfuncs.ISOFormat(c)
	if len(a.ts) == 2 {
		if args[0].IsNull() {
			return pgerr.New(pgerr.InvalidParameterValue, "field name must not be null")
		}
		key, err := jsonfuncs.Key(a.ts[0], args[0], fc)
		if err != nil {
			return err
		}
		a.buf = types.AppendJSONString(a.buf, key, c.Format)
		a.buf = append(a.buf, " : "...)
	}
	if a.elements() {
		if err := a.addElement(c, args[0], fc); err != nil {
			return err
		}
	} else {
		a.buf = jsonfuncs.Append(a.buf, a.ts[len(a.ts)-1], args[len(a.ts)-1], fc)
	}
	if len(a.buf) > call.MaxStringLen {
		return call.Fail(call.ErrTooLong)
	}
	return nil
}

// Result implements Accumulator.
func (a *jsonAcc) Result(c *call.Context) (types.Datum, error) {
	if len(a.buf) == 0 {
		return types.Null, nil
	}
	open, end := "[", "]"
	if len(a.ts) == 2 {
		open, end = "{ ", " }"
	}
	size := len(open) + len(a.buf) + len(end)
	if err := c.Reserve(size); err != nil {
		return types.Null, err
	}
	b := append(append(append(make([]byte, 0, size), open...), a.buf...), end...)
	return jsonfuncs.Result(c, b, a.binary && !a.elements())
}

// addElement adds a value to those of jsonb_agg.
func (a *jsonAcc) addElement(c *call.Context, d types.Datum, fc *types.FormatContext) error {
	if d.Family() == types.JSONFamily && a.ts[0].Oid == types.JSONB.Oid {
		a.buf = append(a.buf, d.Str()...)
		return nil
	}
	a.value = jsonfuncs.Append(a.value[:0], a.ts[0], d, fc)
	v, err := types.ParseJSON(string(a.value), c.Format)
	if err == nil {
		a.buf = types.AppendJSON(a.buf, v, c.Format)
	}
	return err
}

// Reset implements Accumulator.
func (a *jsonAcc) Reset() { a.buf = a.buf[:0] }

// Merge implements Accumulator.
func (a *jsonAcc) Merge(other call.Accumulator) error {
	b := call.Mergeable[*jsonAcc](other)
	if len(a.buf) > 0 && len(b.buf) > 0 {
		a.buf = append(a.buf, ", "...)
	}
	a.buf = append(a.buf, b.buf...)
	return nil
}

// SizeBytes implements Accumulator.
func (a *jsonAcc) SizeBytes() int64 {
	return call.AccumulatorBytes + int64(cap(a.buf)) + int64(cap(a.value))
}
