package tableaccess

import (
	"bytes"
	"context"

	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Writer writes rows of one table with all their index entries. It checks
// NOT NULL and uniqueness. Every statement writes through one; CHECK constraints
// are expressions and belong to the caller.
//
// Rows have one datum per Table.Columns. A writer belongs to one goroutine and
// may be used for many transactions.
type Writer struct {
	table   *catalog.Table
	Indexes []IndexWriter // the primary first
	tokens  []tokenWriter // of the inverted indexes
	notNull []int
	check   *rowcodec.RowCheck
	fc      *types.FormatContext
	derived *derivation
	// Always makes Update write rows that do not change too, so that a statement that
	// meets them again knows that it has been there.
	Always bool
	Schema string // name of the table's schema, for errors
	shown  func(*catalog.Table) access.Shown
	given  func(column int) bool // see SetGiven

	split       *RowTxn // nil: a row is one pair
	changedCols []bool
	value       []byte // buffer for the value at hand
	probe       []byte
}

// IndexWriter is an index with room for the keys of the row at hand.
type IndexWriter struct {
	*rowcodec.Index
	EntryKey []byte // of the new row
	oldKey   []byte
	changes  bool      // in an update: the entry does
	cond     expr.Pred // of a partial index
	In       bool      // the new row has an entry
	hadEntry bool      // the old row has one
}

// Has reports whether a row has an entry.
func (x *IndexWriter) Has(row types.Row) (bool, error) {
	if x.cond == nil {
		return true, nil
	}
	return x.cond(row)
}

// NewWriter returns a writer of rows of t.
func NewWriter(t *catalog.Table) (*Writer, error) {
	w := &Writer{table: t, check: rowcodec.NewRowCheck(t), changedCols: make([]bool, len(t.Columns))}
	for i := range t.Indexes {
		if err := w.addIndex(&t.Indexes[i]); err != nil {
			return nil, err
		}
	}
	if w.Indexes[0].HasFamilies() {
		w.split = NewRowTxn(w.Indexes[0].Index, AllOrds(t))
	}
	for i := range t.Columns {
		if t.Columns[i].NotNull {
			w.notNull = append(w.notNull, i)
		}
	}
	for _, k := range w.Indexes[0].Key {
		if !t.Columns[k.Ord].NotNull {
			w.notNull = append(w.notNull, k.Ord) // a primary key column never is NULL
		}
	}
	return w, nil
}

func (w *Writer) addIndex(ix *catalog.Index) error {
	if ix.Method() != catalog.MethodInverted {
		x, err := rowcodec.Compile(w.table, ix)
		w.Indexes = append(w.Indexes, IndexWriter{Index: x})
		return err
	}
	x, err := inverted.Compile(w.table, ix)
	w.tokens = append(w.tokens, tokenWriter{Index: x, primary: w.Indexes[0].Index})
	return err
}

// changeTokens replaces the entries of old in inverted indexes by those of row.
func (w *Writer) changeTokens(txn Txn, old, row types.Row) error {
	for i := range w.tokens {
		if err := w.tokens[i].change(txn, old, row, w.fc); err != nil {
			return err
		}
	}
	return nil
}

// Table returns the table.
func (w *Writer) Table() *catalog.Table { return w.table }

// SetShown sets what errors may show of the table's rows, which is asked once there is one.
func (w *Writer) SetShown(f func(*catalog.Table) access.Shown) { w.shown = f }

// SetGiven has errors show columns to which the statement gives values, whatever else they may show: its user knows them.
func (w *Writer) SetGiven(f func(column int) bool) { w.given = f }

// SetFormat sets how values in error messages look, and what is told of the steps.
func (w *Writer) SetFormat(fc *types.FormatContext) { w.fc = fc }

// CheckNotNull returns 23502 if a NOT NULL column is NULL.
func (w *Writer) CheckNotNull(row types.Row) error {
	for _, ord := range w.notNull {
		if row[ord].IsNull() {
			return w.notNullError(ord, row)
		}
	}
	return nil
}

// Insert adds a row, or returns 23502 or 23505.
func (w *Writer) Insert(ctx context.Context, txn Txn, row types.Row) error {
	if err := w.CheckNotNull(row); err != nil {
		return err
	}
	if err := w.NewKeys(row); err != nil {
		return err
	}
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if !x.In || !x.UniqueKeyComplete(row) {
			continue
		}
		res, err := txn.Lock(ctx, x.EntryKey, lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		if res.Found {
			return w.DuplicateError(x.Index, row)
		}
	}
	return w.PutAll(txn, row)
}

// Upsert writes a row over whatever has its primary key, which it locks but does not read. The
// table must have no index but the primary, with one pair for each row. self reports that the present statement has written the
// key already: then nothing was done.
func (w *Writer) Upsert(ctx context.Context, txn Txn, row types.Row) (self bool, err error) {
	if err := w.CheckNotNull(row); err != nil {
		return false, err
	}
	if err := w.NewKeys(row); err != nil {
		return false, err
	}
	res, err := txn.LockUnchanged(ctx, w.Indexes[0].EntryKey, lock.Update, lock.WaitBlock)
	if err != nil || res.Self && res.Found {
		return err == nil, err
	}
	return false, w.PutAll(txn, row)
}

// NewKeys is encodeKeys for a row that is about to be written, which it checks.
func (w *Writer) NewKeys(row types.Row) error {
	if err := w.check.Check(row, w.fc); err != nil {
		return err
	}
	return w.EncodeKeys(row)
}

// EncodeKeys sets the key of each index for a row.
func (w *Writer) EncodeKeys(row types.Row) error {
	for i := range w.Indexes {
		x := &w.Indexes[i]
		var err error
		if x.In, err = x.Has(row); err != nil {
			return err
		}
		if !x.In {
			continue
		}
		if x.EntryKey, err = x.AppendKey(x.EntryKey[:0], row); err != nil {
			return err
		}
	}
	return nil
}

// PutAll writes the entries of a row whose keys EncodeKeys or NewKeys has set.
func (w *Writer) PutAll(txn Txn, row types.Row) error {
	for i := range w.Indexes {
		if !w.Indexes[i].In {
			continue
		}
		if err := w.put(txn, &w.Indexes[i], row); err != nil {
			return err
		}
	}
	return w.changeTokens(txn, nil, row)
}

func (w *Writer) put(txn Txn, x *IndexWriter, row types.Row) error {
	if x.HasFamilies() {
		return w.putPairs(txn, x, row)
	}
	if err := w.room(txn, x, row); err != nil {
		return err
	}
	value, err := x.AppendValue(w.value[:0], row)
	if err != nil {
		return err
	}
	return w.putValue(txn, x.EntryKey, value)
}

// room reserves the memory of a long row before it is encoded. Other indexes than the primary,
// and column families, rarely hold all that is long: they count when they are written.
func (w *Writer) room(txn Txn, x *IndexWriter, row types.Row) error {
	if x != &w.Indexes[0] {
		return nil
	}
	n := 0
	for i := range row {
		n += len(row[i].Str())
	}
	if n < quota.LargeValue {
		return nil
	}
	return txn.ReserveMemory(n)
}

// putValue writes a value that was made in the writer's buffer. A long one is not copied: the
// transaction gets the buffer.
func (w *Writer) putValue(txn Txn, key, value []byte) error {
	if len(value) >= quota.LargeValue {
		w.value = nil
		return txn.PutOwned(key, value)
	}
	w.value = value
	return txn.Put(key, value)
}

// Update replaces a row whose primary key the caller has locked. Only what
// changes is written. A new primary key makes it a delete and an insert.
func (w *Writer) Update(ctx context.Context, txn Txn, old, row types.Row) error {
	if err := w.CheckNotNull(row); err != nil {
		return err
	}
	any := false
	for i := range row {
		w.changedCols[i] = row[i] != old[i]
		any = any || w.changedCols[i]
	}
	if !any && !w.Always {
		return nil
	}
	if err := w.check.Check(row, w.fc); err != nil {
		return err
	}
	if err := w.encodeChanged(old, row); err != nil {
		return err
	}
	if err := w.lockNewKeys(ctx, txn, old, row); err != nil {
		return err
	}
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if !x.changes {
			continue
		}
		stays := x.hadEntry && x.In && bytes.Equal(x.EntryKey, x.oldKey)
		if x.hadEntry && !stays {
			if err := w.remove(txn, x, x.oldKey, old); err != nil {
				return err
			}
		}
		if !x.In {
			continue
		}
		write := w.put
		if stays && x.HasFamilies() {
			write = w.updatePairs
		}
		if err := write(txn, x, row); err != nil {
			return err
		}
	}
	return w.changeTokens(txn, old, row)
}

// encodeChanged sets the keys of the indexes whose entries change.
func (w *Writer) encodeChanged(old, row types.Row) error {
	changed := func(ord int) bool { return w.changedCols[ord] }
	for i := range w.Indexes {
		x := &w.Indexes[i]
		var err error
		if x.In, err = x.Has(row); err != nil {
			return err
		}
		if x.hadEntry, err = x.Has(old); err != nil {
			return err
		}
		if x.changes = i == 0 || x.In != x.hadEntry || x.In && x.EntryChanged(changed); !x.changes {
			continue
		}
		if x.EntryKey, err = x.AppendKey(x.EntryKey[:0], row); err != nil {
			return err
		}
		if x.oldKey, err = x.AppendKey(x.oldKey[:0], old); err != nil {
			return err
		}
	}
	return nil
}

// lockNewKeys makes sure that the unique keys a row gets are free, and locks
// those that it gives up, so that nobody takes them before this commits.
func (w *Writer) lockNewKeys(ctx context.Context, txn Txn, old, row types.Row) error {
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if !x.changes || !x.Unique() || x.In && x.hadEntry && bytes.Equal(x.EntryKey, x.oldKey) {
			continue
		}
		if i > 0 && x.hadEntry && x.UniqueKeyComplete(old) {
			if _, err := txn.Lock(ctx, x.oldKey, lock.Update, lock.WaitBlock); err != nil {
				return err
			}
		}
		if !x.In || !x.UniqueKeyComplete(row) {
			continue
		}
		res, err := txn.Lock(ctx, x.EntryKey, lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		if res.Found {
			return w.DuplicateError(x.Index, row)
		}
	}
	return nil
}

// Delete removes a row whose primary key the caller has locked.
func (w *Writer) Delete(ctx context.Context, txn Txn, row types.Row) error {
	if err := w.EncodeKeys(row); err != nil {
		return err
	}
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if !x.In {
			continue
		}
		if i > 0 && x.UniqueKeyComplete(row) {
			if _, err := txn.Lock(ctx, x.EntryKey, lock.Update, lock.WaitBlock); err != nil {
				return err
			}
		}
		if err := w.remove(txn, x, x.EntryKey, row); err != nil {
			return err
		}
	}
	return w.changeTokens(txn, row, nil)
}

// PrimaryKey returns the key under which a row lives, valid until the next call.
func (w *Writer) PrimaryKey(row types.Row) ([]byte, error) {
	var err error
	w.probe, err = w.Indexes[0].AppendKey(w.probe[:0], row)
	return w.probe, err
}

// PrimaryValue returns the value a row has, valid until the next call.
func (w *Writer) PrimaryValue(row types.Row) ([]byte, error) {
	var err error
	w.value, err = w.Indexes[0].AppendValue(w.value[:0], row)
	return w.value, err
}

// KeyOrds returns the positions in Table.Columns of an index's declared key.
func KeyOrds(x *rowcodec.Index) []int {
	ords := make([]int, x.Declared)
	for i := range ords {
		ords[i] = x.Key[i].Ord
	}
	return ords
}

// AllOrds returns the positions of all columns.
func AllOrds(t *catalog.Table) []int {
	ords := make([]int, len(t.Columns))
	for i := range ords {
		ords[i] = i
	}
	return ords
}

// OnePair reports whether a row has one entry in each index, of one pair.
func (w *Writer) OnePair() bool { return w.split == nil && len(w.tokens) == 0 }

// Entries calls add with the entries of a row that is about to be written: the position of the index, and whether
// the key is unique. Key and value are valid during the call. It is for tables where OnePair holds.
func (w *Writer) Entries(row types.Row, add func(index int, key, value []byte, unique bool) error) error {
	if err := w.NewKeys(row); err != nil {
		return err
	}
	for i := range w.Indexes {
		x := &w.Indexes[i]
		if !x.In {
			continue
		}
		value, err := x.AppendValue(w.value[:0], row)
		if err != nil {
			return err
		}
		w.value = value
		if err := add(i, x.EntryKey, value, x.UniqueKeyComplete(row)); err != nil {
			return err
		}
	}
	return nil
}

// EntryDuplicateError is DuplicateError for an entry of an index whose row is no longer at hand.
func (w *Writer) EntryDuplicateError(index int, key, value []byte) error {
	x := w.Indexes[index].Index
	ords := KeyOrds(x)
	values, row := make(types.Row, len(ords)), make(types.Row, len(w.table.Columns))
	if err := x.NewDecoder(ords).Decode(key, value, values); err != nil {
		return err
	}
	for i, ord := range ords {
		row[ord] = values[i]
	}
	return w.DuplicateError(x, row)
}
