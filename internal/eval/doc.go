// Package eval evaluates the reads of requests in the engine. It never writes: replica turns results
// into commands for package apply.
//
// Read read.go (points, scans, refreshes), spans.go (scans of several spans), latest.go (the newest
// committed versions of locked keys), closed.go (reads in one state of the engine).
//
// Two kinds of functions stand side by side. Get, Scan and Refresh take every version that they find
// for committed. GetVisible and ScanVisible are given a predicate of the versions to pass over, which
// are intents of other transactions: they cost a look at each version, and serve ranges with intents
// only.
//
// The functions are stateless and safe for concurrent use. The caller keeps later commits out of what
// was read (timestamp cache, commits in flight, locks), as package replica describes.
package eval
