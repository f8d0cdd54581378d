package cli

import (
	"os"
	"runtime/debug"
	"time"
)

// gcPercent is how much the heap may grow between collections of the Go runtime:
// its live part is small, since caches and memtables lie outside it.
const gcPercent = 300

// trimPeriod is how often memory that the C allocator keeps is given back.
const trimPeriod = 10 * time.Second

// tuneRuntime keeps the process within --max-memory and --cache: the Go heap within
// heap bytes, which is most of the first (0: no limit), and blocks and memtables,
// which lie outside it, within the second.
func tuneRuntime(heap int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" && heap > 0 {
		debug.SetMemoryLimit(heap)
	}
	go func() {
		for range time.Tick(trimPeriod) {
			trimMalloc()
		}
	}()
}
