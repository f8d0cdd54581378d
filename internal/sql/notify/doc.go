// Package notify carries notifications from the transactions that send them (NOTIFY, pg_notify) to the sessions of
// all nodes that listen (LISTEN). docs/decisions/0020-notifications.md says why it works as it does.
//
// Above it is sql: a Session of this package belongs to each session there, and a Queue to each server. Below it is
// kv. A transaction that notifies writes entries below keys.NotificationSpan, in its own commit. Each node with a
// session that listens follows that span by one prompt feed, puts the entries into the order of their commits, and
// hands them to its sessions:
//
//	Session.Notify, Listen      what the transaction asks for
//	Session.BeforeCommit        entries in the transaction's write buffer (entry.go)
//	        │ commit
//	        ▼
//	follower (follow.go)        events in any order ─▶ up to a resolved timestamp, sorted by commit
//	        │ deliver
//	        ▼
//	Session, waiting            until it is between transactions ─▶ Take, by its connection
//
// Read session.go (Session: what a transaction has asked for), waiting.go (what waits for its client), queue.go
// (Queue, what the sessions of a node share), slots.go (keys of entries, which are used again), usage.go (how full it is), follow.go, entry.go.
//
// Invariants:
//
//	N1. A notification is delivered if its transaction commits, after it has, and once to each session that
//	    listened before (Session.BeforeCommit, order.add; TestDelivery in pgwire, TestOrder).
//	N2. All sessions get the notifications of a database in the same order: by commit timestamp, those of one
//	    transaction as they were sent (order.upTo; TestOrder, TestNotifications in server).
//	N3. A session that has committed LISTEN gets what commits from then on: its LISTEN is an entry of the queue
//	    itself, whose commit timestamp divides what it gets from what it does not (subscription.after, Committed).
//	N4. What waits for a session is bounded, and so is what all sessions of the node keep. A session beyond that
//	    is ended with an error; no notification is left out silently (waiting.add, Session.lose).
//	N5. A slot is used again only when the outcome of its last transaction is known (Session.Undone, slots.put).
//	N6. A transaction that neither notifies nor listens does nothing here but look at a length
//	    (Session.BeforeCommit).
package notify
