package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
)

// capacity returns the size of a store's disk, the bytes used on it, and those that the store itself uses.
func (n *Node) capacity(st *store.Store) (total, used, own int64) {
	u := st.Engine().DiskUsage()
	total, own = int64(u.Total), int64(u.UsedByEngine)+st.Log().Stats().DiskBytes
	cfg := &n.cfg.Stores[slices.Index(n.KV.Store.Stores(), st)]
	if !cfg.Limited() {
		return total, int64(u.Total - min(u.Available, u.Total)), own
	}
	return cfg.Capacity(total), own, own // others use the disk as well
}

// storageMetrics sums up the metrics of all stores.
func (n *Node) storageMetrics() (eng storage.Metrics, log raftlog.Stats, backlog int64) {
	for i, st := range n.KV.Store.Stores() {
		e, l := st.Engine().Metrics(), st.Log().Stats()
		backlog += st.Log().BacklogBytes()
		if i == 0 {
			eng, log = e, l
			continue
		}
		eng.DiskBytes += e.DiskBytes
		eng.MemTableBytes += e.MemTableBytes
		eng.CompactionDebt += e.CompactionDebt
		eng.L0Sublevels = max(eng.L0Sublevels, e.L0Sublevels)
		eng.FlushedBytes += e.FlushedBytes
		eng.Flushes += e.Flushes
		eng.Compactions += e.Compactions
		eng.LiveTables += e.LiveTables
		eng.ReadAmp = max(eng.ReadAmp, e.ReadAmp)
		eng.TombstoneCount += e.TombstoneCount
		for l := range e.LevelBytes {
			eng.LevelBytes[l] += e.LevelBytes[l]
			eng.LevelTables[l] += e.LevelTables[l]
		}
		eng.CompactedBytes += e.CompactedBytes // the cache is shared: its metrics are those of any
		log.Appends += l.Appends
		log.Syncs += l.Syncs
		log.BytesWritten += l.BytesWritten
		log.DiskBytes += l.DiskBytes
	}
	return eng, log, backlog
}

// diskFaults are the faults of all disks of a node.
type diskFaults struct {
	set    *store.Set
	faults []*diskFault
	mu     sync.Mutex
}

func newDiskFaults(s *store.Set) *diskFaults {
	d := &diskFaults{set: s}
	for _, st := range s.Stores() {
		d.faults = append(d.faults, newDiskFault(st.DiskWatch()))
	}
	return d
}

// errNoSuchStore is the error of a fault for an unknown store.
var errNoSuchStore = errors.New("store=… names no store of this node")

// ServeHTTP hands a request to the disk of the store that store=ID names, or to all.
func (d *diskFaults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	only := r.URL.Query().Get("store")
	met := false
	for i, st := range d.set.Stores() {
		if only != "" && only != strconv.FormatUint(uint64(st.Identity().Store), 10) {
			continue
		}
		var out http.ResponseWriter = w
		if met {
			out = &silent{}
		}
		met = true
		d.faults[i].ServeHTTP(out, r)
	}
	if !met {
		http.Error(w, errNoSuchStore.Error(), http.StatusBadRequest)
	}
}

// silent drops an answer: the first disk has given it.
type silent struct{ h http.Header }

// Header implements http.ResponseWriter.
func (s *silent) Header() http.Header {
	if s.h == nil {
		s.h = http.Header{}
	}
	return s.h
}

// Write implements http.ResponseWriter.
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (s *silent) WriteHeader(int) {}
