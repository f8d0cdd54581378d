// Package ddl executes the statements that change the catalog: CREATE, ALTER, DROP, TRUNCATE, COMMENT.
//
// Above it: the session, which calls Exec with the transaction of the statement. Below it, each calling
// those under it and none above:
//
//	ddl         Exec: which statement is whose; databases, schemas, CREATE of types and views
//	alter       ALTER and DROP of relations and types
//	relations   CREATE of tables, indexes and sequences: columns, constraints, families
//	backfill    filling indexes         zoneconfig   zones and split keys
//	storedtext  expressions and queries that descriptors hold as text
//	statement   Env, names, locks       noeffect     what is accepted without effect
//
// and below all of them catalog (descriptors, locks), planner and exec (queries that read, check and
// convert rows), rowcodec (entries of new indexes), deparse.
//
// Reading order: exec.go (Exec), then a file per statement or kind of object.
//
// Every statement works in the session's transaction: descriptors are written there, so ROLLBACK
// undoes it. An object that others may use is locked exclusively first (catalog.Collection.LockExclusive) and
// stays locked until the transaction ends.
//
// Invariants:
//
//  1. A statement changes nothing in a read-only transaction (Exec, readsOnly).
//
//  2. What is not supported is refused with 0A000; what is accepted without effect is listed in
//     noeffect and answered with a NOTICE (Exec; noeffect's TestAll).
//
//  3. A table that was loaded has all rows of the load or none: they are in indexes of which only the descriptor tells
//     that the statement's transaction stores, having seen under the table's lock that there are no other rows (Load.Finish; sql's
//     TestLoadPowerLoss, TestOthersDuringLoad).
//
// The packages below have the others, each where it is checked.
//
// Concurrency: an Env belongs to one statement.
//
// It does not: parse, check privileges beyond ownership by root, or execute queries of its own design:
// it has planner and exec run them.
package ddl
