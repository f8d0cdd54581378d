// Package deferral keeps the checks of constraints that wait for the end of a transaction, and what
// SET CONSTRAINTS says of them.
//
// Operators that write rows ask whether a constraint is deferred and hand in its checks
// (operator.ConstraintMode). The session tells when a transaction begins, returns to a savepoint and
// is about to commit. Below is catalog, where constraints are found by their names. How a check is
// made is the affair of exec/mutation: the session gives Init a function. Read constraints.go
// (Constraints), set.go (SET CONSTRAINTS).
//
// Invariants:
//
//  1. A check leaves the queue only when it has succeeded, or when what it is about was undone
//     (checkThose, RollbackTo, Restore; TestFailedCheckWaits).
//  2. A savepoint keeps the queue and the modes as they were: neither is changed in place
//     (Constraints.Mark; TestSavepoint).
//  3. At most maxWaiting checks wait (Constraints.Defer).
//
// One goroutine at a time uses Constraints.
package deferral
