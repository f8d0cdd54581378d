package scan

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lookupKeys are the keys of a virtual table's index that spans ask for.
type lookupKeys struct {
	run    *operator.Run
	spans  [][]matchExprs
	single bool                  // there is one key at most
	seen   rowcontainer.KeyTable // else: those in list
	key    types.Row             // being made
	list   rowcontainer.Store
}

// newLookupKeys compiles the spans of a virtual table's scan, nil if it reads everything.
func newLookupKeys(c *operator.Compiler, n *plan.Scan, spans []plan.Span) (*lookupKeys, error) {
	if spans == nil {
		return nil, nil
	}
	k := &lookupKeys{run: c.Run, key: make(types.Row, len(n.Index.Columns)), single: len(spans) == 1}
	for _, s := range spans {
		if len(s.Eq) != len(n.Index.Columns) || s.Lo != nil || s.Hi != nil || s.NotNull {
			return nil, pgerr.Assertion("keys of %d columns of the index %q", len(s.Eq), n.Index.Name)
		}
		matches := make([]matchExprs, len(s.Eq))
		for i, eq := range s.Eq {
			var err error
			if matches[i], err = newMatchExprs(c, eq); err != nil {
				return nil, err
			}
			k.single = k.single && eq.Array == nil && len(eq.Values) <= 1
		}
		k.spans = append(k.spans, matches)
	}
	ts := make([]*types.T, len(n.Index.Columns))
	for i, col := range n.Index.Columns {
		ts[i] = n.Table.Columns[n.Table.ColumnByID(col.Column)].Type
	}
	k.seen = rowcontainer.NewKeyTable(ts)
	return k, nil
}

// eval computes the keys, each once.
func (k *lookupKeys) eval() error {
	k.list.Open(&k.run.State, len(k.key))
	if !k.single {
		k.seen.Open(&k.run.State)
	}
	for _, s := range k.spans {
		if err := k.product(s, 0); err != nil {
			return err
		}
	}
	return nil
}

func (k *lookupKeys) close() {
	k.list.Close()
	k.seen.Close()
}

// product gives column i and those after it every combination of alternatives.
func (k *lookupKeys) product(s []matchExprs, i int) error {
	if i == len(s) {
		return k.add()
	}
	with := func(d types.Datum) error {
		k.key[i] = d
		return k.product(s, i+1)
	}
	m := &s[i]
	if m.null {
		return with(types.Null)
	}
	if m.array != nil {
		d, err := m.array(nil)
		if err != nil || d.IsNull() {
			return err
		}
		for _, x := range d.ArrayElems() {
			if err := k.run.Tick(); err != nil {
				return err
			}
			if x.IsNull() {
				continue
			}
			if err := with(x); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range m.values {
		d, err := f(nil)
		if err != nil {
			return err
		}
		if d.IsNull() {
			continue
		}
		if err := with(d); err != nil {
			return err
		}
	}
	return nil
}

// add notes the key that was made, unless it is known.
func (k *lookupKeys) add() error {
	if k.list.Len() >= maxSpans {
		return pgerr.New(pgerr.StatementTooComplex, "condition selects more than %d keys", maxSpans)
	}
	if !k.single {
		if _, added, err := k.seen.Put(k.key); err != nil || !added {
			return err
		}
	}
	_, err := k.list.Add(k.key)
	return err
}

// lookupRanges are the ranges of values of a virtual table's index that spans ask for. No value in the
// column of such an index is NULL.
type lookupRanges struct {
	run    *operator.Run
	ranges []rangeExprs
	single *lookupKeys // values that are asked for besides, nil for none
}

// rangeExprs are the ends of a range, each nil or an expression.
type rangeExprs struct {
	lo, hi                 expr.Func
	loExcluded, hiExcluded bool
}

// hasRanges reports whether a span asks for more than single values.
func hasRanges(spans []plan.Span) bool { return slices.ContainsFunc(spans, isRange) }

func isRange(s plan.Span) bool { return len(s.Eq) == 0 }

func newLookupRanges(c *operator.Compiler, n *plan.Scan) (*lookupRanges, error) {
	if n.Index.HashColumns > 0 || len(n.Index.Columns) != 1 {
		return nil, pgerr.Assertion("range of the index %q", n.Index.Name)
	}
	r := &lookupRanges{run: c.Run}
	var single []plan.Span
	for _, s := range n.Spans {
		if !isRange(s) {
			single = append(single, s)
			continue
		}
		var e rangeExprs
		var err error
		if e.lo, e.loExcluded, err = endOf(c, s.Lo); err != nil {
			return nil, err
		}
		if e.hi, e.hiExcluded, err = endOf(c, s.Hi); err != nil {
			return nil, err
		}
		r.ranges = append(r.ranges, e)
	}
	var err error
	r.single, err = newLookupKeys(c, n, single)
	return r, err
}

// endOf compiles an end of a range.
func endOf(c *operator.Compiler, b *plan.Bound) (f expr.Func, excluded bool, err error) {
	if b == nil {
		return nil, false, nil
	}
	f, err = c.Optional(b.Values[0], nil)
	return f, !b.Inclusive, err
}

// eval computes the ranges: in order and disjoint.
func (r *lookupRanges) eval() (list []operator.ValueRange, err error) {
	for i := range r.ranges {
		if list, err = r.ranges[i].append(list); err != nil {
			return nil, err
		}
	}
	if r.single != nil {
		if err := r.single.eval(); err != nil {
			return nil, err
		}
		for _, key := range r.single.list.Rows {
			if err := r.run.Tick(); err != nil {
				return nil, err
			}
			if !key[0].IsNull() {
				list = append(list, operator.ValueRange{Lo: key[0], Hi: key[0]})
			}
		}
	}
	slices.SortFunc(list, compareStarts)
	out := list[:0]
	for _, x := range list {
		if err := r.run.Tick(); err != nil {
			return nil, err
		}
		if len(out) == 0 || apart(&out[len(out)-1], &x) {
			out = append(out, x)
		} else if last := &out[len(out)-1]; compareEnds(last, &x) < 0 {
			last.Hi, last.HiExcluded = x.Hi, x.HiExcluded
		}
	}
	return out, nil
}

func (r *lookupRanges) close() {
	if r.single != nil {
		r.single.close()
	}
}

// append adds the range to list, unless an end is NULL: nothing compares with that.
func (e *rangeExprs) append(list []operator.ValueRange) ([]operator.ValueRange, error) {
	x := operator.ValueRange{LoExcluded: e.loExcluded, HiExcluded: e.hiExcluded}
	var err error
	if e.lo != nil {
		if x.Lo, err = e.lo(nil); err != nil || x.Lo.IsNull() {
			return list, err
		}
	}
	if e.hi != nil {
		if x.Hi, err = e.hi(nil); err != nil || x.Hi.IsNull() {
			return list, err
		}
	}
	return append(list, x), nil
}

// compareStarts orders ranges by where they begin.
func compareStarts(a, b operator.ValueRange) int {
	if a.Lo.IsNull() || b.Lo.IsNull() {
		return compareFlags(!a.Lo.IsNull(), !b.Lo.IsNull())
	}
	return cmp.Or(types.Compare(a.Lo, b.Lo), compareFlags(a.LoExcluded, b.LoExcluded))
}

// compareEnds orders ranges by where they end.
func compareEnds(a, b *operator.ValueRange) int {
	if a.Hi.IsNull() || b.Hi.IsNull() {
		return compareFlags(a.Hi.IsNull(), b.Hi.IsNull())
	}
	return cmp.Or(types.Compare(a.Hi, b.Hi), compareFlags(!a.HiExcluded, !b.HiExcluded))
}

// apart reports whether no value lies in both a and b, which does not begin before a.
func apart(a, b *operator.ValueRange) bool {
	if a.Hi.IsNull() || b.Lo.IsNull() {
		return false
	}
	c := types.Compare(a.Hi, b.Lo)
	return c < 0 || c == 0 && (a.HiExcluded || b.LoExcluded)
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
