// Package eval evaluates requests at a range's leader: what a request reads,
// and what a collection run may drop. It never writes: replica turns results
// into commands for package apply.
//
// The functions are stateless and safe for concurrent use; the callers have
// done what makes the reads stay true (timestamp cache, commits in flight,
// locks), which package replica describes.
package eval
