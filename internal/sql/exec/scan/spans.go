package scan

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxSpans bounds the key ranges that the lists of one scan multiply out to.
const maxSpans = 1 << 20

// spanSet evaluates the spans of a scan to ranges of keys, in index order.
type spanSet struct {
	run    *operator.Run
	x      *rowcodec.Index
	given  *operator.Spans // instead of those of the plan
	all    bool            // no spans in the plan: the whole index
	exprs  []spanExprs
	buf    []byte
	list   []keySpan
	end    []byte // scratch
	hashed []byte // a key with its bucket
	// levels[i] is the key built so far while column i takes its alternatives.
	levels [][]byte
}

// keySpan is a range of keys as offsets into spanSet.buf. A point is the
// complete key of a single entry.
type keySpan struct {
	start, mid, end int // buf[start:mid] is the first key, buf[mid:end] the end
	point           bool
}

// spanExprs is a compiled plan.Span.
type spanExprs struct {
	eq      []matchExprs
	lo, hi  []expr.Func
	loIncl  bool
	hiIncl  bool
	notNull bool
	// point: eq binds the whole key of a unique index.
	point bool
}

// matchExprs is a compiled plan.KeyMatch.
type matchExprs struct {
	values []expr.Func
	array  expr.Func
	null   bool
}

func newSpanSet(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index) (*spanSet, error) {
	if given := c.Given(n); given != nil {
		return &spanSet{run: c.Run, x: x, given: given}, nil
	}
	s := &spanSet{run: c.Run, x: x, all: n.Spans == nil, levels: make([][]byte, len(x.Key))}
	for i := range n.Spans {
		p := &n.Spans[i]
		e := spanExprs{notNull: p.NotNull}
		for _, m := range p.Eq {
			k, err := newMatchExprs(c, m)
			if err != nil {
				return nil, err
			}
			e.eq = append(e.eq, k)
		}
		var err error
		if p.Lo != nil {
			if e.lo, err = c.Exprs(p.Lo.Values, nil); err != nil {
				return nil, err
			}
			e.loIncl = p.Lo.Inclusive
		}
		if p.Hi != nil {
			if e.hi, err = c.Exprs(p.Hi.Values, nil); err != nil {
				return nil, err
			}
			e.hiIncl = p.Hi.Inclusive
		}
		if len(e.eq)+max(len(e.lo), len(e.hi)) > len(x.Key) {
			return nil, pgerr.Assertion("span of %d columns on index %q", len(e.eq)+len(e.lo), n.Index.Name)
		}
		if len(e.eq) < x.HashColumns() && x.Desc.Buckets == 0 {
			return nil, pgerr.Assertion("span of %d columns on index %q, which hashes %d", len(e.eq), n.Index.Name, x.HashColumns())
		}
		e.point = x.Unique() && len(e.eq) == x.Declared && p.Lo == nil && p.Hi == nil
		s.exprs = append(s.exprs, e)
	}
	return s, nil
}

func newMatchExprs(c *operator.Compiler, m plan.KeyMatch) (matchExprs, error) {
	k := matchExprs{null: m.Null}
	var err error
	if k.array, err = c.Optional(m.Array, nil); err != nil {
		return k, err
	}
	k.values, err = c.Exprs(m.Values, nil)
	return k, err
}

// eval computes the ranges: sorted, disjoint, not empty.
func (s *spanSet) eval() error {
	s.buf, s.list = s.buf[:0], s.list[:0]
	if s.given != nil {
		s.take(s.given.List)
		return nil
	}
	if s.all {
		s.buf = append(s.buf, s.x.Prefix()...)
		mid := len(s.buf)
		s.buf = keys.AppendPrefixEnd(s.buf, s.x.Prefix())
		s.list = append(s.list, keySpan{start: 0, mid: mid, end: len(s.buf)})
		return nil
	}
	for i := range s.exprs {
		if err := s.run.Tick(); err != nil {
			return err
		}
		e := &s.exprs[i]
		if len(e.eq) < s.x.HashColumns() { // in each bucket
			for b := range s.x.Buckets() {
				if err := s.product(e, 0, s.x.AppendBucket(nil, b), false); err != nil {
					return err
				}
			}
			continue
		}
		if err := s.product(e, 0, s.x.Prefix(), false); err != nil {
			return err
		}
	}
	if len(s.list) > 1 {
		return s.normalise()
	}
	return nil
}

// take makes the ranges those of a list.
func (s *spanSet) take(list []kvpb.Span) {
	for _, x := range list {
		k := keySpan{start: len(s.buf), point: len(x.EndKey) == 0}
		s.buf = append(s.buf, x.Key...)
		k.mid = len(s.buf)
		s.buf = append(s.buf, x.EndKey...)
		k.end = len(s.buf)
		s.list = append(s.list, k)
	}
}

// Keys evaluates the spans of a scan for whoever reads them elsewhere.
type Keys struct{ set *spanSet }

// NewKeys compiles the spans of a scan.
func NewKeys(c *operator.Compiler, n *plan.Scan) (*Keys, error) {
	x, err := rowcodec.Compile(n.Table, n.Index)
	if err != nil {
		return nil, err
	}
	set, err := newSpanSet(c, n, x)
	return &Keys{set: set}, err
}

// Eval returns the spans: sorted, disjoint, valid until the next call.
func (k *Keys) Eval() ([]kvpb.Span, error) {
	s := k.set
	if err := s.eval(); err != nil {
		return nil, err
	}
	out := make([]kvpb.Span, len(s.list))
	for i := range s.list {
		if out[i].Key = s.first(i); !s.list[i].point {
			out[i].EndKey = s.last(i)
		}
	}
	return out, nil
}

// product extends prefix by every alternative for key column i, and so on.
func (s *spanSet) product(e *spanExprs, i int, prefix []byte, hasNull bool) error {
	if h := s.x.HashColumns(); h > 0 && i == h {
		s.hashed = s.x.InsertBucket(append(s.hashed[:0], prefix...))
		prefix = s.hashed
	}
	if i == len(e.eq) {
		if e.point && !(hasNull && !s.x.Primary() && !s.x.Desc.NullsNotDistinct) {
			return s.addPoint(prefix)
		}
		return s.addRange(e, i, prefix)
	}
	m := &e.eq[i]
	if m.null {
		return s.with(e, i, prefix, types.Null, hasNull)
	}
	if m.array != nil {
		return s.elements(e, i, prefix, hasNull)
	}
	for _, f := range m.values {
		if err := s.run.Tick(); err != nil {
			return err
		}
		d, err := f(nil)
		if err != nil {
			return err
		}
		if d.IsNull() {
			continue
		}
		if err := s.with(e, i, prefix, d, hasNull); err != nil {
			return err
		}
	}
	return nil
}

// elements goes on with every element of an array.
func (s *spanSet) elements(e *spanExprs, i int, prefix []byte, hasNull bool) error {
	d, err := e.eq[i].array(nil)
	if err != nil || d.IsNull() {
		return err
	}
	for _, x := range d.ArrayElems() {
		if err := s.run.Tick(); err != nil {
			return err
		}
		if x.IsNull() {
			continue
		}
		if err := s.with(e, i, prefix, x, hasNull); err != nil {
			return err
		}
	}
	return nil
}

// with goes on with value d for key column i.
func (s *spanSet) with(e *spanExprs, i int, prefix []byte, d types.Datum, hasNull bool) error {
	if err := s.checkFamily(i, d); err != nil {
		return err
	}
	s.levels[i] = s.x.AppendKeyDatum(append(s.levels[i][:0], prefix...), i, d)
	return s.product(e, i+1, s.levels[i], hasNull || d.IsNull())
}

// checkFamily makes sure that a value has the form of its key column: anything
// else would look up a wrong key.
func (s *spanSet) checkFamily(i int, d types.Datum) error {
	k := &s.x.Key[i]
	if !d.IsNull() && d.Family() != k.Type.Family {
		return pgerr.Assertion("span value of family %d for a key column of type %s", d.Family(), k.Type.SQLName)
	}
	return nil
}

func (s *spanSet) addPoint(prefix []byte) error {
	start := len(s.buf)
	s.buf = rowcodec.AppendFamily(append(s.buf, prefix...))
	mid := len(s.buf)
	return s.add(keySpan{start: start, mid: mid, end: mid, point: true})
}

func (s *spanSet) add(k keySpan) error {
	if len(s.list) >= maxSpans {
		return pgerr.New(pgerr.StatementTooComplex, "condition selects more than %d key ranges", maxSpans)
	}
	s.list = append(s.list, k)
	return nil
}

// addRange adds the keys that begin with prefix and whose next columns lie
// within the bounds. Bounds are in terms of values; a descending column turns
// them around.
func (s *spanSet) addRange(e *spanExprs, i int, prefix []byte) error {
	lo, loIncl, hi, hiIncl := e.lo, e.loIncl, e.hi, e.hiIncl
	excludeNull := e.notNull || lo != nil || hi != nil
	if i < len(s.x.Key) && s.x.Key[i].Desc {
		lo, loIncl, hi, hiIncl = hi, hiIncl, lo, loIncl
	}
	start := len(s.buf)
	k, err := s.appendBound(prefix, lo, i)
	if err != nil || k < 0 {
		return err
	}
	loIncl = loIncl && k == len(lo)
	switch {
	case lo != nil && !loIncl:
		// Past everything that begins with the bound.
		s.end = keys.AppendPrefixEnd(s.end[:0], s.buf[start:])
		s.buf = append(s.buf[:start], s.end...)
	case lo == nil && excludeNull && s.x.Key[i].NullsFirst:
		s.buf = append(s.buf, s.x.NullMark(i)+1)
	}
	mid := len(s.buf)
	if k, err = s.appendBound(prefix, hi, i); err != nil || k < 0 {
		s.buf = s.buf[:start]
		return err
	}
	hiIncl = hiIncl && k == len(hi) && !plant.On(plant.SpanShort)
	switch {
	case hi != nil && !hiIncl:
	case hi == nil && excludeNull && !s.x.Key[i].NullsFirst:
		s.buf = append(s.buf, s.x.NullMark(i))
	default:
		s.end = keys.AppendPrefixEnd(s.end[:0], s.buf[mid:])
		s.buf = append(s.buf[:mid], s.end...)
	}
	if bytes.Compare(s.buf[start:mid], s.buf[mid:]) >= 0 {
		s.buf = s.buf[:start]
		return nil
	}
	return s.add(keySpan{start: start, mid: mid, end: len(s.buf)})
}

// appendBound appends prefix and the bound's values, up to one that is NULL, and returns
// how many: no row whose values before it are the bound's matches. It is -1 if that is the
// first, so that no row matches at all.
func (s *spanSet) appendBound(prefix []byte, values []expr.Func, i int) (int, error) {
	start := len(s.buf)
	s.buf = append(s.buf, prefix...)
	for j, f := range values {
		d, err := f(nil)
		if err == nil {
			err = s.checkFamily(i+j, d)
		}
		if err != nil || d.IsNull() && j == 0 {
			s.buf = s.buf[:start]
			return -1, err
		}
		if d.IsNull() {
			return j, nil
		}
		s.buf = s.x.AppendKeyDatum(s.buf, i+j, d)
	}
	return len(values), nil
}

// normalise sorts the ranges and merges those that overlap.
func (s *spanSet) normalise() error {
	var canceled error
	slices.SortFunc(s.list, func(a, b keySpan) int {
		if canceled == nil {
			canceled = s.run.Tick()
		}
		if canceled != nil {
			return 0
		}
		return bytes.Compare(s.buf[a.start:a.mid], s.buf[b.start:b.mid])
	})
	if canceled != nil {
		return canceled
	}
	out := s.list[:1]
	for _, k := range s.list[1:] {
		if err := s.run.Tick(); err != nil {
			return err
		}
		last := &out[len(out)-1]
		first := s.buf[k.start:k.mid]
		switch {
		case bytes.Equal(first, s.buf[last.start:last.mid]):
			if last.point || (!k.point && bytes.Compare(s.buf[k.mid:k.end], s.buf[last.mid:last.end]) > 0) {
				*last = k // the wider one stays
			}
		case !last.point && bytes.Compare(first, s.buf[last.mid:last.end]) < 0:
			if !k.point && bytes.Compare(s.buf[k.mid:k.end], s.buf[last.mid:last.end]) > 0 {
				// last.start and k.end need not be adjacent: copy.
				at := len(s.buf)
				s.buf = append(s.buf, s.buf[last.start:last.mid]...)
				mid := len(s.buf)
				s.buf = append(s.buf, s.buf[k.mid:k.end]...)
				*last = keySpan{start: at, mid: mid, end: len(s.buf)}
			}
		default:
			out = append(out, k)
		}
	}
	s.list = out
	return nil
}

// first and last return the ends of range i.
func (s *spanSet) first(i int) []byte { return s.buf[s.list[i].start:s.list[i].mid] }
func (s *spanSet) last(i int) []byte  { return s.buf[s.list[i].mid:s.list[i].end] }

// contains reports whether key lies in one of the ranges.
func (s *spanSet) contains(key []byte) bool {
	for i := range s.list {
		first := s.first(i)
		if s.list[i].point {
			if bytes.Equal(key, first) {
				return true
			}
			continue
		}
		if bytes.Compare(first, key) <= 0 && bytes.Compare(key, s.last(i)) < 0 {
			return true
		}
	}
	return false
}
