// Package catalog holds the descriptors of databases, schemas and relations:
// what they are, how they are stored, how a session resolves, pins, locks and
// changes them.
//
// Above it: plan, planner, rowcodec, exec (descriptors and Resolver), ddl (the
// changes), pgcatalog (listings), the session. Below it: kv, where descriptors
// live as ordinary transactional keys, concurrency (the wait graph) and types.
//
// Reading order: descriptor.go (what is described), resolver.go (what planning
// asks), Store (store.go: the committed versions of a node), object (object.go:
// locks on one descriptor), Collection (collection.go: one session's view),
// resolve.go and change.go (its reads and writes), sequence.go (values of
// sequences), cleanup.go (data of dropped objects).
//
// Changes are made in the session's transaction: descriptor and name keys are
// written through it, and the changed descriptors are kept in the Collection
// until it ends. The Store learns of them after the commit.
//
// Invariants:
//
//  1. A published descriptor never changes; each change is a copy with a higher
//     Version (Store.publish).
//  2. A transaction that used a descriptor holds a pin on it until its end, and
//     nobody changes a descriptor that another transaction has pinned
//     (Collection.pin, Collection.LockExclusive).
//  3. New versions are published, and Generation raised, before the locks of
//     the transaction that made them are released (Collection.Committed).
//  4. What the Store holds equals the committed keys: after a commit whose
//     outcome is not known it reads them again (Collection.RolledBack).
//  5. A snapshot older than the newest version of a descriptor is moved to the
//     present before the descriptor is used, or the statement fails with a
//     retry error (Collection.freshen).
//  6. Ids and oids are never used twice (idGenerator.take).
//
// Concurrency: a Store is safe for concurrent use. A Collection belongs to one
// session; other goroutines only look at its pins.
//
// It does not: understand SQL expressions (defaults and checks are text), check
// privileges, or write rows.
package catalog
