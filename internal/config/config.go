// Package config holds the configuration of a node: one struct with defaults and
// validation, which flags map onto. It is a leaf.
package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Defaults of a node.
const (
	DefaultPort     = "26257"
	DefaultHTTPPort = "8080"
	DefaultStore    = "lichen-data"
	// DefaultDrain is how long a stopping node waits for running statements.
	DefaultDrain = 10 * time.Second
	// minDeadAfter is the least time after which a silent node counts as dead: a pause
	// or a restart takes a moment.
	minDeadAfter = 2 * time.Second
	// DefaultMaxOffset is how far apart clocks may be by default.
	DefaultMaxOffset = 250 * time.Millisecond
)

// Node configures a node.
type Node struct {
	// Stores are the node's stores, at least one.
	Stores []Store
	// Encryption says which of them are encrypted.
	Encryption []Encryption
	// ListenAddr is where SQL clients connect, HTTPAddr where browsers and
	// monitoring do.
	ListenAddr, HTTPAddr string
	// Insecure turns authentication and encryption off.
	Insecure bool
	// FaultHooks serves /_debug/fault, by which tests break the clock, the disks and
	// commits. Only a node that is Insecure may have it.
	FaultHooks bool
	// AdvertiseAddr is where other nodes reach this one; empty: ListenAddr.
	AdvertiseAddr string
	// Join are addresses of nodes of the cluster, empty for a node by itself.
	Join []string
	// SingleNode makes an empty store a cluster of one node.
	SingleNode bool
	// Locality says where the node is: tiers from large to small, region=…,zone=….
	Locality string
	// MaxOffset is how far apart the clocks of two nodes may be.
	MaxOffset time.Duration
	// CertsDir holds certificates and keys, unless Insecure.
	CertsDir string
	// CacheBytes bounds blocks and memtables in memory, MaxMemory all else.
	CacheBytes, MaxMemory int64
	// MaxTemp bounds the temporary files of statements; 0 means the default.
	MaxTemp int64
	// GCTTL is how long old versions are kept; 0 means the default.
	GCTTL time.Duration
	// DeadAfter is how long a node may be silent before its replicas are rebuilt
	// elsewhere; 0 means the default.
	DeadAfter time.Duration
	// MergeAfter is how long a range must be small and cold before it is merged with
	// the next one; 0 means the default.
	MergeAfter time.Duration
	// RangePace bounds the intervals at which ranges are looked after, so that tests need not wait
	// for it; 0 means as long as they are.
	RangePace time.Duration
	// Drain bounds the wait for running statements at a stop.
	Drain time.Duration
}

// Default returns the configuration of a node without flags.
func Default() Node {
	mem := totalMemory()
	return Node{
		Stores: Dirs(DefaultStore), ListenAddr: ":" + DefaultPort, HTTPAddr: ":" + DefaultHTTPPort,
		CacheBytes: min(max(mem/4, 64<<20), 2<<30), MaxMemory: mem / 4, Drain: DefaultDrain,
		MaxOffset: DefaultMaxOffset,
	}
}

// Memory beside the heap: the program's own pages, the stacks of its threads, what
// the C allocator keeps.
const otherMemory = 32 << 20

// HeapMemory is how large the Go heap may grow, with what is not collected yet.
func (n *Node) HeapMemory() int64 { return max(n.MaxMemory-otherMemory, n.MaxMemory/2) }

// StatementMemory is what statements may use of MaxMemory. The rest is for what nobody accounts
// for: long writes on their way through raft (raftgroup.LongWrites), LogCache, and garbage.
// A single large value that is written has up to six copies at a time, those of the flush among them,
// and one that is read two in its block: values above a tenth of MaxMemory can take the process beyond it.
func (n *Node) StatementMemory() int64 { return n.HeapMemory() * 5 / 8 }

// maxLogCache bounds LogCache: what is older is rarely asked for.
const maxLogCache = 64 << 20

// LogCache is what the entries of the log that are kept in memory may take of MaxMemory.
func (n *Node) LogCache() int64 { return min(n.MaxMemory/16, maxLogCache) }

// maxLongWrites bounds LongWrites: more at a time write no faster.
const maxLongWrites = 32 << 20

// LongWrites is how many bytes of long writes may be on their way through raft. Each has up to three
// copies there, of which MaxMemory leaves room.
func (n *Node) LongWrites() int64 { return min(n.HeapMemory()/10, maxLongWrites) }

// Validate reports the first setting that can't be right.
func (n *Node) Validate() error {
	if err := n.validStores(); err != nil {
		return err
	}
	if err := n.validEncryption(); err != nil {
		return err
	}
	switch {
	case n.FaultHooks && !n.Insecure:
		return fmt.Errorf("--fault-hooks is for tests: it needs --insecure")
	case n.CacheBytes < 1<<20:
		return fmt.Errorf("--cache must be at least 1MiB")
	case n.MaxMemory < 16<<20:
		return fmt.Errorf("--max-memory must be at least 16MiB")
	case n.MaxTemp < 0:
		return fmt.Errorf("--max-disk-temp-storage must not be negative")
	case n.MaxOffset < 0 || n.MaxOffset > 10*time.Second:
		return fmt.Errorf("--max-offset must lie between 0 and 10s")
	case n.DeadAfter != 0 && (n.DeadAfter < minDeadAfter || n.DeadAfter > 30*24*time.Hour):
		return fmt.Errorf("--time-until-store-dead must lie between %s and 720h", minDeadAfter)
	}
	for _, t := range strings.Split(n.Locality, ",") {
		if k, v, ok := strings.Cut(t, "="); n.Locality != "" && (!ok || k == "" || v == "") {
			return fmt.Errorf("--locality: %q is not key=value; give tiers from large to small, like region=eu,zone=a", t)
		}
	}
	return nil
}

// WithPort adds the default port to an address without one.
func WithPort(addr, port string) string {
	if i := strings.LastIndexByte(addr, ':'); i < 0 || strings.HasSuffix(addr, "]") {
		return addr + ":" + port
	} else if i == len(addr)-1 {
		return addr + port
	}
	return addr
}

// ParseSize reads a size: bytes, a number with a unit (64MiB, 1GB) or a share of
// the machine's memory (25%, .25).
func ParseSize(s string) (int64, error) {
	bad := fmt.Errorf("invalid size %q: give bytes, a unit (64MiB, 1GB) or a share of memory (25%%, .25)", s)
	t := strings.TrimSpace(s)
	if p, ok := strings.CutSuffix(t, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil || f <= 0 || f > 100 {
			return 0, bad
		}
		return int64(f / 100 * float64(totalMemory())), nil
	}
	units := []struct {
		suffix string
		n      float64
	}{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
		{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
	}
	unit := 1.0
	for _, u := range units {
		if p, ok := strings.CutSuffix(t, u.suffix); ok {
			t, unit = strings.TrimSpace(p), u.n
			break
		}
	}
	f, err := strconv.ParseFloat(t, 64)
	switch {
	case err != nil || f <= 0:
		return 0, bad
	case unit == 1 && f < 1:
		return int64(f * float64(totalMemory())), nil
	}
	return int64(f * unit), nil
}

// totalMemory returns the memory that this process may use: the control group's
// limit or the machine's memory.
func totalMemory() int64 {
	total := int64(8 << 30)
	if p, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(p)) {
			f := strings.Fields(line)
			if len(f) >= 2 && f[0] == "MemTotal:" {
				if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					total = kb << 10
				}
			}
		}
	}
	if p, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(p)), 10, 64); err == nil {
			total = min(total, n)
		}
	}
	return total
}
