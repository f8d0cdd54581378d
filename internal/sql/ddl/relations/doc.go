// Package relations makes tables, indexes, sequences and the descriptors of views, and knows what
// their parts demand: columns, constraints, foreign keys, column families, storage parameters.
//
// Above it: alter, which adds such parts to relations that are there. Below it: backfill and
// zoneconfig. Read table.go (CREATE TABLE) with column.go, constraint.go, foreignkey.go, generated.go,
// family.go, like.go, extended.go (statistics objects) and ctas.go; index.go with collation.go and inverted.go; sequence.go; view.go with
// viewtext.go, viewcolumns.go and viewoption.go; storageparam.go, expiry.go; tablespace.go (where relations are
// placed); temp.go (what differs for temporary ones).
//
// Invariants:
//
//  1. An index id is never used again, not even after a rollback: what was written under it may still
//     wait to be cleared (TakeIndexID).
//  2. A foreign key stands in the descriptor of the table that has it, and a Reference to it in that
//     of the table it refers to: both change together, both locked (alter.addForeignKey,
//     RemoveForeignKey, DropReferrers).
//  3. Every column of a stored table is in one family (AddFamily; indexes/families.slt in sql).
package relations
