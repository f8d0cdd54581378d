// Package rowcontainer holds rows: batches that operators hand upwards, stores that keep copies,
// tables of distinct keys, and what sorts.
//
// Above it: operators. Below it: expr (the state of an execution, comparisons of datums), types,
// quota.
//
// Main types in reading order: Batch (rows on their way), Scratch (memory for the strings of one
// batch), Store with Arena (copies that stay), Buffer (a store for cursors), KeyTable (numbers for
// distinct keys), Ordering and Sorter; File (rows in the temporary file), RowSorter (sorts what does not
// fit the memory), Partitions and Distinct (rows that wait until other keys are done), List (rows that are
// read again, from any of them on).
//
// Who owns the memory of a row: rows in a batch, and the bytes that their strings refer to, live
// until the operator that filled the batch is asked for more. Who keeps a row longer copies it into
// a Store. Containers keep their first buffers from one execution to the next, so that small results
// allocate nothing; large ones go to pools that all programs share (takeDatums).
//
// Invariants:
//
//  1. What a Store, an Arena or a KeyTable keeps is reserved from the statement's memory first, and
//     given back at Close (quota.Account; exec's TestMemoryLimit).
//
//  2. Rows that a Store returned stay intact until it is closed or opened again; of a Batch, until
//     Add or Want (exec.fakeTxn overwrites every buffer that it lends out).
//
//  3. Sorting looks at the context as it compares (Sorter.Sort), and orders as Ordering.Compare does
//     whatever the abbreviated keys are (TestSorterAgrees).
//
//  4. Of the rows of a key all are in memory, or all in Partitions (Partitions.Active; the plant
//     partition-lost).
//
// Concurrency: a container belongs to one goroutine.
package rowcontainer
