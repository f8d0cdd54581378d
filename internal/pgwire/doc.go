// Package pgwire serves clients that speak the PostgreSQL protocol, version 3.
//
// Above it is node; below it sql (one Session per connection) and pgwire/wire
// (messages and buffers). Read server.go (Server: accepting, limits, shutdown),
// startup.go (from the first byte to ReadyForQuery), auth.go (encryption and who the
// client is), hba.go (by which rule), hostname.go (from which host), password.go (logins by password), token.go (by token), login.go (those that come another way), throttle.go (how often), conn.go (conn: the loop over
// messages), extended.go and bind.go (prepared statements and portals), pipeline.go (the messages
// since the last Sync, which are run again after a conflict), results.go and rowformat.go (what
// sql sends back), yield.go (letting others have the processor), notify.go (notifications), watch.go (clients that are
// gone), encoding.go (clients with other encodings than UTF8), copy.go, errors.go and metrics.go.
// pgwire/wire/types.go names the types of messages.
//
// Invariants:
//
//	P1. Every batch of messages up to Sync, and every Query, is answered by exactly
//	    one ReadyForQuery, unless the connection ends (conn.ready; fuzz target
//	    FuzzMessages).
//	P2. After an error within the extended protocol nothing is executed until Sync
//	    (conn.dispatch).
//	P3. Output is written before the connection waits for input that the client
//	    sends only once it has the output: after ReadyForQuery, Flush and
//	    CopyInResponse (conn.ready, copySource).
//	P4. A datum that outlives a message does not point into the message
//	    (paramReader.text).
//	P5. A connection that waits for its client holds no buffers (wire, W1;
//	    TestIdleMemory).
//	P6. With Auth other than Trust no session is opened for a client that has not
//	    shown who it is as the first rule of host-based authentication that fits demands
//	    (conn.authenticate; TestCertificateLogin, TestPasswordLogin, TestHBA).
//
//	P7. A client that does not read holds up nobody who cancels its statement or ends its
//	    session: no wait for a client outlasts them (conn.written, conn.next;
//	    TestCancelWhileClientDoesNotRead, TestTerminateWhileClientDoesNotRead).
//
//	P8. A connection counts against max_connections exactly while it has a session, and until
//	    then against a bound of its own, where the one that says nothing for longest makes room
//	    (sql.Server.NewSession, Server.started, Server.dropSilent; TestConnectionCount,
//	    TestStartingIsBounded, TestSilentMakesRoom).
//
// Concurrency: one goroutine per connection does everything, the statement's
// execution included. Other goroutines only wake a connection (Server.Shutdown),
// cancel its statement (a cancel request), both through the session, or look whether its
// client is still there (watch, one goroutine for all that have something running).
//
//	P9. Logins by password that fail make the next ones of the same user and address wait, in a
//	    table of maxThrottled entries (throttle; TestThrottle, TestThrottledLogin).
//
//	P10. What waits for a session that is between transactions is sent before its next ReadyForQuery, and at once
//	    if the client has nothing running (conn.ready, notified, notifyIdle; TestDelivery).
//
// It authenticates by client certificates and by SCRAM-SHA-256, or not at all (Auth).
package pgwire
