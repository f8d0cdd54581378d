package exec

import (
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// rowLocker locks rows that a scan found, as PostgreSQL does: when the row
// changed after the statement's snapshot, the newest version is looked at
// instead, and must still satisfy the scan's conditions.
type rowLocker struct {
	run      *run
	table    *catalog.Table
	strength kvpb.Strength
	wait     kvpb.WaitPolicy
	// direct: a point read of the primary key without further conditions, which
	// may lock first and read only then.
	direct bool

	primary *rowcodec.Index
	newest  *rowcodec.Decoder // the scan's columns from a primary entry
	// For a scan of a secondary index:
	pkDec   *rowcodec.Decoder // primary key columns from a secondary entry
	pkRow   Row
	allDec  *rowcodec.Decoder // the whole row from a primary entry
	fullRow Row
	key     []byte
	entry   []byte
}

func lockStrength(s plan.LockStrength) kvpb.Strength {
	switch s {
	case plan.ForKeyShare:
		return kvpb.LockKeyShare
	case plan.ForShare:
		return kvpb.LockShare
	case plan.ForNoKeyUpdate:
		return kvpb.LockNoKeyUpdate
	}
	return kvpb.LockUpdate
}

func lockWait(w plan.LockWait) kvpb.WaitPolicy {
	switch w {
	case plan.LockNoWait:
		return kvpb.WaitError
	case plan.LockSkipLocked:
		return kvpb.WaitSkip
	}
	return kvpb.WaitBlock
}

// verb names the clause in messages.
func (k *rowLocker) verb() string {
	switch k.strength {
	case kvpb.LockKeyShare:
		return "SELECT FOR KEY SHARE"
	case kvpb.LockShare:
		return "SELECT FOR SHARE"
	case kvpb.LockNoKeyUpdate:
		return "SELECT FOR NO KEY UPDATE"
	}
	return "SELECT FOR UPDATE"
}

// rowLocker prepares locking of the rows of scan n, of which ords are produced.
func (c *compiler) rowLocker(n *plan.Scan, x *rowcodec.Index, ords []int, l plan.Locking) (*rowLocker, error) {
	k := &rowLocker{
		run: c.run, table: n.Table, strength: lockStrength(l.Strength), wait: lockWait(l.Wait),
		direct: n.Filter == nil && x.Primary(), primary: x,
	}
	if !x.Primary() {
		p, err := rowcodec.Compile(n.Table, n.Table.Primary())
		if err != nil {
			return nil, err
		}
		k.primary = p
		pk := keyOrds(p)
		k.pkDec, k.pkRow = x.NewDecoder(pk), make(Row, len(pk))
		all := allOrds(n.Table)
		k.allDec, k.fullRow = p.NewDecoder(all), make(Row, len(all))
	}
	k.newest = k.primary.NewDecoder(ords)
	return k, nil
}

// keyOrds returns the positions in Table.Columns of an index's declared key.
func keyOrds(x *rowcodec.Index) []int {
	ords := make([]int, x.Declared)
	for i := range ords {
		ords[i] = x.Key[i].Ord
	}
	return ords
}

func allOrds(t *catalog.Table) []int {
	ords := make([]int, len(t.Columns))
	for i := range ords {
		ords[i] = i
	}
	return ords
}

// acquire locks a primary key.
func (k *rowLocker) acquire(key []byte) (kv.LockResult, error) {
	res, err := k.run.txn.Lock(k.run.ctx, key, k.strength, k.wait)
	if err != nil {
		return res, lockError(err, k.table.Name)
	}
	return res, nil
}

// lock locks the row of an index entry and reports whether it is to be
// returned; row then holds its newest version.
func (k *rowLocker) lock(s *scanOp, entryKey, entryValue []byte, row Row) (bool, error) {
	key := entryKey
	if k.pkDec != nil {
		if err := k.pkDec.Decode(entryKey, entryValue, k.pkRow); err != nil {
			return false, err
		}
		var err error
		if key, err = k.primaryKey(k.pkRow); err != nil {
			return false, err
		}
	}
	res, err := k.acquire(key)
	if err != nil || res.Skipped || !res.Found || res.Self {
		return false, err
	}
	if !res.Changed {
		return true, nil
	}
	return k.recheck(s.spans, s.filter, s.text.bytes(key), s.text.bytes(res.Value), row)
}

// primaryKey encodes the key of the row with these primary key columns.
func (k *rowLocker) primaryKey(pk Row) ([]byte, error) {
	if k.fullRow == nil {
		k.fullRow = make(Row, len(k.table.Columns))
	}
	for i := range pk {
		k.fullRow[k.primary.Key[i].Ord] = pk[i]
	}
	var err error
	k.key, err = k.primary.AppendKey(k.key[:0], k.fullRow)
	return k.key, err
}

// recheck decodes the newest version of a row and checks the scan's ranges, if
// an update can have moved the row out of them, and its filter.
func (k *rowLocker) recheck(spans *spanSet, filter predFn, key, value []byte, row Row) (bool, error) {
	if err := k.newest.Decode(key, value, row); err != nil {
		return false, err
	}
	if !spans.x.Primary() && !spans.all {
		if err := k.allDec.Decode(key, value, k.fullRow); err != nil {
			return false, err
		}
		var err error
		if k.entry, err = spans.x.AppendKey(k.entry[:0], k.fullRow); err != nil {
			return false, err
		}
		if !spans.contains(k.entry) {
			return false, nil
		}
	}
	if filter == nil {
		return true, nil
	}
	return filter(row)
}

// indexJoinOp fetches the table's rows for entries of a secondary index.
type indexJoinOp struct {
	run     *run
	src     *source
	scan    *scanOp
	primary *rowcodec.Index
	dec     *rowcodec.Decoder
	key     []int // positions of the primary key in the input
	fullRow Row
	keyBuf  []byte
	filter  predFn
	bound   rowBound
	locker  *rowLocker
	// entryDec reads the columns of the index scan from the table's row, to
	// check the scan's filter again.
	entryDec *rowcodec.Decoder
	entryRow Row
	text     scratch
	left     int64 // rows still needed, -1 for all
}

func (c *compiler) indexJoin(n *plan.IndexJoin) (operator, error) {
	op, err := c.scan(n.Input)
	if err != nil {
		return nil, err
	}
	j := &indexJoinOp{run: c.run, scan: op.(*scanOp), src: newSource(op, len(n.Input.Cols))}
	if j.primary, err = rowcodec.Compile(n.Table, n.Table.Primary()); err != nil {
		return nil, err
	}
	j.dec, j.fullRow = j.primary.NewDecoder(n.Ords), make(Row, len(n.Table.Columns))
	if j.key, err = scopeOf(n.Input.Cols).positions(n.Key); err != nil {
		return nil, err
	}
	if j.filter, err = c.pred(n.Filter, scopeOf(n.Cols)); err != nil {
		return nil, err
	}
	if j.bound, err = c.bound(n.Bound); err != nil {
		return nil, err
	}
	if n.Locking != nil {
		if j.locker, err = c.rowLocker(n.Input, j.scan.x, n.Ords, *n.Locking); err != nil {
			return nil, err
		}
		j.locker.direct = n.Filter == nil
		j.entryDec, j.entryRow = j.primary.NewDecoder(n.Input.Ords), make(Row, len(n.Input.Ords))
	}
	return j, nil
}

func (j *indexJoinOp) open() error {
	if j.locker != nil && j.run.env.ReadOnly {
		return errReadOnly(j.locker.verb())
	}
	j.left = -1
	if j.filter == nil && j.locker == nil {
		var err error
		if j.left, err = j.bound.rows(); err != nil {
			return err
		}
	}
	return j.src.start()
}

func (j *indexJoinOp) close() { j.src.stop() }

func (j *indexJoinOp) next(b *Batch) error {
	b.clear()
	j.text.reset()
	j.dec.Reset()
	for !b.full() && j.left != 0 {
		want := BatchRows
		if j.filter == nil {
			want = b.room()
			if j.left > 0 {
				want = int(min(int64(want), j.left))
			}
		}
		in, err := j.src.row(want)
		if err != nil || in == nil {
			return err
		}
		ok, err := j.fetch(in, b)
		if err != nil {
			return err
		}
		if ok && j.left > 0 {
			j.left--
		}
	}
	return nil
}

// fetch reads the row of one entry into b and reports whether it is returned.
func (j *indexJoinOp) fetch(in Row, b *Batch) (bool, error) {
	for i, p := range j.key {
		j.fullRow[j.primary.Key[i].Ord] = in[p]
	}
	var err error
	if j.keyBuf, err = j.primary.AppendKey(j.keyBuf[:0], j.fullRow); err != nil {
		return false, err
	}
	key := j.text.bytes(j.keyBuf)
	if j.locker != nil && j.locker.direct {
		row := b.add()
		ok, err := j.lockRow(key, row, false)
		if !ok {
			b.drop()
		}
		return ok, err
	}
	value, found, err := j.run.txn.Get(j.run.ctx, key)
	if err != nil || !found {
		return false, err
	}
	row := b.add()
	if err = j.dec.Decode(key, j.text.bytes(value), row); err != nil {
		return false, err
	}
	ok := true
	if j.filter != nil {
		ok, err = j.filter(row)
	}
	if ok && err == nil && j.locker != nil {
		ok, err = j.lockRow(key, row, true)
	}
	if !ok {
		b.drop()
	}
	return ok, err
}

// lockRow locks a row and decodes its newest version. A row that has not been
// decoded yet needs no look at the snapshot: the index entry, which is of it,
// is all that has to be checked again if the row changed.
func (j *indexJoinOp) lockRow(key []byte, row Row, decoded bool) (bool, error) {
	res, err := j.locker.acquire(key)
	if err != nil || res.Skipped || !res.Found || res.Self {
		return false, err
	}
	if !res.Changed {
		if !decoded {
			err = j.dec.Decode(key, j.text.bytes(res.Value), row)
		}
		return err == nil, err
	}
	value := j.text.bytes(res.Value)
	ok, err := j.locker.recheck(j.scan.spans, j.filter, key, value, row)
	if !ok || err != nil || j.scan.filter == nil {
		return ok, err
	}
	if err := j.entryDec.Decode(key, value, j.entryRow); err != nil {
		return false, err
	}
	return j.scan.filter(j.entryRow)
}
