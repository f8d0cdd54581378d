// Package ddl executes the statements that change the catalog: CREATE, ALTER,
// DROP, TRUNCATE, COMMENT.
//
// Above it: the session, which calls Exec with the transaction of the
// statement. Below it: catalog (descriptors, locks), planner and exec (queries
// that read, check and convert rows), rowcodec (entries of new indexes), deparse (texts of checks
// whose columns change their types).
//
// Reading order: Env and Exec (env.go), usertype.go (types), names.go (where objects go and what
// they are called), table.go with column.go, constraint.go and index.go (CREATE
// TABLE and CREATE INDEX), rowtext.go (expressions over rows), alter.go and its siblings (ALTER TABLE), build.go
// (filling indexes), generated.go (generated columns, expressions and predicates of
// indexes), foreignkey.go and validatekey.go, drop.go (dependencies), zoneobject.go, zone.go and split.go
// (what has keys, its placement rules, its split keys), and a file per other statement.
//
// Every statement works in the session's transaction: descriptors are written
// there, so ROLLBACK undoes it. An object that others may use is locked
// exclusively first (Collection.LockExclusive) and stays locked until the
// transaction ends. Rows are never rewritten in place: whatever changes their
// form builds new indexes under fresh ids and leaves the old ones to the
// catalog's Cleaner.
//
// Invariants:
//
//  1. A descriptor is changed only after its exclusive lock was taken, or if
//     this transaction created it (Env.lockTable).
//  2. An index becomes visible only with all rows in it and its uniqueness
//     verified (builder.run).
//  3. Data written outside the transaction lies in spans that are cleared unless
//     it commits (sink.leaveTxn).
//  4. An index id is never used again, not even after a rollback: what was
//     written under it may still wait to be cleared (Env.takeIndexID).
//  5. A zone goes with its object: dropped with it, moved with its index
//     (Env.removeZones, Env.moveZone); each that is written is valid with what it
//     inherits and for what inherits from it (Env.checkZones).
//  6. What is not supported is refused with 0A000; what is accepted without
//     effect is listed in noeffect.go and answered with a NOTICE.
//  7. A foreign key stands in the descriptor of the table that has it, and a
//     Reference to it in that of the table it refers to: both change together, both
//     locked (Env.addForeignKey, Env.removeForeignKey, Env.dropReferrer).
//
// Concurrency: an Env belongs to one statement.
//
// It does not: parse, check privileges beyond ownership by root, or execute
// queries of its own design: it has planner and exec run them.
package ddl
