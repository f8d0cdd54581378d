// Package rangefeed decides which events the readers of a range's changes receive. It is pure:
// rangefeed/processor passes it the changes of entries, closed timestamps and locked keys, reads the engine,
// and owns the feeds.
//
// A reader first receives the committed versions of the state in which its feed began (Initial),
// then what each applied command commits (Commits), and between them resolved timestamps:
//
//	command   put a@5                        a@5 is delivered
//	command   put b@6, lock b                nothing: b@6 is provisional
//	command   put b@9, drop b@6, unlock b    b@9 is delivered: its transaction committed later
//	command   unlock b (timestamp 6)         b@6 is delivered: it was committed at its timestamp
//	command   drop b@6, unlock b             nothing: its transaction was aborted
//	closed 8, b locked at 6                  resolved up to just below 6
//
// What is closed lags. A prompt feed, which the leader serves, closes the timestamp of its newest event as soon as it
// delivers that (Buffer.Owed).
//
// Read commits.go (Commits), then buffer.go (Buffer, Initial). rangefeed/processor performs its decisions.
//
// Invariants:
//
//  1. A version is delivered once it is committed, and at most once by a feed. (Commits.End,
//     Initial.Committed; testdata/commits)
//  2. A resolved timestamp is delivered only when no event at or below it waits, and rises. (Buffer.Take;
//     testdata/resolved)
//  3. No timestamp is resolved at which a provisional version may be committed. (Buffer.Resolve;
//     testdata/resolved)
//  4. The events that wait for a reader are bounded. (Buffer.Full; testdata/resolved)
package rangefeed
