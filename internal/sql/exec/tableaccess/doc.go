// Package tableaccess writes the rows of tables as keys and values, with all their index entries, and
// makes rows of several pairs look like one: what PostgreSQL calls a table access method.
//
// Above it: the operators that read and write, ddl (which builds indexes), stats. Below it: rowcodec
// and inverted (how rows and tokens become keys), expr, kv.
//
// Main types in reading order: Txn (what execution needs of a transaction), RowTxn (column families),
// Writer (with IndexWriter and tokenWriter, one for each index), Deriver (generated columns,
// expressions and predicates of indexes, for those who write rows by themselves), Check.
//
// Invariants:
//
//  1. A row is written only under a lock on its primary key, and a unique key is taken only under a
//     lock on it (Writer.Insert, Writer.lockNewKeys; callers of Update and Delete have locked the row).
//
//  2. Generated columns, expressions and predicates of indexes are computed in one place, for all rows
//     that are written (Writer.Compute, Deriver).
//
//  3. A row whose columns are in several families is locked by the lock on its first pair, the one of
//     family 0: everybody who locks or writes another pair has taken that one before, in at least the
//     same strength, so that no one ever waits for another pair (RowTxn.Lock). Under it the other
//     pairs are locked too, which tells whether the row changed, in whatever family. Operators see
//     such a row as one entry (RowTxn; exec's TestRowPages).
//
//  4. No row is written that could not be read: each datum is of its column's type, and fails with an
//     internal error otherwise, whatever the statement was compiled from (rowcodec.RowCheck, called by
//     Writer.NewKeys and Update, and by index builds; exec's TestWriteUnfit).
//
//  5. The memory of a long row is reserved before it is encoded, and its buffer goes to the
//     transaction (Writer.room, Writer.putValue; exec's TestLongRowsNeedRoom).
//
// Concurrency: a Writer, RowTxn or Deriver belongs to one goroutine and one statement at a time.
package tableaccess
