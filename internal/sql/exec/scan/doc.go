// Package scan reads and locks rows: tables through any of their indexes, and virtual tables.
//
// Above it: exec, and mutation and join, which look up rows. Below it: operator,
// tableaccess, rowcodec, inverted, kv.
//
// Main types in reading order: spanSet (the key ranges of a scan), scanOp (their entries page by page,
// many ranges in one request), indexJoinOp with Lookups (rows behind entries, many keys in one
// request), rowLocker and lockRowsOp (row locks), RowAccess (rows of several pairs), tokenSource with
// postings (inverted indexes), virtualOp, oneTimeFilterOp; over columns vectorScan, pageReaders (workers that read,
// decode and filter pages), parallelScan (the parts of a large index, by several workers), sortedRows (the rows behind
// many entries, by several workers) and VectorLookups (what many left rows of a lookup join ask for; prefetcher has a
// worker read a part of it).
//
// Invariants:
//
//  1. A row that changed after the statement's snapshot is looked at again in its newest version, with
//     all conditions of the scan that found it, or the statement fails with a retry error
//     (rowLocker.recheck, lockRowsOp.lock).
//
//  2. A statement that may not lock rows fails, whether or not there are any (rowLocker.permitted,
//     called by every Open).
//
//  3. Rows of a batch are returned before the page that they live in is replaced (scanOp.Next,
//     indexJoinOp.read; exec.fakeTxn overwrites pages).
//
//  4. A point read allocates nothing (TestPointAllocations in exec).
//
//  5. The goroutine of a worker touches the page that it reads and the worker's own State alone; the
//     transaction notes what was read on the statement's goroutine (pageReader.decode and finish; the
//     race detector over parallelscans.slt and manyrowsbehind.slt).
//
// Concurrency: an operator belongs to one goroutine, but for the workers of pageReaders.
package scan
