package cli

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/lichendb/lichen/internal/fs"
)

const (
	// timeSlice is the slice the kernel's scheduler gives to the node's threads, in
	// nanoseconds. Linux shortens a thread's slice in exchange for earlier turns
	// (since 6.12; older kernels ignore the value): replies to many clients on the
	// same processors then don't wait for the default slice of milliseconds.
	timeSlice = 100_000
	// fewProcessors is the number of processors up to which a node usually shares them with clients and
	// other processes.
	fewProcessors = 4
)

// tuneScheduler adapts the scheduling of the node's threads to a machine that it may share with its clients
// (docs/decisions/0006-scheduling.md).
func tuneScheduler() {
	if n := runtime.NumCPU(); os.Getenv("GOMAXPROCS") == "" && n <= fewProcessors {
		runtime.GOMAXPROCS(n + (n+1)/2)
	}
	tasks, err := fs.Disk().List("/proc/self/task")
	if err != nil {
		return // without it latencies under load are higher
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t); err == nil {
			// Threads started from now on inherit it.
			_ = unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Runtime: timeSlice}, 0)
		}
	}
}
