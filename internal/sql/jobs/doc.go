// Package jobs lets everybody see long statements that change tables, and pause, resume and cancel them, on whichever node
// they run (SHOW JOBS, PAUSE JOB, RESUME JOB, CANCEL JOB), and has another node go on with a job whose node died
// (docs/decisions/0030-jobs-that-survive.md).
//
// A job is the record of a statement. The statement's own transaction makes the change and ends the job: there is no change
// without its job, and no job makes its change twice. What a job needs to survive lies in two keys:
//
//	record   what everybody may see, what another node needs to run the statement (Again), how far it has come
//	         (Progress), who runs it and until when that node may write for it
//	claim    how often the job was claimed; it is there as long as the change was not made and the job has not ended, whether or not
//	         another node can go on with it.
//	         The transaction that makes the change deletes it
//
// Above it: sql, which makes a job of a statement that has read many rows, answers the statements above, and runs what it
// has claimed. Below it: kv, where the records are. Read record.go (Record), next.go (what becomes of a job without a
// runner: it decides and does nothing), store.go (Store), job.go (Job), slot.go (when a job is due that nobody asks for).
//
// Invariants:
//
//  1. A record is written by transactions of its own, so that others see it before the statement's transaction ends
//     (Store.change).
//  2. Wishes are kept in the record until the job has seen them, or it has ended (Store.Wish, Job.beat; TestWishes).
//  3. A job has one runner: who claims it raises its epoch, in the record and in the claim, and whoever has another epoch
//     neither writes the record nor makes the change (Job.mine, Publish; TestTakenOver).
//  4. What a runner writes outside the transaction of its statement is committed before Record.Until, and nobody claims the
//     job earlier, by any clock: all that a later runner writes is newer (Job.Lease, Until, Record.next; TestNext).
//  5. A job without a claim has made its change, and one that has ended stays so (Record.next, Job.End; TestNext, TestGivenUp).
//     Who has failed learns if another node goes on all the same, or may do so (Job.End, Store.Start; TestUnwrittenEnd).
//  6. What is protected for a job is given up once it has no claim (Job.End, Store.Sweep; TestProtected).
//  7. At most maxKept records are kept of jobs that have ended (Store.prune; TestPrune).
//
// Concurrency: a Store is safe for concurrent use. A Job belongs to its statement's goroutine, beside a goroutine of its own
// that writes the record; what the statement writes with may call Lease and Until.
package jobs
