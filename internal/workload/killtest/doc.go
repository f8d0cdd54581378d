// Package killtest shows that a server keeps what it acknowledged: it writes to a
// server, kills it at random moments, starts it again and checks that every
// acknowledged transaction is there and none is half there.
//
// Above it is the command line, which knows how to start a server; below it workload
// (connections). Read killtest.go (Run), load.go (the transactions), verify.go.
//
// Each writer numbers its transactions and has at most one without an answer, so what
// must be in the database is known exactly: its acknowledged transactions without a
// gap, and possibly the one that was without an answer when the server died.
//
// Invariants
//
//  1. A transaction counts as acknowledged only if its COMMIT, or its one statement,
//     returned without an error (writer.step).
//  2. Only the process that Server.Kill names is killed (Run kills by nothing else).
//
// It tells a killed process, not a machine that lost power: what the operating system
// has been given, it keeps.
package killtest
