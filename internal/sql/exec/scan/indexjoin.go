package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rowKeys makes the keys of a table's rows from entries of a secondary index.
type rowKeys struct {
	primary *rowcodec.Index
	key     []int // positions of the primary key in an entry
	row     types.Row
}

func newRowKeys(n *plan.IndexJoin) (k rowKeys, err error) {
	if k.primary, err = rowcodec.Compile(n.Table, n.Table.Primary()); err != nil {
		return k, err
	}
	k.row = make(types.Row, len(n.Table.Columns))
	k.key, err = expr.ScopeOf(n.Input.Cols).Positions(n.Key)
	return k, err
}

// append appends the key of the row of an entry.
func (k *rowKeys) append(dst []byte, entry types.Row) ([]byte, error) {
	for i, p := range k.key {
		k.row[k.primary.Key[i].Ord] = entry[p]
	}
	return k.primary.AppendKey(dst, k.row)
}

// indexJoinOp fetches the table's rows for entries of a secondary index.
type indexJoinOp struct {
	run    *operator.Run
	rows   RowAccess
	src    *operator.Source
	scan   *scanOp
	behind rowKeys
	dec    *rowcodec.Decoder
	keyBuf []byte
	filter expr.Pred
	bound  operator.RowBound
	locker *rowLocker
	// entryDec reads the columns of the index scan from the table's row, to
	// check the scan's filter again.
	entryDec *rowcodec.Decoder
	entryRow types.Row
	text     rowcontainer.Scratch
	left     int64 // rows still needed, -1 for all
	// many are the rows of the entries up to position until of the input's batch.
	many  Lookups
	until int
	most  int      // entries to look up at a time
	keys  [][]byte // of rows that are about to be locked
}

func newIndexJoinOp(c *operator.Compiler, n *plan.IndexJoin) (*indexJoinOp, error) {
	s, err := newScanOp(c, n.Input)
	if err != nil {
		return nil, err
	}
	j := &indexJoinOp{run: c.Run, scan: s, src: operator.NewSource(c.Run, s, len(n.Input.Cols))}
	if j.behind, err = newRowKeys(n); err != nil {
		return nil, err
	}
	j.rows, j.dec = NewRowAccess(c.Run, j.behind.primary, n.Ords), j.behind.primary.NewDecoder(n.Ords)
	j.many.rows = &j.rows
	if j.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols)); err != nil {
		return nil, err
	}
	if j.bound, err = c.Bound(n.Bound); err != nil {
		return nil, err
	}
	if n.Locking != nil {
		if j.locker, err = newRowLocker(c, n.Input, j.scan.x, n.Ords, *n.Locking); err != nil {
			return nil, err
		}
		j.locker.direct = n.Filter == nil
		j.entryDec, j.entryRow = j.behind.primary.NewDecoder(n.Input.Ords), make(types.Row, len(n.Input.Ords))
	}
	return j, nil
}

func (j *indexJoinOp) Open() error {
	if err := j.locker.permitted(); err != nil {
		return err
	}
	j.left, j.until, j.most = -1, 0, minLookups
	if j.filter == nil && j.locker == nil {
		var err error
		if j.left, err = j.bound.Rows(); err != nil {
			return err
		}
	}
	return j.src.Start()
}

func (j *indexJoinOp) Close() {
	j.src.Stop()
	j.many.Release()
}

func (j *indexJoinOp) Next(b *rowcontainer.Batch) error {
	for {
		if err := j.read(b); err != nil || b.Len() == 0 || j.locker == nil || j.direct() {
			return err
		}
		if err := j.lockRead(b); err != nil || b.Len() > 0 {
			return err
		}
	}
}

// read fills b with rows, which are locked if they are read by that.
func (j *indexJoinOp) read(b *rowcontainer.Batch) error {
	b.Clear()
	j.text.Reset()
	j.dec.Reset()
	j.keys = j.keys[:0]
	for !b.Full() && j.left != 0 {
		if j.src.Pos >= j.src.Batch.Len() {
			ok, err := j.src.Fetch(j.wanted(b))
			if err != nil || !ok {
				return err
			}
			j.until = 0
		}
		if j.src.Pos >= j.until && j.direct() {
			if err := j.lockAhead(b); err != nil {
				return err
			}
		} else if j.src.Pos >= j.until {
			if b.Len() > 0 {
				return nil // its rows live in what would be replaced
			}
			if err := j.lookUp(b); err != nil {
				return err
			}
		}
		j.src.Pos++
		ok, err := j.fetch(j.src.Batch.Row(j.src.Pos-1), b)
		if err != nil {
			return err
		}
		if ok && j.left > 0 {
			j.left--
		}
	}
	return nil
}

// direct reports whether rows are read by locking them, one by one.
func (j *indexJoinOp) direct() bool { return j.locker != nil && j.locker.direct }

// wanted is how many entries to ask for.
func (j *indexJoinOp) wanted(b *rowcontainer.Batch) int {
	if j.filter != nil {
		return rowcontainer.BatchRows
	}
	if j.left > 0 {
		return int(min(int64(b.Room()), j.left))
	}
	return b.Room()
}

// lookUp reads the rows of the next entries of the input's batch.
func (j *indexJoinOp) lookUp(b *rowcontainer.Batch) error {
	j.many.Reset()
	n := min(j.src.Batch.Len()-j.src.Pos, max(b.Room(), j.most), maxLookups)
	j.most = min(4*j.most, maxLookups)
	j.until = j.src.Pos + n
	if n == 1 {
		return nil // a get does it
	}
	for i := j.src.Pos; i < j.until; i++ {
		buf, err := j.behind.append(j.many.Room(), j.src.Batch.Row(i))
		if err != nil {
			return err
		}
		j.many.Added(buf)
	}
	return j.many.Fetch()
}

// lockAhead locks the rows of the next entries of the input's batch.
func (j *indexJoinOp) lockAhead(b *rowcontainer.Batch) (err error) {
	n := min(j.src.Batch.Len()-j.src.Pos, b.Room())
	j.until = j.src.Pos + n
	j.keys = j.keys[:0]
	for i := j.src.Pos; i < j.until; i++ {
		if j.keyBuf, err = j.behind.append(j.keyBuf[:0], j.src.Batch.Row(i)); err != nil {
			return err
		}
		j.keys = append(j.keys, j.text.Bytes(j.keyBuf))
	}
	return j.locker.lockAhead(j.keys)
}

// lockRead locks the rows of b, whose keys are known, and drops those that are not to be
// returned.
func (j *indexJoinOp) lockRead(b *rowcontainer.Batch) error {
	if err := j.locker.lockSeenAhead(j.keys); err != nil {
		return err
	}
	i := -1
	return b.Keep(0, func(row types.Row) (bool, error) {
		i++
		return j.lockRow(j.keys[i], row, true)
	})
}

// entry returns the key and value of the row of an entry.
func (j *indexJoinOp) entry(in types.Row) (key, value []byte, found bool, err error) {
	if j.many.Len() > 0 {
		key = j.many.Key(j.src.Pos - 1 - (j.until - j.many.Len()))
		value, found, err = j.many.Get(key)
		return key, value, found, err
	}
	if j.keyBuf, err = j.behind.append(j.keyBuf[:0], in); err != nil {
		return nil, nil, false, err
	}
	key = j.text.Bytes(j.keyBuf)
	if value, found, err = j.rows.Txn().Get(j.run.Ctx, key); err != nil || !found {
		return nil, nil, false, err
	}
	j.run.NoteSize(len(value))
	return key, j.text.Value(value), true, nil
}

// fetch reads the row of one entry into b and reports whether it is returned.
func (j *indexJoinOp) fetch(in types.Row, b *rowcontainer.Batch) (bool, error) {
	if j.direct() {
		var err error
		if j.keyBuf, err = j.behind.append(j.keyBuf[:0], in); err != nil {
			return false, err
		}
		row := b.Add()
		ok, err := j.lockRow(j.text.Bytes(j.keyBuf), row, false)
		if !ok {
			b.DropLast()
		}
		return ok, err
	}
	key, value, found, err := j.entry(in)
	if err != nil || !found {
		return false, err
	}
	row := b.Add()
	if err = j.dec.Decode(key, value, row); err != nil {
		return false, err
	}
	ok := true
	if j.filter != nil {
		ok, err = j.filter(row)
	}
	if !ok || err != nil {
		b.DropLast()
		return false, err
	}
	if j.locker != nil {
		j.keys = append(j.keys, key)
	}
	return true, nil
}

// lockRow locks a row and decodes its newest version. A row that has not been
// decoded yet needs no look at the snapshot: the index entry, which is of it,
// is all that has to be checked again if the row changed.
func (j *indexJoinOp) lockRow(key []byte, row types.Row, decoded bool) (bool, error) {
	acquire := j.locker.acquire
	if decoded {
		acquire = j.locker.acquireSeen
	}
	res, err := acquire(key)
	if err != nil || res.Skipped || !res.Found || res.Self {
		return false, err
	}
	if !res.Changed {
		if !decoded {
			err = j.dec.Decode(key, j.text.Value(res.Value), row)
		}
		return err == nil, err
	}
	value := j.text.Value(res.Value)
	ok, err := j.locker.recheck(j.scan.spans, j.filter, key, value, row)
	if !ok || err != nil || j.scan.filter == nil {
		return ok, err
	}
	if err := j.entryDec.Decode(key, value, j.entryRow); err != nil {
		return false, err
	}
	return j.scan.filter(j.entryRow)
}
