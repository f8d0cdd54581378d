// Package rpc connects the nodes of a cluster: calls with an answer and one-way
// messages, over plain TCP or mutual TLS.
//
// Above it stand liveness, store, dist, server and others, which set the handlers of the
// methods that methods.go lists; below it only kvpb (node ids), hlc (every batch carries
// the sender's clock) and must.
//
// Read Transport and Options (rpc.go) first, then frame.go (what is on the wire),
// handshake.go (who may connect), lives.go (which process of a node), link.go (the connection of one class to one
// peer: dialling, backing off, queueing), conn.go (reading, failing, pinging),
// write.go (batches), call.go and serve.go (the two ends of a call), metrics.go.
//
// A node dials up to three connections to each peer it talks to, one for messages,
// one for urgent messages (Options.Urgent) and one for calls; the peer dials its own
// for the other direction. The dialler
// sends messages and requests, the acceptor sends answers; both ping.
//
// # Invariants
//
//  1. A call that ends with ErrNotSent never reaches the handler: its request,
//     or the last piece of it, was in no batch handed to the network, and will
//     be in none. (conn.abandon, conn.failPending)
//  2. Messages of one destination reach their handlers in the order of Send,
//     with gaps at most, across reconnections too; but between urgent ones and others
//     there is no order. (link.establishedLocked puts
//     what waited in front; Node.replaceInbound waits for the former reader)
//  3. The receiver's clock has passed every timestamp that the sender's clock had handed
//     out at the time of writing before a handler sees anything of the batch. (conn.seal
//     puts the time in front; conn.receive updates the clock)
//  4. No byte of a frame is used before its checksum was verified, and no length
//     on the wire makes the receiver allocate more than MaxPayload at once or
//     hold more than its named limits. (frameReader.next, parseFrame,
//     conn.beginPartial, assembly.add)
//  5. The caller's request buffer is not read after Call returned, nor a message's
//     after Send returned. (conn.call, conn.sendMessage: copies are made under
//     conn.mu only)
//  6. One goroutine at a time writes to a connection. (conn.acquireLocked)
//  7. Of a peer's processes one at a time is listened to, and after a later one none of before: so
//     two that run with copies of one store never both vote, or acknowledge, at one node.
//     Which one is decided before the greeting is answered. The other one ends:
//     the later one while the former goes on; the former if a later one was let in while it
//     was silent; both if their peers decide differently. What two nodes that don't hear of
//     each other decide may differ for as long. (lives.go: judge, otherLife; TestTwin…)
//  8. A panic, of the node or of a handler, ends the process on whichever goroutine it
//     happens, one of a client's connection included, which would recover it. (must.Report
//     in whatever begins a goroutine, in Send, Call and CallAddr; TestPanicEnds)
//
// # Concurrency
//
// Everything exported may be called at once from any goroutine. A connection has
// one reader; its writer exists while something waits to be written, and is the
// handler's own goroutine where that is free. Locks are taken in the order link,
// conn; neither is held while a handler, a dial or a write runs.
//
// It does not retry calls, does not route (Resolve says where a node is), and does
// not decide that a node is dead: liveness does.
package rpc
