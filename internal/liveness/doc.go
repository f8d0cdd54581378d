// Package liveness tells who is there: nodes support one another's leaderships
// for a time, and know each other's addresses and stores.
//
// Above it, replica reads leases off the support (Cell) and filters votes by it
// (Supports), concurrency and dist ask for the life of gateways and nodes, and
// server connects Send and Receive with rpc. Below it are only hlc, kvpb and
// must.
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
// Every HeartbeatEvery a node asks each other one to support it until its own
// clock + SupportFor, for all its stores at once. The other answers at once with
// the support it gives, and repeats it in its own heartbeats. It gives support
// only to a node that it knows to receive its messages (each message echoes the time of the
// latest one from the other side), and until no later than echoFor after that time:
// else a leader that gets no answers would be held in office. It does not renew the support of an earlier life of
// the asking node; it lets it run out, so that those who followed that life
// notice, and then begins anew.
//
// A heartbeat also tells the oldest timestamp at which the sender's gateway still
// reads (OldestRead). It holds until the next one, or until the gateway is taken for
// dead.
//
// A heartbeat carries the sender's NodeInfo until the receiver has it (HeartbeatNow sends
// at once what others should know soon), news of
// third nodes that the sender received first, and a digest of its node
// registry. Registries that differ for two heartbeats are levelled by exchanging
// versions and then what is missing. Of two infos on a node the one with the
// later life, then the higher Seq is the newer; Removed beats all.
//
// # What a range does with it
//
// A leader may count on a follower's store while the support has the epoch
// under which the follower answered in this term: the follower puts
// Granted(leader's store).Epoch, read before it steps a message of the leader, in
// its answer, and the leader compares it with Cell.Support. Without the epoch, a
// supporter that withdrew, voted for another leader and then granted again
// would be counted by the old leader that does not know the new term yet. For
// the same reason a follower is bound by the support only while it has that
// epoch, and is free once it has another one.
//
// Until is a time in the domain of the hybrid clocks, so serializability does not
// depend on how far clocks are apart. Real-time order across gateways does: a
// read whose result may not miss what was committed elsewhere before must end
// its uncertainty, read timestamp + max offset, below Until.
//
// A node that may not vote yet (MayVote) may not campaign either: it would vote
// for itself.
//
// # Invariants
//
//  1. A grant is never withdrawn before this node's clock passed it, and once it
//     was seen withdrawn its epoch does not come back. (withdrawIfPassed, the
//     only place that ends a grant, reads the clock with mu held, as answerAsk
//     does; TestSafety, TestConcurrentUse)
//  2. A grant never lies further ahead of this node's clock than SupportFor +
//     MaxOffset, and is never shortened. (answerAsk; TestSafety)
//  3. No vote after a start before the clock passed its start + SupportFor +
//     MaxOffset; with 2 and a clock that restarts above what it showed, that is
//     above every grant of an earlier life. (MayVote; TestSafety)
//  4. A requester counts support until no later than it asked for and the
//     supporter granted. (takeGrant; network.checkCell in TestSafety)
//     It also ends when it would have by a clock that was never set back: the
//     supporter's goes on. (steady.now; TestSetBack)
//  5. Epochs given to a node rise from one support to the next, over restarts of
//     the supporter as well: they are readings of its clock. (answerAsk)
//  6. A store stays with the node that named it as its own first. (attach)
//  7. A reply is never answered, but for one list of versions; so no two nodes
//     talk in circles. (receive: only heartbeats are answered, and the first
//     message of a life; answerVersions; TestMutualRemoval, TestIdleCost)
//  8. Who reads the clock, then a cell, and finds its support passed learns of the one
//     that follows: OnChange is called after that is in the cell. (takeGrant, which
//     looks at the clock after publishing; TestPassedUnnoticed)
//  9. A panic ends the process before anything that led to it is sent: what it leaves
//     behind may be half a promise. (Receive, Learn and step, in which must.Report runs
//     before end; TestPanicEnds)
//
// # Concurrency
//
// All methods may be called concurrently once New returned. One mutex holds the
// state; cells, the map of stores and the grants are read without it. Hooks are
// called without it, in no particular order. The clock is read with it held, but
// never waited for: while it waits for its bound to become durable, because the
// disk stalls, this node grants and withdraws nothing and is silent.
//
// # Not here
//
// Persistence of the node registry; checking clocks against one another; who is
// entitled to be a member (rpc); deciding that a node is gone for good. All nodes
// of a cluster must run with the same MaxOffset, and a lower one than in an
// earlier life is safe only after SupportFor plus the old one of rest.
package liveness
