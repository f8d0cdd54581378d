// Package liveness tracks which nodes are alive. Nodes support one another's leaderships for a
// time, and exchange their addresses and stores.
//
// Above it, lease counts the support that leases rest on (Cell), and decides on votes by the support
// that the node has granted (Granted). dist asks whether gateways and nodes are alive. node connects
// Send and Receive with rpc. Below it are only hlc, kvpb, must and plant.
//
// # Reading order
//
//   - Support, Cell (cell.go): a promise, and the cell from which a leader reads those that it has.
//   - Options, Liveness: the state, its one timer and one goroutine (step).
//   - support.go: grants, withdrawals, and the support that others give (answerRequest,
//     withdrawIfPassed, takeGrant).
//   - heartbeat.go: the contents of heartbeats and of the answers.
//   - steady.go: a clock that is never set back.
//   - NodeInfo, registry.go: the node registry, and which nodes are alive.
//   - wire.go: the bytes. oldest.go: the oldest timestamp at which gateways still read.
//
// # Protocol
//
// Every HeartbeatEvery a node requests support from each other node, until its own clock +
// SupportFor, for all its stores at once. The other answers immediately with the support that it
// gives, and repeats it in its own heartbeats.
//
//	node A, which leads ranges                     node B, which follows in them
//	heartbeat: request until t+SupportFor  ─────▶  grants until then: does not help to
//	                                               elect another leader before
//	cell of B's stores := the support      ◀─────  answer: grant (epoch, until)
//	lease valid until then
//	            no answer for SupportFor           the clock passes until:
//	lease expired: A serves nothing                withdraws, may vote; a later grant
//	                                               has a higher epoch
//
// A node supports only nodes that receive its messages: each message echoes the time of the latest
// one from the other side, and support ends no later than echoFor after that time. Otherwise a
// leader that gets no answers would remain leader. A node does not renew the support of an earlier
// incarnation of the requesting node. That support expires, which the followers of the earlier
// incarnation see, and then begins anew.
//
// A heartbeat also carries the oldest timestamp at which the sender's gateway still reads
// (OldestRead). It holds until the next heartbeat, or until the gateway counts as dead.
//
// A heartbeat carries the sender's NodeInfo until the receiver has it; HeartbeatNow sends urgent
// changes at once. It also carries changes of third nodes that the sender received first, and a
// digest of its node registry. If two registries differ for two heartbeats, the nodes exchange
// versions and then the missing infos. Of two infos about a node the one with the later incarnation is
// the newer, and of the same incarnation the one with the higher Seq. An info that says Removed is newer
// than all others.
//
// # Use by ranges
//
// A leader may count a follower's store only while the support has the epoch of the follower's
// answer. The follower reads the Epoch of Granted(leader's store) before it steps a message of the leader,
// and sends the epoch in its answer. The leader compares it with Cell.Support.
//
// The epoch is for a supporter that withdraws, votes for another leader and then grants again.
// Without it the old leader, which does not know the new term yet, would count the new grant. For the
// same reason the support binds a follower only while it has that epoch.
//
// Support of a later incarnation of the leader's node does not bind a follower either
// (Support.Incarnation): a restarted node leads nothing, and may not know enough of the range to say so.
//
// Until is a reading of the hybrid clocks, so that serializability does not depend on the clocks'
// offsets. Real-time order across gateways does: a read that must see every earlier commit of another
// gateway has its uncertainty limit, read timestamp + max offset, below Until.
//
// A node that may not vote yet (MayVote) may not campaign either: it would vote
// for itself.
//
// # Invariants
//
// 1. A grant is never withdrawn before this node's clock passed it, and the epoch of a withdrawn
// grant does not come back. (withdrawIfPassed, the only place that ends a grant, reads the clock
// with mu held, as answerRequest does; TestSafety, TestConcurrentUse)
//
// 2. A grant never lies further ahead of this node's clock than SupportFor + MaxOffset, and is
// never shortened. (answerRequest; TestSafety)
//
// 3. After a start a node does not vote before its clock passed the start + SupportFor + MaxOffset.
// By invariant 2, and since the clock restarts above its last reading, that lies above every grant of
// an earlier incarnation. (MayVote; TestSafety)
//
// 4. A requester counts support no longer than it has requested, and no longer than the supporter
// has granted. (takeGrant; network.checkCell in TestSafety) If its own clock is set back, it counts by
// a clock that was not, because the supporter's clock advances. (steady.now; TestSetBack)
//
// 5. Epochs given to a node rise from one support to the next, also over restarts of the supporter:
// they are readings of its clock. (answerRequest)
//
// 6. A store stays with the node that first named it as its own. (attach)
//
// 7. A node answers heartbeats, the first message of an incarnation, and one list of versions. It
// answers no other reply, so that no two nodes answer each other endlessly. (receive, answerVersions;
// TestMutualRemoval, TestIdleCost)
//
// 8. A caller that reads the clock and then finds that the support of a cell has passed is notified of
// the support that follows: OnChange is called after the cell has it. (takeGrant, which reads the clock
// after publishing; TestPassedUnnoticed)
//
// 9. A panic ends the process before a message that depends on the state is sent: the state may be
// half-changed, and the message would promise what the node does not know. (Receive, Learn and step, in
// which must.Report runs before end; TestPanicEnds)
//
// # Concurrency
//
// All methods may be called concurrently once New has returned. One mutex guards the state. Cells, the
// map of stores and the grants are read without it. Hooks are called without it, in no particular
// order. The clock is read with the mutex held, and nothing waits for it. While the clock waits for a
// stalled disk to make its bound durable, this node grants nothing, withdraws nothing and sends nothing.
//
// # Not here
//
// Persistence of the node registry, comparison of clocks, the check that a node is a member (rpc), and
// the decision that a node is gone for good.
//
// All nodes of a cluster must run with the same MaxOffset. To lower it, a node must stay down for
// SupportFor plus the old MaxOffset.
package liveness
