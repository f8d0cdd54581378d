// Package liveness tracks which nodes are alive. Nodes support one another's leaderships for a
// time, and exchange their addresses and stores.
//
// Above it, replica derives leases from the support (Cell) and filters votes by it (Supports).
// concurrency and dist ask whether gateways and nodes are alive, and server connects Send and
// Receive with rpc. Below it are only hlc, kvpb and must.
//
// # Reading order
//
//   - Support, Cell: a promise, and where a leader finds those it has.
//   - Options, Liveness: the state, its one timer and one goroutine (step).
//   - support.go: to grant, withdraw, count (answerAsk, withdrawIfPassed, takeGrant).
//   - talk.go: what a heartbeat carries, and the answers.
//   - steady.go: a clock that is not set back.
//   - NodeInfo, registry.go: the node registry; who is alive.
//   - wire.go: the bytes. oldest.go: the oldest timestamp at which gateways still read.
//
// # Protocol
//
// Every HeartbeatEvery a node requests support from each other node, until its own clock +
// SupportFor, for all its stores at once. The other answers immediately with the support that it
// gives, and repeats it in its own heartbeats.
//
// It supports only a node that receives its messages: each message echoes the time of the latest
// one from the other side, and support ends no later than echoFor after that time. Otherwise a
// leader that gets no answers would stay in office. It does not renew the support of an earlier
// incarnation of the requesting node. That support expires, so that the followers of the earlier incarnation
// notice, and then begins anew.
//
// A heartbeat also carries the oldest timestamp at which the sender's gateway still reads
// (OldestRead). It holds until the next heartbeat, or until the gateway counts as dead.
//
// A heartbeat carries the sender's NodeInfo until the receiver has it; HeartbeatNow sends urgent
// changes at once. It also carries changes of third nodes that the sender received first, and a
// digest of its node registry. If two registries differ for two heartbeats, the nodes exchange
// versions and then the missing infos. Of two infos about a node, the one with the later incarnation, then
// the higher Seq is the newer; Removed beats all.
//
// # Use by ranges
//
// A leader may count a follower's store only while the support has the epoch of the follower's
// answer. The follower reads Granted(leader's store).Epoch before it steps a message of the leader,
// and sends the epoch in its answer; the leader compares it with Cell.Support. Consider a supporter
// that withdraws, votes for another leader and then grants again. Without the epoch, the old
// leader, which does not know the new term yet, would count it. For the same reason the support
// binds a follower only while it has that epoch. Nor is a follower bound by support of a later
// incarnation of the leader's node (Support.Incarnation): a restarted node leads nothing, and may
// not know enough of the range to say so.
//
// Until is a time of the hybrid clocks, so serializability does not depend on the clocks' offsets.
// Real-time order across gateways does: a read that must see every earlier commit of another
// gateway must have its uncertainty limit, read timestamp + max offset, below Until.
//
// A node that may not vote yet (MayVote) may not campaign either: it would vote
// for itself.
//
// # Invariants
//
// 1. A grant is never withdrawn before this node's clock passed it, and the epoch of a withdrawn
// grant does not come back. (withdrawIfPassed, the only place that ends a grant, reads the clock
// with mu held, as answerAsk does; TestSafety, TestConcurrentUse)
//
// 2. A grant never lies further ahead of this node's clock than SupportFor + MaxOffset, and is
// never shortened. (answerAsk; TestSafety)
//
// 3. After a start a node does not vote before its clock passed the start + SupportFor + MaxOffset.
// By rule 2, and since the clock restarts above its last reading, that lies above every grant of an
// earlier incarnation. (MayVote; TestSafety)
//
// 4. A requester counts support until no later than it requested and the supporter granted.
// (takeGrant; network.checkCell in TestSafety) If its own clock was set back, it counts by the
// clock as it would be without that, because the supporter's clock advances. (steady.now;
// TestSetBack)
//
// 5. Epochs given to a node rise from one support to the next, also over restarts of the supporter:
// they are readings of its clock. (answerAsk)
//
// 6. A store stays with the node that first named it as its own. (attach)
//
// 7. A reply is never answered, but for one list of versions; so no two nodes answer each other
// endlessly. (receive: only heartbeats are answered, and the first message of an incarnation;
// answerVersions; TestMutualRemoval, TestIdleCost)
//
// 8. A caller that reads the clock and then finds the support of a cell passed is notified of the
// support that follows: OnChange is called after the cell has it. (takeGrant, which reads the clock
// after publishing; TestPassedUnnoticed)
//
// 9. A panic ends the process before any message about its cause is sent: the state may be
// half-changed, and a message a broken promise. (Receive, Learn and step, in which must.Report runs
// before end; TestPanicEnds)
//
// # Concurrency
//
// All methods may be called concurrently once New returned. One mutex guards the state; cells, the
// map of stores and the grants are read without it. Hooks are called without it, in no particular
// order. The clock is read with the mutex held, but never waited for. While the clock waits for a
// stalled disk to make its bound durable, this node grants and withdraws nothing and sends nothing.
//
// # Not here
//
// Persistence of the node registry; comparison of clocks; the right to be a member (rpc); the
// decision that a node is gone for good. All nodes of a cluster must run with the same MaxOffset.
// To lower it, a node must stay down for SupportFor plus the old MaxOffset.
package liveness
