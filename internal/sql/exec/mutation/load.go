package mutation

import (
	"errors"

	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// From so many rows or bytes on, an INSERT tries to load.
const (
	loadRows  = 8192
	loadBytes = 1 << 20
)

// loading is the loading of a table by COPY FROM or INSERT ... SELECT. The entries of the first rows are collected.
// If there come more, operator.Loads may let them be written beside the transaction. If it does not, and where no
// more come, they are written as those of any rows.
type loading struct {
	ins   *insertOp
	on    bool          // rows go here
	load  operator.Load // nil: they are collected
	rows  int64
	row   int64 // number of the row at hand
	arena []byte
	// entries are those that are collected.
	entries []loadedEntry
	keys    [][]byte // scratch of write
	// blamed is the row of the last DuplicateEntry, if there was one.
	blamed *int64
}

// loadedEntry is an entry whose key and value are in the arena.
type loadedEntry struct {
	index, at, keyLen, valueLen int
	unique                      bool
	row                         int64
}

// mayLoad reports whether rows can be loaded if there are many: nothing but the entries has to be written, checked or
// returned for them.
func (ins *insertOp) mayLoad(n *plan.Insert) bool {
	_, values := n.Input.(*plan.Values)
	return !values && (!n.Triggers.Any() || ins.early.may && n.Triggers.OnlyBeforeRows() || plant.On(plant.TriggersLoaded)) && ins.conflict == nil && !ins.hasReturn && len(ins.refs)+len(ins.referrers)+len(ins.uniques) == 0 && ins.writer.OnePair()
}

// begin begins an execution.
func (l *loading) begin(ins *insertOp) {
	l.ins, l.on, l.rows, l.blamed = ins, ins.loadable && !ins.single && ins.run.Env.Loads != nil, 0, nil
	l.drop()
}

// close ends an execution.
func (l *loading) close() {
	if l.load != nil {
		l.load.Close()
		l.load = nil
	}
	l.drop()
}

func (l *loading) drop() { l.entries, l.arena = nil, nil }

// number is that by which errors name the row at position n of the present batch.
func (l *loading) number(n int) int64 {
	if c := l.ins.run.Env.Copy; c != nil {
		return c.Number(n)
	}
	return l.rows
}

// add takes a row, the one at position n of its batch.
func (l *loading) add(row types.Row, n int) error {
	l.row = l.number(n)
	if l.load == nil && (len(l.entries) >= loadRows || len(l.arena) >= loadBytes || isLong(row)) {
		if err := l.decide(row); err != nil {
			return err
		}
	}
	if !l.on {
		return l.ins.writer.Insert(l.ins.run.Ctx, l.ins.run.Txn, row)
	}
	l.rows++
	return l.ins.writer.Entries(row, l.entry)
}

func (l *loading) entry(index int, key, value []byte, unique bool) error {
	if l.load != nil {
		return l.duplicate(l.load.Add(index, key, value, unique, l.row))
	}
	l.entries = append(l.entries, loadedEntry{index: index, at: len(l.arena), keyLen: len(key), valueLen: len(value), unique: unique, row: l.row})
	l.arena = append(append(l.arena, key...), value...)
	return nil
}

func (e *loadedEntry) key(arena []byte) []byte { return arena[e.at : e.at+e.keyLen] }

func (e *loadedEntry) value(arena []byte) []byte {
	return arena[e.at+e.keyLen : e.at+e.keyLen+e.valueLen]
}

// decide begins to load, or writes what is collected and has further rows written one by one. Long rows are, so that
// their memory is accounted for.
func (l *loading) decide(next types.Row) error {
	if !isLong(next) {
		var err error
		if l.load, err = l.ins.run.Env.Loads.Begin(l.ins.run.Ctx, l.ins.writer.Table()); err != nil {
			return err
		}
	}
	if l.load == nil {
		l.on = false
		return l.write()
	}
	for i := range l.entries {
		e := &l.entries[i]
		if err := l.duplicate(l.load.Add(e.index, e.key(l.arena), e.value(l.arena), e.unique, e.row)); err != nil {
			return err
		}
	}
	l.drop()
	return nil
}

func isLong(row types.Row) bool {
	n := 0
	for i := range row {
		n += len(row[i].Str())
	}
	return n >= quota.LargeValue
}

// write writes the collected entries into the transaction.
func (l *loading) write() error {
	txn, ctx := l.ins.run.Txn, l.ins.run.Ctx
	defer l.drop()
	for ahead, i := 0, 0; i < len(l.entries); i++ {
		if i == ahead {
			ahead = l.nextKeys(i)
			if len(l.keys) >= scan.MinAhead {
				if err := txn.LockAhead(ctx, l.keys, lock.Update); err != nil {
					return err
				}
			}
		}
		e := &l.entries[i]
		key, value := e.key(l.arena), e.value(l.arena)
		if e.unique {
			res, err := txn.Lock(ctx, key, lock.Update, lock.WaitBlock)
			if err != nil {
				return err
			}
			if res.Found {
				return l.duplicate(&operator.DuplicateEntry{Index: e.index, Key: key, Value: value, Row: e.row})
			}
		}
		if err := txn.Put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// nextKeys sets keys to the unique keys from entry i on that are locked in one request, and returns behind
// which entry they end.
func (l *loading) nextKeys(i int) int {
	l.keys = l.keys[:0]
	for ; i < len(l.entries) && len(l.keys) < scan.MaxAhead; i++ {
		if e := &l.entries[i]; e.unique {
			l.keys = append(l.keys, e.key(l.arena))
		}
	}
	return i
}

// duplicate makes the error of a DuplicateEntry that for the user.
func (l *loading) duplicate(err error) error {
	var d *operator.DuplicateEntry
	if !errors.As(err, &d) {
		return err
	}
	l.blamed = &d.Row
	return l.ins.writer.EntryDuplicateError(d.Index, d.Key, d.Value)
}

// failed is called when a row could not be taken. What rows before it have to say comes first.
func (l *loading) failed(err error) error {
	err = l.firstError(err)
	l.locate()
	return err
}

// locate tells the source of COPY FROM which row was a duplicate.
func (l *loading) locate() {
	if c := l.ins.run.Env.Copy; c != nil && l.blamed != nil {
		c.FailedAtNumber(*l.blamed)
	}
}

func (l *loading) firstError(err error) error {
	var user *pgerr.Error
	if !l.on || !errors.As(err, &user) {
		return err
	}
	var first error
	switch {
	case l.load != nil:
		first = l.duplicate(l.load.Verify())
	default:
		first = l.write()
	}
	if first != nil {
		return first
	}
	return err
}

// finish is called behind the last row.
func (l *loading) finish() error {
	defer l.locate()
	switch {
	case !l.on:
		return nil
	case l.load == nil:
		l.on = false
		return l.write()
	}
	l.on = false
	ok, err := l.load.Finish(l.ins.run.Ctx, l.rows)
	if err != nil || ok {
		return l.duplicate(err)
	}
	return l.writeLoaded()
}

// writeLoaded writes the loaded rows into the transaction, since the table can't take them over.
func (l *loading) writeLoaded() error {
	w, run := l.ins.writer, l.ins.run
	if c := run.Env.Copy; c != nil {
		c.FailedAtNumber(0) // it is not known any more which
	}
	dec := w.Indexes[0].NewDecoder(tableaccess.AllOrds(w.Table()))
	row := make(types.Row, len(w.Table().Columns))
	return l.load.Each(run.Ctx, func(key, value []byte) error {
		dec.Reset()
		if err := dec.Decode(key, value, row); err != nil {
			return err
		}
		if err := w.ComputeOld(row); err != nil {
			return err
		}
		if err := run.Canceled(); err != nil {
			return err
		}
		return w.Insert(run.Ctx, run.Txn, row)
	})
}
