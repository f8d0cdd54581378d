// Package access decides what roles may do with the objects of the catalog: PostgreSQL's rules over the
// access control lists and owners that descriptors have.
//
// Above it: plan (Use is part of a plan), prepared (which has plans checked), ddl (which asks before it
// changes something), pgcatalog (has_table_privilege and its like), the session. Below it: catalog and
// privilege.
//
// Reading order: object.go (privileges on objects of each kind, owners), use.go (what a statement does
// with a relation, and whether it may), rowsecurity.go (whose rows policies restrict, and who sees keys), system.go (what is built in), errors.go (42501 as PostgreSQL
// words it).
//
// Invariants:
//
//  1. A plan runs only if each Use of it was allowed to whom it is made for, with the catalog as it is now
//     (Check; prepared.Planner checks before it keeps a plan, and makes it again when catalog.AccessGeneration or
//     a descriptor has changed; TestRevokedAtOnce in sql).
//
// Nothing here reads the store: descriptors and roles are in memory.
package access
