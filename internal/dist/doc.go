// Package dist routes requests to the ranges that hold their keys, like CockroachDB's DistSender. It
// cuts a request at range boundaries, sends the parts to the leaders, on this node or others, and
// merges the responses.
//
// Above it is kv. Below it is rangecache, which maps keys to ranges. Config supplies Local, the
// replicas of this node, and Caller, the connections to the other nodes.
//
// Reading order:
//
//   - router.go: Router, and the choice of a replica. retry.go: attempts after a failure.
//   - read.go, spans.go, onephase.go: the requests. nearest.go: reads of the past, by the nearest
//     replica. meta.go: range lookups.
//   - divide.go: which node reads what best.
//   - commit.go: the parts of a commit in several ranges. commit_end.go: its end, in the background
//     after the answer. spill.go: intents before the commit.
//   - remote.go, serve.go: the two ends of a call between nodes. clocks.go: other nodes' clocks.
//   - deadlock.go, deadlock_search.go: deadlocks across nodes.
//   - feed.go: one feed over the ranges of a span.
//
// Invariants:
//
// D1. A part of a request goes only to a range that holds all of its keys, according to the
// descriptor that this node knows. Every attempt cuts the request again. (Router.Scan, eachPart, fits;
// TestSplitAtBoundaries)
//
// D2. A request that failed only because of routing is sent again until its context ends, or until
// maxUnavailable has passed without progress. For a commit that may have happened it is maxUnknown.
// Then the error names the range, the last cause and the missing nodes. (retry.next,
// retry.unavailable)
//
// D3. A commit that may have happened never fails with an error that denies it. Without an answer the
// error is ambiguous. (retry.giveUp)
//
// D4. A one-phase commit sets AllReadsHere only if its range holds every key that the transaction
// has read. (Router.Commit)
//
// D5. A client receives the success of a commit in several ranges only when every part of it is
// durable, and its failure only when the record rules it out. If the record is gone and its range
// no longer remembers the outcome, the client receives an ambiguous error. (parallelCommit.outcome,
// parallelCommit.fail)
//
// D6. The search for deadlocks aborts a transaction only on the node where it waits, and only if
// three consecutive readings show the same waits of the cycle: then all of them existed at once during
// the second. (Deadlocks.search, confirmTwice; TestDeadlocksAtRandom)
//
// D7. The reader of a feed receives a resolved timestamp only when each part of its span has delivered
// everything up to it. A part that begins later starts at the resolved timestamp of its span.
// (feedPart.deliver, feed.begin; TestFeed in sim)
//
// D8. A commit that can be recovered stages nothing before every range with locks but no writes has
// confirmed the timestamp: recovery queries only staged keys. (parallelCommit.confirmLocks,
// parallelCommit.divide; TestLostLockAndCoordinator in kv)
//
// D9. A clock reading counts only for transactions that asked for it before the request was sent: all
// commits from before these transactions began lie below it. (askClock; TestClocksAreFresh in sim)
//
// D10. A panic in a request, here or in a callee, ends the process. On a client's goroutine it would
// otherwise become that client's error, and a range would stay half changed. (must.Report;
// TestPanicBelowEnds in server)
//
// A Router keeps no state but its range cache and the nodes of recent requests. It is safe for
// concurrent use. A request for a range that this node leads is a function call: nothing is encoded
// or allocated. The Router takes no row locks.
package dist
