// Package ingest writes the entries of new indexes: many keys that nobody else writes, and nobody reads
// before the transaction that makes them known commits.
//
// A Writer collects the entries of each index in a run. It sorts the run, cuts it into blocks, and writes
// these while the next entries come: kv.DB.Ingest takes no locks, and the engines get a block as a table
// (docs/decisions/0016-ingestion.md). Entries that come in order are not collected for longer than it takes
// to fill a block.
//
// Above it: what fills indexes. Below it: kv. Read writer.go, then run.go.
//
// Invariants:
//
//  1. Of two entries with the same key of an index, one of them unique, the second is a DuplicateError: they
//     are neighbours in a run, or the later one is not above all keys of the runs before, which
//     is looked up (Writer.verify; TestDuplicates, TestDuplicateOfOverlappingRuns).
//  2. A Writer holds at most runBytes of entries, and a block for each of its goroutines (Writer.Add).
//  3. No block is on its way when Close returns (Writer.Close).
//
// A Writer belongs to one goroutine.
package ingest
