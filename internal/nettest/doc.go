// Package nettest is a network for tests. Calls, messages and connections take time, get lost, overtake one
// another and are cut, as a seed decides. It is made for virtual time (testing/synctest).
//
// Above it are tests alone: those of sim and server, over whole nodes, and those over clustertest. Below it is rpc, whose Transport it
// implements, and hlc and kvpb.
//
//	Network ── Start ─▶ Endpoint, one process of a node
//	                      Call, Send ───▶ packets over links (Quality) ───▶ handlers of another Endpoint
//	                      Dial ─────────▶ Stream, a connection        ───▶ Listen, ListenAt
//
// Read network.go (Network), endpoint.go (Endpoint), link.go (Quality, what becomes of a packet),
// dispatch.go (how packets move), stream.go (Stream), trace.go (Trace: what is printed when a run fails).
//
// Invariants:
//
//  1. Under synctest the fate of a packet depends on the seed, its link, when it was sent and what it
//     says. Packets arrive at distinct instants, so everything has come to rest in between. (link.dice,
//     Network.dispatch; TestSameSeedSameTrace in sim)
//  2. Messages of one method arrive in the order of Send over each link, with gaps and repetitions at
//     most. (link.inOrder; TestMessagesStayInOrder)
//  3. A call that ends with rpc.ErrNotSent never reached a handler. (Endpoint.begin; TestCallErrors) A call
//     ends once, whatever happens. (Network.finishLocked)
//  4. After Crash returned, no handler of that process begins, and no answer of one arrives that was not
//     under way. (Network.read, answer; TestCrash)
//  5. Payloads are copied: sender and receiver share no memory. (clone; TestPayloadsAreCopied)
//  6. The bytes of a connection arrive in the order in which they were written, or it ends with an error.
//     (Stream.arriveLocked; TestStreamKeepsOrder, TestStreamEnds)
//
// Concurrency: everything may be used from any goroutine. The network has one mutex, held for no longer than
// it takes to touch its own state; handlers and hooks run without it. Its dispatcher goroutine exists
// while packets are under way; each call's handler has a goroutine, and so has each link on which
// messages wait for their handler. Close ends them.
//
// It does not choose the order in which goroutines run that are woken at one instant, nor which ready case
// a select takes: what depends on that may differ between runs of one seed. So may a run in which payloads
// differ, such as by timestamps that two goroutines took at one instant. It models no bandwidth and no
// corruption of packets.
package nettest
