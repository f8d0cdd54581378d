package fragment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxBytes bounds a fragment: a plan with larger constants stays at the gateway.
const MaxBytes = 1 << 20

// Unfit says why a plan can't be written as a fragment.
type Unfit struct{ Why string }

// Error implements error.
func (e *Unfit) Error() string { return "not a fragment: " + e.Why }

// Value computes an expression that reads no column.
type Value func(e plan.Expr) (types.Datum, error)

// Fits reports whether a plan can be written, whatever values its parameters have.
func Fits(n plan.Node) bool {
	_, err := encode(n, func(e plan.Expr) (types.Datum, error) { return types.Null, nil })
	return err == nil
}

// Encode writes a chain of operators down to a Scan, but for the descriptor of its table and its keys. value computes the
// parts of its expressions that depend on more than the rows. The error is an Unfit.
func Encode(n plan.Node, value Value) ([]byte, error) { return encode(n, value) }

func encode(n plan.Node, value Value) ([]byte, error) {
	w := &writer{value: value, visible: map[plan.ColID]bool{}}
	w.node(n)
	if len(w.b) > MaxBytes {
		w.unfit("it is too large")
	}
	return w.b, w.err
}

// writer appends to a fragment. After an error it appends nothing that matters.
type writer struct {
	b       []byte
	err     error
	value   Value
	visible map[plan.ColID]bool // columns that expressions may refer to
	depth   int
}

func (w *writer) unfit(why string) {
	if w.err == nil {
		w.err = &Unfit{Why: why}
	}
}

func (w *writer) byte(v byte)   { w.b = append(w.b, v) }
func (w *writer) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)   { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) text(s string) { w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...) }

func (w *writer) flags(list ...bool) {
	for _, f := range list {
		if f {
			w.byte(1)
		} else {
			w.byte(0)
		}
	}
}

// The tags of operators. They are never used again for another one.
const (
	tagScan byte = iota + 1
	tagFilter
	tagProject
	tagGroupBy
	tagSort
)

// node writes an operator behind its input, so that what refers to columns comes after what produces them.
func (w *writer) node(n plan.Node) {
	if w.err != nil {
		return
	}
	if w.depth++; w.depth > maxDepth {
		w.unfit("operators are nested too deep")
		return
	}
	defer func() { w.depth-- }()
	switch n := n.(type) {
	case *plan.Scan:
		w.byte(tagScan)
		w.scan(n)
	case *plan.Filter:
		w.byte(tagFilter)
		w.node(n.Input)
		w.expr(n.Cond)
		w.show(n.Cols)
	case *plan.Project:
		w.byte(tagProject)
		w.node(n.Input)
		w.exprs(n.Exprs)
		w.show(n.Cols)
	case *plan.GroupBy:
		w.byte(tagGroupBy)
		w.node(n.Input)
		w.groupBy(n)
	case *plan.Sort:
		w.byte(tagSort)
		w.node(n.Input)
		w.sort(n)
	default:
		w.unfit(fmt.Sprintf("an operator %T", n))
	}
}

// show writes the columns of an operator, which the one above sees.
func (w *writer) show(cols []plan.Column) {
	w.uint(uint64(len(cols)))
	w.visible = make(map[plan.ColID]bool, len(cols))
	for i := range cols {
		w.uint(uint64(cols[i].ID))
		w.flags(cols[i].NotNull)
		w.typ(cols[i].Type)
		w.visible[cols[i].ID] = true
	}
}

func (w *writer) ids(list []plan.ColID) {
	w.uint(uint64(len(list)))
	for _, id := range list {
		w.uint(uint64(id))
	}
}

// fitting reports whether rows of a scan can be read by their spans alone, in parts.
func fitting(n *plan.Scan) bool {
	return n.Table.Kind == catalog.KindTable && !n.Table.HasFamilies() && n.Index.EntriesByRow() && n.Tokens == nil && n.Locking == nil &&
		n.Bound.Count == nil && n.Bound.Offset == nil && !n.Reverse
}

func (w *writer) scan(n *plan.Scan) {
	if !fitting(n) {
		w.unfit("a scan that locks, stops or goes backwards")
		return
	}
	w.uint(uint64(n.Index.ID))
	w.uint(uint64(len(n.Ords)))
	for _, ord := range n.Ords {
		w.uint(uint64(ord))
	}
	w.show(n.Cols)
	w.expr(n.Filter)
}

func (w *writer) groupBy(n *plan.GroupBy) {
	if n.Sets != nil || n.Groupings != nil || n.Ordered {
		w.unfit("a grouping that depends on the order of rows, or several at once")
		return
	}
	w.flags(n.Scalar)
	w.ids(n.Keys)
	w.uint(uint64(len(n.Aggs)))
	for i := range n.Aggs {
		a := &n.Aggs[i]
		if a.Distinct || len(a.OrderBy) > 0 || a.Of != nil {
			w.unfit("aggregate " + a.Fn.Name + " with DISTINCT or ORDER BY")
			return
		}
		w.aggregate(a.Fn)
		w.exprs(a.Args)
		w.expr(a.Filter)
	}
	w.show(n.Cols)
}

func (w *writer) sort(n *plan.Sort) {
	if n.Presorted > 0 {
		w.unfit("a sort that depends on the order of rows")
		return
	}
	w.uint(uint64(len(n.Keys)))
	for _, k := range n.Keys {
		w.uint(uint64(k.Col))
		w.flags(k.Desc, k.NullsFirst)
	}
	w.expr(n.Bound.Count)
	w.expr(n.Bound.Offset)
	w.show(n.Cols)
}

// Decode reads what Encode has written, over the table that it was written for. Its operators are all to be computed as
// columns where that is possible.
func Decode(b []byte, t *catalog.Table) (plan.Node, error) {
	r := &reader{Reader: encoding.NewReader(b), table: t}
	n := r.node()
	if r.err == nil && (r.Bad() || r.Len() > 0 || n == nil) {
		r.err = errDamaged
	}
	if r.err != nil {
		return nil, r.err
	}
	return n, plan.Verify(n, nil)
}

var errDamaged = errors.New("fragment: damaged")

// reader takes the parts of a fragment off its bytes. After an error everything is zero.
type reader struct {
	encoding.Reader
	err     error
	table   *catalog.Table
	visible map[plan.ColID]bool
	depth   int
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("fragment: "+format, args...)
	}
	r.Fail()
}

func (r *reader) text() string { return string(r.LenBytes()) }
func (r *reader) flag() bool   { return r.enum(1) == 1 }
func (r *reader) number() int  { return int(r.Uvarint() & 0x7fffffff) }

// enum reads a number up to last.
func (r *reader) enum(last byte) byte {
	v := r.Byte()
	if v > last {
		r.fail("%d where at most %d may be", v, last)
		return 0
	}
	return v
}

func (r *reader) node() plan.Node {
	if r.depth++; r.depth > maxDepth {
		r.fail("operators are nested too deep")
	}
	defer func() { r.depth-- }()
	tag := r.Byte()
	if r.Bad() {
		return nil
	}
	if tag == tagScan {
		return r.scan()
	}
	if tag < tagFilter || tag > tagSort {
		r.fail("an operator of kind %d", tag)
		return nil
	}
	in := r.node()
	if r.Bad() || in == nil {
		return nil
	}
	switch tag {
	case tagFilter:
		n := &plan.Filter{Input: in, Cond: r.must()}
		n.Cols, n.Vectorized = r.show(), true
		return n
	case tagProject:
		n := &plan.Project{Input: in, Exprs: r.exprs()}
		n.Cols, n.Vectorized = r.show(), true
		return n
	case tagGroupBy:
		return r.groupBy(in)
	}
	return r.sort(in)
}

func (r *reader) show() []plan.Column {
	n := r.Count(5)
	cols := make([]plan.Column, 0, n)
	r.visible = make(map[plan.ColID]bool, n)
	for range n {
		c := plan.Column{ID: plan.ColID(r.Uvarint()), NotNull: r.flag(), Type: r.typ()}
		if r.Bad() {
			return nil
		}
		r.visible[c.ID] = true
		cols = append(cols, c)
	}
	return cols
}

func (r *reader) ids() []plan.ColID {
	var out []plan.ColID
	for range r.Count(1) {
		id := plan.ColID(r.Uvarint())
		if !r.visible[id] {
			r.fail("column %d is not there", id)
			return nil
		}
		out = append(out, id)
	}
	return out
}

func (r *reader) scan() plan.Node {
	n := &plan.Scan{Table: r.table, Alias: r.table.Name}
	id := catalog.IndexID(r.Uvarint())
	for i := range r.table.Indexes {
		if r.table.Indexes[i].ID == id {
			n.Index = &r.table.Indexes[i]
		}
	}
	for range r.Count(1) {
		ord := r.Uvarint()
		if ord >= uint64(len(r.table.Columns)) {
			r.fail("there is no column %d", ord)
			return nil
		}
		n.Ords = append(n.Ords, int(ord))
	}
	n.Cols, n.Vectorized = r.show(), true
	n.Filter = r.expr()
	if r.Bad() {
		return nil
	}
	if n.Index == nil || !fitting(n) || len(n.Ords) != len(n.Cols) {
		r.fail("index %d can't be read", id)
		return nil
	}
	for i, ord := range n.Ords {
		if n.Cols[i].Type.Family != r.table.Columns[ord].Type.Family {
			r.fail("column %d has another type", ord)
			return nil
		}
	}
	return n
}

func (r *reader) groupBy(in plan.Node) plan.Node {
	n := &plan.GroupBy{Input: in, Scalar: r.flag(), Keys: r.ids(), Phase: plan.PartialGroups}
	for range r.Count(3) {
		a := plan.Agg{Fn: r.aggregate(), Args: r.exprs(), Filter: r.expr()}
		if r.Bad() {
			return nil
		}
		if len(a.Args) != len(a.Fn.Args) {
			r.fail("%d arguments of %s", len(a.Args), a.Fn.Key())
			return nil
		}
		n.Aggs = append(n.Aggs, a)
	}
	n.Cols = r.show()
	if len(n.Cols) != len(n.Keys)+len(n.Aggs) {
		r.fail("%d columns of a grouping", len(n.Cols))
		return nil
	}
	for i := range n.Aggs {
		n.Aggs[i].Out = n.Cols[len(n.Keys)+i]
	}
	return n
}

func (r *reader) sort(in plan.Node) plan.Node {
	n := &plan.Sort{Input: in}
	for range r.Count(3) {
		k := plan.SortKey{Col: plan.ColID(r.Uvarint()), Desc: r.flag(), NullsFirst: r.flag()}
		if !r.visible[k.Col] {
			r.fail("column %d is not there", k.Col)
		}
		n.Keys = append(n.Keys, k)
	}
	n.Bound = plan.RowBound{Count: r.expr(), Offset: r.expr()}
	n.Cols = r.show()
	return n
}
