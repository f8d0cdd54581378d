package tableaccess

import "github.com/lichendb/lichen/internal/sql/types"

// Writing the rows of a table with several families: see rowcodec, and RowTxn for who
// locks what.

// Whole returns the transaction by which to lock and read whole rows of the table.
func (w *Writer) Whole(txn Txn) Txn {
	if w.split == nil {
		return txn
	}
	w.split.Txn = txn
	return w.split
}

// putPairs writes a row of which there is nothing.
func (w *Writer) putPairs(txn Txn, x *IndexWriter, row types.Row) error {
	return w.writePairs(txn, x, row, func(int) bool { return true }, false)
}

// updatePairs writes those pairs of a row, which keeps its key, in which columns change.
// One that does not change gets its first pair written if it is to be known again.
func (w *Writer) updatePairs(txn Txn, x *IndexWriter, row types.Row) error {
	changed := func(ord int) bool { return w.changedCols[ord] }
	any := false
	for i := range x.Families() {
		any = any || x.FamilyChanged(i, changed)
	}
	return w.writePairs(txn, x, row, func(i int) bool {
		return x.FamilyChanged(i, changed) || i == 0 && !any
	}, true)
}

// writePairs writes the chosen pairs of a row, or deletes those that it does not have.
func (w *Writer) writePairs(txn Txn, x *IndexWriter, row types.Row, chosen func(i int) bool, remove bool) error {
	defer x.SetFamily(x.EntryKey, 0)
	for i := range x.Families() {
		if !chosen(i) {
			continue
		}
		value, there, err := x.AppendPair(w.value[:0], i, row)
		if err != nil {
			return err
		}
		x.SetFamily(x.EntryKey, i)
		switch {
		case there:
			err = w.putValue(txn, x.EntryKey, value)
		case remove:
			err = txn.Delete(x.EntryKey)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the entry of a row, all its pairs if there are several.
func (w *Writer) remove(txn Txn, x *IndexWriter, key []byte, row types.Row) error {
	if !x.HasFamilies() {
		return txn.Delete(key)
	}
	defer x.SetFamily(key, 0)
	for i := range x.Families() {
		if !x.Holds(i, row) {
			continue
		}
		x.SetFamily(key, i)
		if err := txn.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
