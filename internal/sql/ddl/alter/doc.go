// Package alter changes and drops relations and types: ALTER TABLE, VIEW, SEQUENCE, INDEX, DOMAIN and
// TYPE, and DROP of them.
//
// They are one package for they need each other: DROP TYPE … CASCADE drops columns, dropping a column
// drops what depends on it, and a changed type changes the relations that are made of it.
//
// Above it: ddl. Below it: relations (what a relation consists of), backfill (which builds indexes
// again), storedtext (texts that name what changes). Read alter.go (Alteration: one command) with
// alterphases.go (several in one statement); altercolumn.go, alterconstraint.go, altertrigger.go,
// alterview.go, owner.go, columnoption.go, storageparam.go, expiry.go, tablespace.go and validatekey.go (commands);
// altertype.go with retypetexts.go (types of columns); drop.go (dependencies) with droproutine.go, dropoperator.go, dropcast.go, dropextended.go, eventtrigger.go, dropextension.go, policy.go, temp.go; rename.go; rowsecurity.go;
// usertype.go, alterdomain.go, attribute.go, relabel.go, typetexts.go and rowtype.go (types and what is
// made of them).
//
// Invariants:
//
//  1. A descriptor is changed only after its exclusive lock was taken, or if this transaction created
//     it, or while it is shared and before it is locked, so that the change is seen by the transaction alone (statement's
//     Env.LockTable, Env.Lock).
//  2. Rows are never rewritten in place: whatever changes their form builds new indexes under fresh
//     ids and leaves the old ones to the catalog's Cleaner (Alteration.renewIndex, clearIndex).
//  3. What is dropped takes with it all that depends on it, or the statement fails and names it
//     (dropper.run, dropper.report).
//  4. Everything that holds a copy of a type gets the changed one (RedefineType, retypeUsers,
//     PutRelation).
package alter
