// Package statement is what one DDL statement works with: its Env, the names of objects, and the
// locks on them.
//
// Above it: all other packages of ddl. Below it: catalog. Read env.go (Env), names.go (where objects go
// and what they are called), lock.go (finding and locking what a statement changes), online.go (Beside: sharing it first), later.go (what waits for the last command), job.go (what another node goes on from when this one dies), may.go (who may change it), system.go (and what is built in), temp.go (the
// session's temporary schema), describe.go (objects in messages).
//
// Invariants:
//
//  1. What these functions return to be changed is locked exclusively, and was looked up again once
//     it was (Env.LockRelation, LockSchema, LockDatabase; TestSameNameTwice, TestWritersDuringDDL in ddl).
//     What is shared meanwhile is pinned, and what was found out about other objects is checked again once all is locked
//     (Env.Beside, Settle, CheckAgain; TestOnlineConstraints, TestOnlineIndexLetsOthersPass in ddl).
//  2. A name is taken in the transaction that makes its object, or the statement fails
//     (Env.AddRelation, MoveName).
//
// An Env belongs to one statement.
package statement
