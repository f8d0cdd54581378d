package pgwire

import "syscall"

// yieldEvery is after how many replies a connection lets others have the
// processor.
const yieldEvery = 4

// yield counts a reply. Connections that answer one after the other keep their
// thread busy without a pause, and on a processor that clients share, those that
// were just answered would wait until the kernel takes the processor away
// (docs/decisions/0006-scheduling.md). With nobody waiting it costs a fraction of
// a microsecond.
func (c *conn) yield() {
	c.replies++
	if c.replies < yieldEvery {
		return
	}
	c.replies = 0
	// Raw: the Go scheduler needs not know, the call does not block.
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
