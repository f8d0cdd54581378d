// Package wire frames messages of the PostgreSQL protocol, version 3: it reads
// them from a connection and appends them to an output buffer, without
// allocating for each.
//
// Above it are pgwire and pgwire/nullserver; below it pgerr and quota. Read conn.go (Conn:
// buffers, Next and Flush), read.go (how it waits and reads), output.go (Output: how it
// writes, and can be interrupted), types.go (the types of messages), message.go (Body: the fields of a
// message; how long a message may be), append.go
// (messages to the client, CopyData), memory.go (messages that are long), largevalue.go (long values that are
// written from where they are), buffers.go
// (the pool) and handshake.go (Replay, Linger: connections that may begin with TLS).
//
// Invariants:
//
//	W1. A connection that waits for the first byte of a message holds no buffer,
//	    unless output is pending (Conn.release, TestIdleHoldsNothing).
//	W2. A message longer than its type allows is refused before it is read, and
//	    memory for a message grows with the bytes that came, not with the length
//	    that was announced (Conn.header, Conn.grow). It counts against Buffers.Mem before
//	    it is allocated; a message for which there is none is dropped, and the connection
//	    goes on (Conn.dropRest; pgwire's TestMessagesCountAgainstMemory).
//	W3. A Body never reads behind the end of its message; what it returns points
//	    into the message (Body.take).
//
//	W4. An interruption loses no byte of the output and doubles none, encrypted or not
//	    (Output.Write, TestInterrupt).
//	W5. A value that the output refers to is written before its owner may change it: only messages that are
//	    written as soon as they end refer to values (Conn.Refers, TestReferences, TestHeldOutputIsCopied).
//
// A Conn belongs to one goroutine; Wake, Interrupt, Gone and Close may come from others.
//
// It does not know what the messages mean; that is pgwire.
package wire
