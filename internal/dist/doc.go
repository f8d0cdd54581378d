// Package dist routes requests to the ranges that hold their keys: it splits
// what crosses a range boundary, sends the parts to the ranges' leaders, here or on
// other nodes, and puts the answers together.
//
// Above it is kv; below it rangecache, which knows where ranges are, and two
// things that server fills in: Local, the replicas of this node, and Caller, the
// way to the other nodes.
//
// Read router.go (Router, how a request finds its replica), retry.go (what
// happens when the replica can't serve it), read.go, spans.go and onephase.go
// (the requests), meta.go (where addresses come from), remote.go and serve.go
// (the two ends of a call between nodes).
//
// Invariants:
//
//	D1. A part of a request never reaches a range that, by the descriptor it is
//	    sent under, does not hold all of its keys: every attempt cuts the
//	    request anew. (Router.Scan, eachPart, fits; TestSplitAtBoundaries)
//	D2. A request that failed for the sake of routing alone is sent again until
//	    its context ends or maxUnavailable has passed without progress, maxUnknown if it is
//	    a commit that may have happened; then the error names the range, the last cause
//	    and the nodes that are missing. (retry.next, retry.unavailable)
//	D3. A commit that may have happened never ends with an error that says it has
//	    not: without an answer it is ambiguous. (retry.giveUp)
//	D4. A one-phase commit says AllReadsHere only if the range that it is sent to
//	    holds every key that it read. (Router.Commit)
//
//	D5. A client learns of a commit across ranges only when every part of it is
//	    durable, and of its failure only when the record rules it out. Where a record is no
//	    more, and who kept it may have forgotten what it said, the client learns that nobody
//	    knows. (parallelCommit.outcome, parallelCommit.fail)
//
// commit.go sends the parts of a commit across ranges, commit_end.go ends it, after
// the answer, in the background (Close), commit_wire.go carries both between nodes.
//
//	D6. A transaction dies to break a deadlock across nodes only if all waits of the
//	    cycle were there, the same ones, at three looks one after the other, and so
//	    all at once at the second; and only where it waits itself. (Deadlocks.search,
//	    stands; TestDeadlocksAtRandom)
//
// deadlock.go and deadlock_search.go find deadlocks over several nodes. nearest.go sends reads of
// the past to the nearest replica, feed.go follows the changes of a span over its ranges.
//
//	D7. A reader of a feed receives a timestamp only when each part of its span has delivered at
//	    least that, a part that begins later no less than what was known of it
//	    (feedPart.deliver, feed.begin; TestFeed in sim)
//
//	D8. Nothing of a commit that others may recover is staged before every range that it has
//	    only locked has agreed to its timestamp: a recovery looks for staged keys alone
//	    (parallelCommit.confirm, parallelCommit.cut; TestLostLockAndCoordinator in kv)
//
//	D9. What a node's clock shows in an answer stands for those only who had asked before the
//	    question left: what others committed before they began lies below it (askClock;
//	    TestClocksAreFresh in sim)
//
// clocks.go asks other nodes for their clocks; spill.go writes intents before the commit.
//
//	D10. A panic in a request, here or in what it calls, ends the process: it may be on the goroutine of
//	    a client, who would otherwise receive an error of his own while a range stands
//	    still half-way (must.Report; TestPanicBelowEnds in server)
//
// A Router keeps no state but its cache of addresses, and which nodes it has asked lately, and is safe for
// concurrent use. A request for a range that this node leads is a function call: nothing is
// encoded or allocated. It takes no locks and knows nothing of transactions but
// where their parts go.
package dist
