package cli

import (
	"os"
	"runtime/debug"
	"time"
)

// gcPercent is GOGC. It is high because the live heap is small: caches and memtables lie outside it.
const gcPercent = 300

// trimPeriod is the interval at which free memory of the C allocator is returned to the system.
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
