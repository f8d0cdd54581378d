// Package ingest writes the entries of new indexes: keys that nobody else writes, and nobody reads before the
// transaction that makes them known commits.
//
// A Writer collects the entries of each index in a run, sorts the run, looks for duplicates, and writes it
// in blocks. A few entries are written by the statement's transaction. Many are ingested while the next ones
// come: kv.DB.Ingest takes no locks, and the engines get a block as a table
// (docs/decisions/0016-ingestion.md). Entries that come in order are not collected for longer than it takes
// to fill a block.
//
//	Add ─▶ run of an index ─ full ─▶ sort, verify ─▶ output ─┬─▶ the statement's transaction (few, or it must)
//	                                                         └─▶ transactions beside it      (many)
//
// Above it: what fills indexes. Below it: kv. Read writer.go, then run.go and output.go.
//
// Invariants:
//
//  1. Of two entries with the same key of an index, one of them unique, the second is a DuplicateError: they
//     are neighbours in a run, or the later one is not above all keys of the runs before, which
//     is looked up; but that of a writer that goes on (Resume) is equal to one that is there, of the same row. The one of the lowest row is reported. (Writer.Verify; TestDuplicates, TestDuplicateOfOverlappingRuns, TestFirstDuplicate)
//  2. A Writer holds at most runBytes of entries, and a block for each of its goroutines. (Writer.full)
//  3. All entries go to one output, which is chosen before the first is written. (Writer.decide, Finish)
//  4. No block is on its way when Close returns. (ingested.close)
//
// A Writer belongs to one goroutine.
package ingest
