// Package sessionfuncs declares what a statement asks of its session and node: the user and the search
// path, settings, sequences, advisory locks, transactions and snapshots, other sessions, and
// timestamps for follower reads.
//
// Without a session (constant folding) they are 0A000: call.SessionFunc.
package sessionfuncs
