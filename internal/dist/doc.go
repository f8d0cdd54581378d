// Package dist routes requests to the ranges that hold their keys. It divides a request at range
// boundaries, sends the parts to the leaders, on this node or others, and merges the responses.
//
// Above it is kv. Below it is rangecache, which maps keys to ranges. server supplies Local, the
// replicas of this node, and Caller, the connections to the other nodes.
//
// Read router.go (Router, the choice of a replica), retry.go (attempts after a failure), read.go,
// spans.go and onephase.go (the requests), meta.go (range lookups), remote.go and serve.go (the two
// ends of a call between nodes). commit.go sends the parts of a commit in several ranges,
// commit_end.go ends it in the background after the answer. deadlock.go and deadlock_search.go find deadlocks across nodes. nearest.go sends reads of
// the past to the nearest replica. feed.go merges the feeds of a span's ranges. clocks.go reads
// other nodes' clocks. spill.go writes intents before the commit.
//
// Invariants:
//
// D1. A part of a request never reaches a range that does not hold all of its keys, by the
// descriptor it is sent under: every attempt cuts the request anew. (Router.Scan, eachPart, fits;
// TestSplitAtBoundaries)
//
// D2. A request that failed only because of routing is sent again until its context ends or
// maxUnavailable has passed without progress; for a commit that may have happened, maxUnknown. Then
// the error names the range, the last cause and the missing nodes. (retry.next, retry.unavailable)
//
// D3. A commit that may have happened never fails with an error that denies it: without an answer
// the error is ambiguous. (retry.giveUp)
//
// D4. A one-phase commit sets AllReadsHere only if its range holds every key that the transaction
// has read. (Router.Commit)
//
// D5. A client receives the success of a commit in several ranges only when every part of it is
// durable, and its failure only when the record rules it out. If the record is gone and its range
// no longer remembers the outcome, the client receives an ambiguous error. (parallelCommit.outcome,
// parallelCommit.fail)
//
// D6. A transaction is aborted to break a deadlock across nodes only on the node where it waits,
// and only if three consecutive readings show the same waits of the cycle: then all of them existed
// at once during the second. (Deadlocks.search, stands; TestDeadlocksAtRandom)
//
// D7. The reader of a feed receives a timestamp only when each part of its span has delivered at
// least that. A part that begins later starts at what was resolved of its span. (feedPart.deliver,
// feed.begin; TestFeed in sim)
//
// D8. A commit that can be recovered stages nothing before every range with locks but no writes has
// confirmed the timestamp: recovery queries staged keys alone. (parallelCommit.confirm,
// parallelCommit.cut; TestLostLockAndCoordinator in kv)
//
// D9. A clock reading counts only for transactions that asked for it before the request left:
// commits of others from before they began lie below it. (askClock; TestClocksAreFresh in sim)
//
// D10. A panic in a request, here or in a callee, ends the process. On a client's goroutine it
// would otherwise become that client's error while a range stays half changed. (must.Report;
// TestPanicBelowEnds in server)
//
// A Router keeps no state but its range cache and the nodes of recent requests. It is safe for
// concurrent use. A request for a range that this node leads is a function call: nothing is encoded
// or allocated. The Router takes no row locks.
package dist
