// Package backfill fills new indexes from the rows of a table, and verifies the constraints that the
// rows must satisfy meanwhile.
//
// Above it: relations and alter, which say by a Spec how the rows of a table become those of its
// changed form. Below it: planner and exec, which read and convert the rows, and rowcodec. Read build.go
// (Build), together.go (what waits for later commands of a statement), online.go (while others change the table), checkpoint.go (what another node goes on from), deferrable.go (keys whose
// entries don't tell whether they are unique), rowids.go (rows that lose their primary key), foreignkey.go (VerifyKey), missing.go (values that rows need not hold), sink.go (what writes entries: into the transaction, or beside it, by kv/ingest, if they are many),
// inspect.go (Inspect: compares indexes with the rows of their table, for INSPECT).
//
// Invariants:
//
//  1. An index becomes visible only with all rows in it and its uniqueness verified (Builder.run; TestIndexSeesConcurrentRows in ddl).
//  2. Data written outside the transaction lies in spans that are cleared unless it commits
//     (sink.leaveTxn; TestLongBuild, TestRolledBackDDLAfterRestart in ddl).
//  3. The indexes of an online build hold what one snapshot of the table has, before and after each of its steps, and the
//     last of these is the one that the statement's transaction sees of the locked table (online.move;
//     TestOnlineIndex, TestOnlineIndexLetsOthersPass, TestOnlineRewrite in ddl). What can't be computed alike again is written
//     only where it replaces what was computed before, or remembered (Builder.followed, rowIDs.keep; TestRewritesShareFirst in ddl).
//     Another node goes on from a checkpoint only if it makes the same of each row, and finishes first the step that was under way:
//     all that it may have written is written again, later (Builder.computedAlike, notes.moves, online.resume; TestKilledAtEveryStep in ddl).
//  4. A constraint that comes beside writers holds for one snapshot of the tables after another, and in the end for what the
//     statement's transaction sees of the locked tables (online.Finish, keyCheck.move; TestOnlineConstraints in ddl).
//  5. The rows of a table are written once for all commands of a statement, unless one must read them before the end
//     (waits; TestRewritesShareFirst in ddl).
package backfill
