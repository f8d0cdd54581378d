// Package rpc connects the nodes of a cluster: calls with an answer and one-way
// messages, over plain TCP or mutual TLS.
//
// Above it stand liveness, store, dist, server and others, which set the handlers of the methods in
// methods.go. Below it are only kvpb (node ids), trace, hlc (every batch carries the sender's clock) and
// must.
//
// Read Transport and Options (rpc.go) first. Then frame.go (the wire format), handshake.go (the
// right to connect), incarnations.go (processes of one node), link.go (a connection to a peer: dialling,
// backoff, queue), conn.go (reading, failure, pings), write.go (batches), call.go and serve.go (the
// two ends of a call), traced.go (calls of statements that are traced), metrics.go.
//
// A node dials up to three connections to a peer: one for messages, one for urgent messages
// (Options.Urgent) and one for calls. The peer dials its own for the other direction. The dialler
// sends messages and requests, the acceptor sends answers; both ping.
//
// # Invariants
//
// 1. A call that ends with ErrNotSent never reaches the handler: no batch that was or will be
// handed to the network has its complete request. (conn.abandon, conn.failPending)
//
// 2. Messages to one destination reach their handlers in the order of Send. Some may be lost, also
// when the connection is replaced. Urgent messages and others are not ordered with each other.
// (link.establishedLocked puts queued messages in front; Node.replaceInbound waits for the previous
// reader)
//
// 3. Before a handler sees anything of a batch, the receiver's clock has passed every timestamp
// that the sender's clock returned before the write. (conn.seal puts the time in front;
// conn.receive updates the clock)
//
// 4. No byte of a frame is used before its checksum was verified. No length on the wire makes the
// receiver allocate more than MaxPayload at once or retain more than its named limits.
// (frameReader.next, parseFrame, conn.beginPartial, assembly.add)
//
// 5. The caller's request buffer is not read after Call returned, nor a message's after Send
// returned. (conn.call, conn.sendMessage: copies are made under conn.mu only)
//
// 6. One goroutine at a time writes to a connection. (conn.acquireLocked)
//
// 7. A node accepts one process of a peer at a time, and after a later one no earlier one. So two
// processes that run with copies of one store never both vote, or acknowledge, at the same node.
// The decision precedes the answer to the hello. The rejected process ends: the later one if the
// earlier is active; the earlier one if a later one was admitted while it was silent; both if their
// peers decide differently. Two nodes that can't reach each other may decide differently until they
// can. (incarnations.go: judge, otherIncarnation; TestTwinRefused, TestTwinFollows, TestTwinWakes; TestTwin in server)
//
// 8. A panic of the node or of a handler ends the process on whatever goroutine it happens, even on
// that of a client's connection, which would recover it. (must.Report in each function that a
// goroutine starts with, in Send, Call and CallAddr; TestPanicEnds)
//
// # Concurrency
//
// Everything exported may be called concurrently. A connection has one reader. Its writer exists
// while something is queued; it is the handler's own goroutine where that is free. Locks are taken
// in the order link, conn; neither is held during a handler, a dial or a write.
//
// Not here: retries of calls, routing (Resolve has the addresses), and the decision that a node is
// dead (liveness).
package rpc
