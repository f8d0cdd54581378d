package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// operator is a running plan node. One goroutine drives it: open, next until no
// rows come, close. open on an open operator starts it again from the beginning
// (with other values of outer columns, perhaps); close is allowed at any time,
// also twice.
type operator interface {
	open() error
	// next empties b and fills it with up to b.max rows; none means the end.
	// It is not called again after the end, nor after Batch.err. The rows live until
	// the next call of next, open or close.
	next(b *Batch) error
	close()
}

// source is an operator together with what its consumer needs to drive it: its
// width and a batch of its own.
type source struct {
	operator
	run   *run
	width int
	batch Batch
	pos   int // next row of batch to hand out, see row
	done  bool
	most  int // rows to ask for at a time
}

func newSource(r *run, op operator, width int) *source {
	return &source{run: r, operator: op, width: width, most: BatchRows}
}

// start opens the operator and forgets what was read from it before.
func (s *source) start() error {
	s.pos, s.done = 0, false
	s.batch.want(s.width, 0)
	return s.operator.open()
}

// stop closes the operator.
func (s *source) stop() {
	s.operator.close()
	s.batch.release()
	s.pos = 0
}

// fetch reads the next batch of up to max rows and reports whether there is any.
func (s *source) fetch(max int) (bool, error) {
	if s.done {
		return false, nil
	}
	if err := s.batch.err; err != nil {
		return false, err
	}
	s.batch.want(s.width, min(max, s.most, s.run.batchRows))
	s.pos = 0
	if err := s.operator.next(&s.batch); err != nil {
		return false, err
	}
	s.done = s.batch.n == 0
	return !s.done, nil
}

// row returns the next row, nil at the end. Rows that expressions may yield
// have no columns at all are non-nil too.
func (s *source) row(max int) (types.Row, error) {
	if s.pos >= s.batch.n {
		if ok, err := s.fetch(max); !ok {
			return nil, err
		}
	}
	s.pos++
	if s.width == 0 {
		return noColumns, nil
	}
	return s.batch.Row(s.pos - 1), nil
}

// noColumns is the row of an operator without columns.
var noColumns = types.Row{}

// input compiles a child node.
func (c *compiler) input(n plan.Node) (*source, expr.Scope, error) {
	op, err := c.node(n)
	if err != nil {
		return nil, nil, err
	}
	cols := n.Props().Cols
	src := newSource(c.run, op, len(cols))
	if c.demand != nil {
		c.demand.sources = append(c.demand.sources, src)
	}
	return src, expr.ScopeOf(cols), nil
}

// node compiles a plan node to an operator.
func (c *compiler) node(n plan.Node) (operator, error) {
	if err := c.Enter(); err != nil {
		return nil, err
	}
	defer c.Leave()
	op, err := c.demanded(n)
	if c.profile != nil && err == nil {
		op = c.profile.measure(n, op)
	}
	return op, err
}

// bare compiles a node to an operator that nothing measures.
func (c *compiler) bare(n plan.Node) (operator, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return c.anyScan(n)
	case *plan.IndexJoin:
		return c.fetch(n)
	case *plan.VirtualScan:
		return c.virtualScan(n)
	case *plan.Values:
		return c.values(n)
	case *plan.Filter:
		return c.filter(n)
	case *plan.Project:
		return c.project(n)
	case *plan.Limit:
		return c.limit(n)
	case *plan.Insert:
		return c.insert(n)
	case *plan.Update:
		return c.update(n)
	case *plan.Delete:
		return c.delete(n)
	default:
		return c.relational(n)
	}
}

// anyScan compiles the read of a table, virtual or not.
func (c *compiler) anyScan(n *plan.Scan) (operator, error) {
	n, once := withoutOneTime(n)
	if n.Virtual() {
		op, err := c.virtualTable(n)
		if err != nil {
			return nil, err
		}
		return c.gated(op, once, nil)
	}
	s, err := c.scan(n)
	if err != nil {
		return nil, err
	}
	return c.gated(s, once, s.locker)
}

// fetch compiles an index join, with a gate as anyScan.
func (c *compiler) fetch(n *plan.IndexJoin) (operator, error) {
	entries, once := withoutOneTime(n.Input)
	more, rest := oneTime(n.Filter, n.Cols)
	if once = append(once, more...); len(once) > 0 {
		m := *n
		m.Input, m.Filter = entries, rest
		n = &m
	}
	j, err := c.indexJoin(n)
	if err != nil {
		return nil, err
	}
	return c.gated(j, once, j.locker)
}

// relational compiles the operators that combine or reorder rows.
func (c *compiler) relational(n plan.Node) (operator, error) {
	switch n := n.(type) {
	case *plan.Sort:
		return c.sort(n)
	case *plan.GroupBy:
		return c.groupBy(n)
	case *plan.Distinct:
		return c.distinct(n)
	case *plan.Join:
		return c.join(n)
	case *plan.SetOp:
		return c.setOp(n)
	case *plan.ProjectSet:
		return c.projectSet(n)
	case *plan.Window:
		return c.window(n)
	case *plan.With:
		return c.with(n)
	case *plan.CTEScan:
		return c.cteScan(n)
	case *plan.LockRows:
		return c.lockRows(n)
	case *plan.Merge:
		return c.merge(n)
	case *plan.ReferringRows:
		return c.referringRows(n)
	case *plan.CopyRows:
		return c.copyRows(n)
	}
	return nil, pgerr.Assertion("plan node %T is not executable", n)
}

// count evaluates a LIMIT, OFFSET or bound: NULL or nil is the given default.
func count(f expr.Func, none int64) (int64, error) {
	if f == nil {
		return none, nil
	}
	d, err := f(nil)
	if err != nil || d.IsNull() {
		return none, err
	}
	return d.Int(), nil
}

// rowBound is a compiled plan.RowBound.
type rowBound struct{ count, offset expr.Func }

func (c *compiler) bound(b plan.RowBound) (rowBound, error) {
	var out rowBound
	var err error
	if out.count, err = c.Optional(b.Count, nil); err != nil {
		return out, err
	}
	out.offset, err = c.Optional(b.Offset, nil)
	return out, err
}

// rows returns how many rows are needed, -1 for all.
func (b *rowBound) rows() (int64, error) {
	if b.count == nil {
		return -1, nil
	}
	n, err := count(b.count, -1)
	if err != nil || n < 0 {
		return -1, err
	}
	skip, err := count(b.offset, 0)
	if err != nil || skip < 0 || n+skip < 0 {
		return -1, err
	}
	return n + skip, nil
}

// copySlots maps an input row to another order of columns.
func copySlots(dst, src types.Row, pos []int) {
	for i, p := range pos {
		dst[i] = src[p]
	}
}

// stable copies the strings of a row into memory that outlives the buffers of
// the operator that made it.
func stable(a *scratch, row types.Row) error {
	for i := range row {
		var err error
		if row[i], err = a.datum(row[i]); err != nil {
			return err
		}
	}
	return nil
}

// scratch is memory for the strings of one batch; reset frees it all.
type scratch struct {
	buf []byte
}

func (a *scratch) reset() {
	if cap(a.buf) > maxScratch {
		a.buf = nil
	}
	a.buf = a.buf[:0]
}

// maxScratch is the largest scratch that is kept for the next batch.
const maxScratch = 64 << 10

// bytes returns a copy of b that lives until reset. What was returned before
// stays valid when the buffer grows: the old memory is left to it.
func (a *scratch) bytes(b []byte) []byte {
	if len(a.buf)+len(b) > cap(a.buf) {
		a.buf = make([]byte, 0, max(2*cap(a.buf), len(b), 256))
	}
	n := len(a.buf)
	a.buf = append(a.buf, b...)
	return a.buf[n:len(a.buf):len(a.buf)]
}

// datum returns d with its string in scratch.
func (a *scratch) datum(d types.Datum) (types.Datum, error) {
	switch d.Family() {
	case types.StringFamily:
		return types.NewString(a.string(d.Str())), nil
	case types.BytesFamily:
		return types.NewBytes(a.string(d.Str())), nil
	case types.UUIDFamily:
		return types.NewUUID(a.string(d.Str())), nil
	case types.JSONFamily:
		return types.NewJSON(a.string(d.Str())), nil
	case types.DecimalFamily:
		if _, _, small := d.SmallDecimal(); small {
			return d, nil
		}
	case types.ArrayFamily, types.RecordFamily, types.IntervalFamily, types.EnumFamily, types.InetFamily, types.MACFamily,
		types.BitFamily, types.RangeFamily, types.MultirangeFamily, types.TSVectorFamily, types.TSQueryFamily, types.JSONPathFamily, types.OpaqueFamily:
	default:
		return d, nil
	}
	var tmp [64]byte
	c, _, err := types.DecodeEncoded(viewString(a.bytes(types.AppendEncoded(tmp[:0], d))))
	return c, err
}

func (a *scratch) string(s string) string {
	if s == "" {
		return ""
	}
	return viewString(a.bytes(viewBytes(s)))
}
