// Package catalog holds the descriptors of databases, schemas and relations:
// what they are, how they are stored, how a session resolves, pins, locks and
// changes them.
//
// Above it: plan, planner, rowcodec, exec (descriptors and Resolver), ddl (the
// changes), pgcatalog (listings), the session. Below it: kv, where descriptors
// live as ordinary transactional keys, concurrency (the wait graph) and types.
//
// Reading order: descriptor.go (what is described), Resolver (resolve.go: what planning
// asks), Store (store.go: the committed versions of a node), object (object.go:
// locks on one descriptor), Collection (collection.go: one session's view),
// resolve.go and change.go (its reads and writes), listing.go (reads of all there is, and by oid), sequence.go (values of
// sequences), usertype.go (types, whose definition every user holds a copy of),
// cleanup.go (data of dropped objects), temp.go (schemas of temporary relations). There is a file per
// kind of object and per part of a table (role.go, tablespace.go, foreignkey.go, indexmethod.go, …). Where several nodes serve SQL:
// gateway (gateway.go: whether the node may use its cache), membership (the records
// by which gateways know of one another, a package of its own), peers.go (what a node does for changes
// made elsewhere), peerlock.go (what a node that makes one asks of the others),
// watch.go (nodes that fall silent), refresh.go (reading the catalog again).
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
//     (Collection.pin, Collection.LockExclusive). A commit with an unknown outcome may
//     happen up to its deadline, after the end of its transaction: who changes the
//     descriptor then takes no snapshot before that (Collection.commitsUntil,
//     Collection.freshen; TestUnknownCommit).
//  3. New versions are published, and Generation raised, before the locks of
//     the transaction that made them are released (Collection.Committed).
//  4. What the Store holds equals the committed keys: after a commit whose
//     outcome is not known it reads them again (Collection.RolledBack).
//  5. A snapshot older than the newest version of a descriptor is moved to the
//     present before the descriptor is used, or the statement fails with a
//     retry error (Collection.freshen).
//  6. Ids and oids are never used twice (idgen.Generator.Take).
//
// With several gateways:
//
//  7. A session uses cached descriptors only while the node's registration is
//     valid. What its transactions have pinned under a registration that ended is
//     void, and they can't commit: the node loads everything anew
//     (Collection.enterFor, gateway.register; M1 and M3 of membership).
//  8. Before a transaction changes an object, it has locked it on every gateway
//     that may use it. It lists its lock as active first and reads the records
//     then, outside its own snapshot, so at any isolation level; a new gateway
//     commits its records first, asks all others for active locks then, and loads
//     its cache last. So either the changer reads the new record, or the new
//     gateway is notified of the lock. A changer that can't be asked is struck off,
//     and 9 holds (gateway.lockPeers, gateway.register). The stored descriptor is
//     locked before that, so that changers of one object never hold it on some
//     gateways each (Collection.lockStored). A changer that has no lock yet waits for gateways that don't
//     answer before it locks anything (gateway.awaitPeers; TestDeadPeerHoldsNobodyUp). A lock that is given up before the end of its transaction is forgotten
//     everywhere before the transaction asks for another (gateway.withdraw).
//  9. A change commits only while its gateway is registered as it was when the
//     transaction began to use the catalog (Collection.fence; M4 of membership). So
//     after the deletion of a record others may drop the gateway's locks, having
//     read the catalog again (gateway.watchOnce).
//  10. A change is published on all gateways, and there before its locks are
//     released, before its statement returns (gateway.announceEnd); this may be cut
//     short after releaseWait, while the locks stay.
//  11. What was read back is published in the order it was read
//     (gateway.rereads), and only if it differs from what is there
//     (Store.publishFresh).
//
// Of listings and lookups without a pin:
//
//  12. They show what the transaction sees: its own changes over what was committed last,
//     or the past that it reads. A listing is made once for all sessions and dropped with
//     the generation it is of, or with the next change of the transaction that it belongs
//     to (Store.committed, changes.apply, TestListing).
//
// Concurrency: a Store is safe for concurrent use. A Collection belongs to one
// session; other goroutines only look at its pins.
//
// A transaction that only writes rows checks the lease before its commit is sent and
// leaves commitMargin for the way; its session gives the commit a deadline
// (Collection.CommitDeadline), and the ranges refuse a later timestamp.
//
// It does not: understand SQL expressions (defaults and checks are text), check
// privileges, or write rows.
package catalog
