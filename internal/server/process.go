package server

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// processFigures are those of the process and its machine.
func processFigures(f map[string]float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		f["lichen_process_cpu_seconds_total"] = (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
	}
	if rss, ok := residentBytes(); ok {
		f["lichen_process_resident_bytes"] = rss
	}
	f["lichen_machine_cpus"] = float64(runtime.GOMAXPROCS(0))
}

// residentBytes is how much of the process is in RAM, where the system tells it as Linux does.
func residentBytes() (float64, bool) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(string(fields[1]), 64)
	return pages * float64(os.Getpagesize()), err == nil
}

// kvName is the number of a node in texts.
func kvName(id kvpb.NodeID) string { return strconv.FormatUint(uint64(id), 10) }
