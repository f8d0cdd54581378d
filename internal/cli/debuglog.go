package cli

import (
	"sync"

	"github.com/lichendb/lichen/internal/raftlog"
)

// truncateEvery is the number of entries after which a group's log is truncated.
const truncateEvery = 4096

// logGroup is a group of the null server's log.
type logGroup struct {
	id   raftlog.GroupID
	last uint64
}

// freeGroups is a pool of groups; it grows to the number of concurrent appends.
type freeGroups struct {
	mu   sync.Mutex
	free []*logGroup
	made raftlog.GroupID
}

func (f *freeGroups) take() *logGroup {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		g := f.free[n-1]
		f.free = f.free[:n-1]
		return g
	}
	f.made++
	return &logGroup{id: f.made}
}

func (f *freeGroups) put(g *logGroup) {
	f.mu.Lock()
	f.free = append(f.free, g)
	f.mu.Unlock()
}
