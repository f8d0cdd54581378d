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

// processMetrics are those of the process and its machine.
func processMetrics(f map[string]float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		f["lichen_process_cpu_seconds_total"] = (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
	}
	if rss, ok := residentBytes(); ok {
		f["lichen_process_resident_bytes"] = rss
	}
	f["lichen_machine_cpus"] = float64(runtime.GOMAXPROCS(0))
	for name, key := range map[string]string{"lichen_process_read_bytes_total": "read_bytes", "lichen_process_written_bytes_total": "write_bytes"} {
		if v, ok := procMetric("/proc/self/io", key); ok {
			f[name] = v
		}
	}
	const kilobyte = 1024
	for name, key := range map[string]string{"lichen_machine_memory_bytes": "MemTotal", "lichen_machine_memory_available_bytes": "MemAvailable"} {
		if v, ok := procMetric("/proc/meminfo", key); ok {
			f[name] = v * kilobyte
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		f["lichen_process_open_files"] = float64(len(open))
	}
}

// procMetric reads the metric of a name from lines of names and metrics, where the system tells them as Linux does.
func procMetric(path, name string) (float64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if fields := bytes.Fields(value); ok && string(key) == name && len(fields) > 0 {
			v, err := strconv.ParseFloat(string(fields[0]), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// networkMetrics are those of the connections between nodes.
func (n *Node) networkMetrics(f map[string]float64) {
	m := n.RPC.Metrics()
	f["lichen_rpc_sent_bytes_total"], f["lichen_rpc_received_bytes_total"] = float64(m.BytesSent), float64(m.BytesReceived)
	f["lichen_rpc_calls_total"], f["lichen_rpc_calls_running"] = float64(m.CallsSent), float64(m.CallsRunning)
	f["lichen_rpc_connects_total"], f["lichen_rpc_dial_failures_total"] = float64(m.Connects), float64(m.DialFailures)
	f["lichen_rpc_messages_dropped_total"] = float64(m.MessagesDropped)
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

// nodeName is the number of a node in texts.
func nodeName(id kvpb.NodeID) string { return strconv.FormatUint(uint64(id), 10) }
