package scan

import (
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rowLocker locks rows that a scan found, as PostgreSQL does: when the row
// changed after the statement's snapshot, the newest version is looked at
// instead, and must still satisfy the scan's conditions.
type rowLocker struct {
	run      *operator.Run
	rows     RowAccess
	table    *catalog.Table
	strength lock.Strength
	wait     lock.WaitPolicy
	changes  string // see plan.Locking
	// direct: a point read of the primary key without further conditions, which
	// may lock first and read only then.
	direct bool

	primary *rowcodec.Index
	newest  *rowcodec.Decoder // the scan's columns from a primary entry
	// For a scan of a secondary index:
	pkDec   *rowcodec.Decoder // primary key columns from a secondary entry
	pkRow   types.Row
	allDec  *rowcodec.Decoder // the whole row from a primary entry
	fullRow types.Row
	key     []byte
	entry   []byte
}

// lockVerbs name the clauses in messages.
var lockVerbs = [...]string{
	lock.KeyShare: "SELECT FOR KEY SHARE", lock.Share: "SELECT FOR SHARE",
	lock.NoKeyUpdate: "SELECT FOR NO KEY UPDATE", lock.Update: "SELECT FOR UPDATE",
}

// rowLocker prepares locking of the rows of scan n, of which ords are produced.
func newRowLocker(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index, ords []int, l plan.Locking) (*rowLocker, error) {
	k := &rowLocker{
		run: c.Run, table: n.Table, strength: l.Strength, wait: l.Wait, changes: l.Changes,
		direct: n.Filter == nil && x.Primary(), primary: x,
	}
	if !x.Primary() {
		p, err := rowcodec.Compile(n.Table, n.Table.Primary())
		if err != nil {
			return nil, err
		}
		k.primary = p
		pk := tableaccess.KeyOrds(p)
		k.pkDec, k.pkRow = x.NewDecoder(pk), make(types.Row, len(pk))
		all := tableaccess.AllOrds(n.Table)
		k.allDec, k.fullRow = p.NewDecoder(all), make(types.Row, len(all))
	}
	k.newest = k.primary.NewDecoder(ords)
	k.rows = NewRowAccess(c.Run, k.primary, ords)
	return k, nil
}

// permitted returns 25006 if the statement may not lock rows. A nil rowLocker locks none.
func (k *rowLocker) permitted() error {
	if k == nil {
		return nil
	}
	return k.run.Env.MayWrite(k.table, lockVerbs[k.strength])
}

// acquire locks a primary key.
func (k *rowLocker) acquire(key []byte) (kv.LockResult, error) {
	res, err := k.rows.Txn().Lock(k.run.Ctx, key, k.strength, k.wait)
	return k.acquired(key, res, err)
}

// acquired returns an error if a lock was refused, or a row was changed within the statement that is about to change it.
func (k *rowLocker) acquired(key []byte, res kv.LockResult, err error) (kv.LockResult, error) {
	if err != nil {
		return res, tableaccess.LockError(err, k.table.Name)
	}
	if res.Self {
		err = tableaccess.SeenWithin(k.run.Txn, key, k.changes)
	}
	return res, err
}

// acquireSeen is acquire for a row that was read: the value is missing if it has not changed.
func (k *rowLocker) acquireSeen(key []byte) (kv.LockResult, error) {
	res, err := k.rows.Txn().LockUnchanged(k.run.Ctx, key, k.strength, k.wait)
	return k.acquired(key, res, err)
}

// keyOf returns the primary key of an index entry's row, valid until the next call.
func (k *rowLocker) keyOf(entryKey, entryValue []byte) ([]byte, error) {
	if k.pkDec == nil {
		return entryKey, nil
	}
	if err := k.pkDec.Decode(entryKey, entryValue, k.pkRow); err != nil {
		return nil, err
	}
	return k.primaryKey(k.pkRow)
}

// lock locks a row that the scan has found by its primary key, and reports whether it is to be
// returned; row then holds its newest version.
func (k *rowLocker) lock(s *scanOp, key []byte, row types.Row) (bool, error) {
	res, err := k.acquireSeen(key)
	if err != nil || res.Skipped || !res.Found || res.Self {
		return false, err
	}
	if !res.Changed {
		return true, nil
	}
	return k.recheck(s.spans, s.filter, s.text.Bytes(key), s.text.Value(res.Value), row)
}

// primaryKey encodes the key of the row with these primary key columns.
func (k *rowLocker) primaryKey(pk types.Row) ([]byte, error) {
	if k.fullRow == nil {
		k.fullRow = make(types.Row, len(k.table.Columns))
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
func (k *rowLocker) recheck(spans *spanSet, filter expr.Pred, key, value []byte, row types.Row) (bool, error) {
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

// Rows are locked one by one, each when its turn comes. Where many follow each other their
// locks are taken ahead, as far as nobody stands in the way: one request instead of one
// for each row, which may be on another node.
const (
	// MinAhead is how many rows are worth it.
	MinAhead = 4
	// MaxAhead bounds the keys of one request.
	MaxAhead = 4 * rowcontainer.BatchRows
)

// lockAhead locks rows by their primary keys, if they are enough to be worth it and the
// Statement waits for locks: in the order in which it comes to them then.
func (k *rowLocker) lockAhead(keys [][]byte) error {
	if len(keys) < MinAhead || k.wait != lock.WaitBlock {
		return nil
	}
	return tableaccess.LockError(k.run.Txn.LockAhead(k.run.Ctx, keys, k.strength), k.table.Name)
}

// lockSeenAhead is lockAhead for rows that were read.
func (k *rowLocker) lockSeenAhead(keys [][]byte) error {
	if len(keys) < MinAhead || k.wait != lock.WaitBlock {
		return nil
	}
	return tableaccess.LockError(k.rows.Txn().LockUnchangedAhead(k.run.Ctx, keys, k.strength), k.table.Name)
}
