package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
)

// joinStores makes the stores that are new part of the cluster, each under an id of its
// own. It comes after the node's membership, and before it leads anything for good.
func (n *Node) joinStores(ctx context.Context) error {
	if n.cfg.SingleNode {
		return nil
	}
	for _, st := range n.store.Empty() {
		v, err := n.increment(ctx, "store-id", 1)
		if err != nil {
			return fmt.Errorf("an id for the store in %s: %w", st.Dir(), err)
		}
		id := n.store.Identity()
		id.Store = kvpb.StoreID(v)
		if err := st.Join(id); err != nil {
			return fmt.Errorf("the new store in %s: %w", st.Dir(), err)
		}
		if err := st.Start(); err != nil {
			return fmt.Errorf("the new store in %s: %w", st.Dir(), err)
		}
		n.log.Info("a new store joined", "dir", st.Dir(), "store", id.Store)
		n.measured.seq.Add(1) // others shall hear of it
	}
	return nil
}

// storeInfos describes this node's stores to the others.
func (n *Node) storeInfos() []liveness.StoreInfo {
	var out []liveness.StoreInfo
	var measured []liveness.StoreInfo
	if m := n.measured.stores.Load(); m != nil {
		measured = *m
	}
	for _, st := range n.store.Stores() {
		id, disk := st.Identity().Store, st.Disk()
		if id == 0 {
			continue
		}
		s := liveness.StoreInfo{ID: id}
		for i := range measured {
			if measured[i].ID == id {
				s = measured[i]
			}
		}
		s.Stalled, s.Full, s.Slow, s.Late = disk.Stalled, disk.Full, disk.Slow, disk.Late
		out = append(out, s)
	}
	return out
}

// capacity returns what a store's disk counts for and how much of that is used.
func capacity(st *store.Store, cfg *config.Store) (total, used int64) {
	u := st.Engine().DiskUsage()
	total = int64(u.Total)
	if !cfg.Limited() {
		return total, int64(u.Total - min(u.Available, u.Total))
	}
	// Others use the disk as well: of it counts what the store has taken.
	return cfg.Capacity(total), ownBytes(st)
}

// ownBytes returns what a store takes of its disk.
func ownBytes(st *store.Store) int64 {
	return int64(st.Engine().DiskUsage().UsedByEngine) + st.Log().Stats().DiskBytes
}

// disksOK reports whether the node may ask for support: one of its disks answers. What a
// store leads whose disk does not answer it gives up by itself (store.resign).
func (n *Node) disksOK() bool { return !n.store.AllStalled() }

func (n *Node) diskStates() []store.DiskState {
	out := make([]store.DiskState, len(n.store.Stores()))
	for i, st := range n.store.Stores() {
		out[i] = st.Disk()
	}
	return out
}

// lostStores are stores that ranges here name and whose nodes, which are there, do not
// have: the directory was not given at their start any more. It is guarded by
// placing.mu.
type lostStores struct {
	known map[kvpb.StoreID]kvpb.NodeID // all that descriptors name
	since map[kvpb.StoreID]time.Time   // when one was first missed
}

// maxKnownStores bounds lostStores.known; what is named beyond it is never missed.
const maxKnownStores = 1 << 14

// notice remembers the stores that a descriptor names.
func (p *placing) notice(d *kvpb.RangeDescriptor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.lost
	for i := range d.Replicas {
		rep := &d.Replicas[i]
		if _, ok := l.known[rep.Store]; ok {
			continue
		}
		if l.known == nil {
			l.known, l.since = map[kvpb.StoreID]kvpb.NodeID{}, map[kvpb.StoreID]time.Time{}
		}
		if len(l.known) < maxKnownStores {
			l.known[rep.Store] = rep.Node
		}
	}
}

// appendTo adds the lost stores to a picture: they are down for good, so that their
// replicas are rebuilt after a while, unless the store comes back.
func (l *lostStores) appendTo(all []placement.Store, now time.Time) []placement.Store {
	told := map[kvpb.NodeID]*placement.Store{} // a store of each node that tells of some
	here := map[kvpb.StoreID]bool{}
	for i := range all {
		told[all[i].Node], here[all[i].ID] = &all[i], true
	}
	var lost []placement.Store
	for id, node := range l.known {
		o := told[node]
		if here[id] || o == nil || o.State == placement.Gone {
			delete(l.since, id)
			continue
		}
		since, ok := l.since[id]
		if !ok {
			since = now
			l.since[id] = now
		}
		lost = append(lost, placement.Store{ID: id, Node: node, Locality: o.Locality, State: placement.Down, Since: since, Measured: now})
	}
	return append(all, lost...)
}

// storageFigures sums up the figures of all stores.
func (n *Node) storageFigures() (eng storage.Metrics, log raftlog.Stats, backlog int64) {
	for i, st := range n.store.Stores() {
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
		eng.CompactedBytes += e.CompactedBytes // the cache is shared: its figures are those of any
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

// errNoSuchStore is the answer to a fault for a store that is not here.
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
