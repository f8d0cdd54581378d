// Package jobs lets everybody see long statements that change tables, and pause, resume and cancel them, on whichever node
// they run: SHOW JOBS, PAUSE JOB, RESUME JOB, CANCEL JOB.
//
// A job is the record of a statement, nothing that could go on without it: the statement's transaction makes the change, and
// what becomes of that undoes it. So a job whose node dies has failed, with its change rolled back.
//
// Above it: sql, which makes a job of a statement that has read many rows, and answers the statements above. Below
// it: kv, where the records are. Read record.go (Record, Store), job.go (Job).
//
// Invariants:
//
//  1. A record is written by transactions of its own, so that others see it before the statement's transaction ends
//     (Store.change).
//  2. Wishes are kept in the record until the job has seen them, or it has ended (Store.Wish, Job.beat; TestWishes).
//  3. A job that has not written its record for Silence has ended with its node, and says so (Record.settled; TestSilent).
//  4. At most maxKept records are kept of jobs that have ended (Store.prune; TestPrune).
//
// Concurrency: a Store is safe for concurrent use. A Job belongs to its statement's goroutine, beside a goroutine of its own
// that writes the record.
package jobs
