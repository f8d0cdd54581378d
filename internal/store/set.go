package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

// Set is all stores of a node. They share the block cache, the waits-for graph and the node's clock. A node
// with one store pays nothing for it.
type Set struct {
	stores []*Store // in the order of the directories
	first  *Store   // its identity is the node's
	cache  *storage.Cache
	clock  *hlc.Clock
	bounds []boundWriter // one per store; guarded by the clock's lock
}

// OpenSet opens the stores in dirs. The memory limits of o are for all of them together.
func OpenSet(o Options, dirs ...string) (*Set, error) {
	set := &Set{clock: o.Clock}
	if len(dirs) > 1 {
		n := int64(len(dirs))
		if o.CacheBytes <= 0 {
			o.CacheBytes = storage.DefaultCacheBytes
		}
		o.LogCacheBytes, o.LongWriteBytes = o.LogCacheBytes/n, o.LongWriteBytes/n
		if o.MemTableBytes <= 0 {
			o.MemTableBytes = int(min(max(o.CacheBytes/n/8, 1<<20), storage.DefaultMemTableBytes))
		}
		set.cache = storage.NewCache(o.CacheBytes, o.MemTableBytes, len(dirs))
		versions := storage.VersionCacheBytes(o.CacheBytes, len(dirs))
		o.shared = &shared{cache: set.cache, versions: versions, waits: concurrency.NewWaitGraph()}
	}
	for _, dir := range dirs {
		o.Dir = dir
		s, err := Open(o)
		if err != nil {
			return nil, errors.Join(err, set.abandon())
		}
		set.stores = append(set.stores, s)
	}
	if err := set.open(o.OnFatal); err != nil {
		return nil, errors.Join(err, set.abandon())
	}
	return set, nil
}

// shared is what several stores of a node share.
type shared struct {
	cache    *storage.Cache
	versions int64 // bytes per store for the newest versions
	waits    *concurrency.WaitGraph
}

// open verifies that the stores belong together, and starts their clock.
func (s *Set) open(onFatal func(error)) error {
	s.first = s.stores[0]
	if len(s.stores) == 1 {
		return nil
	}
	var known *Store
	for _, st := range s.stores {
		id := st.Identity()
		switch {
		case id == Identity{}:
		case known == nil:
			known = st
		default:
			if err := belongTogether(known, st); err != nil {
				return err
			}
		}
	}
	if known != nil {
		s.first = known
	}
	bound := int64(0)
	s.bounds = make([]boundWriter, len(s.stores))
	for i, st := range s.stores {
		bound = max(bound, st.clockBound())
		s.bounds[i] = boundWriter{s: st, idle: make(chan struct{}, 1)}
		s.bounds[i].idle <- struct{}{}
	}
	return s.clock.Start(bound, s.persistClock, onFatal)
}

func belongTogether(a, b *Store) error {
	x, y := a.Identity(), b.Identity()
	switch {
	case x.Cluster != y.Cluster:
		return fmt.Errorf("the stores in %s and %s belong to different clusters (%s and %s): a node's stores are all of one",
			a.opts.Dir, b.opts.Dir, x.Cluster, y.Cluster)
	case x.Node != y.Node:
		return fmt.Errorf("the store in %s belongs to node %d, that in %s to node %d: a store stays with its node",
			a.opts.Dir, x.Node, b.opts.Dir, y.Node)
	case x.Store == y.Store:
		return fmt.Errorf("%s and %s hold the same store (%d): one is a copy, which must not be used", a.opts.Dir, b.opts.Dir, x.Store)
	}
	return nil
}

// abandon closes the stores that were opened.
func (s *Set) abandon() error {
	var errs []error
	for _, st := range s.stores {
		errs = append(errs, st.closeFiles())
	}
	if s.cache != nil {
		s.cache.Unref()
	}
	return errors.Join(errs...)
}

// boundPoll is the interval at which the clock checks whether disks are stalled, while it waits for its bound
// to become durable.
const boundPoll = 50 * time.Millisecond

// boundWriter writes the clock's bound to one store.
type boundWriter struct {
	s    *Store
	idle chan struct{} // holds a value while nothing is being written
}

// write starts a write of a bound unless the last one is still running.
func (w *boundWriter) write(bound int64, done chan<- error) bool {
	select {
	case <-w.idle:
	default:
		return false
	}
	go func() {
		defer must.Report(w.s.opts.OnFatal)
		err := w.s.persistClock(bound)
		w.idle <- struct{}{}
		done <- err
	}()
	return true
}

// persistClock makes a bound of the clock durable in every store whose disk answers, and in at least one
// (invariant S3). The next start uses the highest bound.
func (s *Set) persistClock(bound int64) error {
	done := make(chan error, len(s.bounds))
	poll := time.NewTicker(boundPoll)
	defer poll.Stop()
	var under []*boundWriter
	for ; len(under) == 0; <-poll.C { // if all disks are stalled, the clock waits
		for i := range s.bounds {
			if w := &s.bounds[i]; w.write(bound, done) {
				under = append(under, w)
			}
		}
	}
	for written := 0; written < len(under); {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			written++
		case <-poll.C:
			rest := 0
			for _, w := range under {
				if len(w.idle) == 0 && !w.s.Disk().Stalled {
					rest++
				}
			}
			if written > 0 && rest == 0 && len(done) == 0 {
				return nil
			}
		}
	}
	return nil
}

// Stores returns the stores in the order of their directories. The caller must not change the list.
func (s *Set) Stores() []*Store { return s.stores }

// First returns the store whose identity is the node's.
func (s *Set) First() *Store { return s.first }

// Identity returns the identity of the node's first store.
func (s *Set) Identity() Identity { return s.first.Identity() }

// Bootstrap makes the first store the first of a new cluster.
func (s *Set) Bootstrap(id Identity) error { return s.first.Bootstrap(id) }

// Join makes the first store a member of a cluster.
func (s *Set) Join(id Identity) error { return s.first.Join(id) }

// Empty returns the stores that belong to no cluster yet.
func (s *Set) Empty() (out []*Store) {
	for _, st := range s.stores {
		if st.Identity() == (Identity{}) {
			out = append(out, st)
		}
	}
	return out
}

// Start starts the stores that belong to a cluster.
func (s *Set) Start() error {
	for _, st := range s.stores {
		if st.Identity() == (Identity{}) {
			continue
		}
		if err := st.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Close closes all stores.
func (s *Set) Close() error {
	if len(s.stores) == 1 {
		return s.first.Close()
	}
	for _, st := range s.stores {
		st.halt()
	}
	s.clock.Stop()
	return s.abandon()
}

// Fresh reports whether the node's first store was created when it was opened.
func (s *Set) Fresh() bool { return s.first.Fresh() }

// Waits returns the node's waits-for graph.
func (s *Set) Waits() *concurrency.WaitGraph { return s.first.Waits() }

// AllStalled reports whether no disk of the node answers.
func (s *Set) AllStalled() bool {
	return !slices.ContainsFunc(s.stores, func(st *Store) bool { return !st.Disk().Stalled })
}

// Replica returns the node's replica of a range. While a replica moves between disks there are two. Then it
// returns the leader, or else the one with the newer descriptor.
func (s *Set) Replica(id kvpb.RangeID) (*replica.Replica, bool) {
	r := s.stores[0].index.get(id)
	for _, st := range s.stores[1:] {
		if o := st.index.get(id); o != nil && (r == nil || outranks(o, r)) {
			r = o
		}
	}
	return r, r != nil
}

func outranks(a, b *replica.Replica) bool {
	if x, y := a.Initialized(), b.Initialized(); x != y {
		return x
	}
	if x, y := a.Leads(), b.Leads(); x != y {
		return x
	}
	if x, y := a.Desc().Generation, b.Desc().Generation; x != y {
		return x > y
	}
	return a.ReplicaID() > b.ReplicaID()
}

// ReplicaWithID returns the replica of a range with a given id.
func (s *Set) ReplicaWithID(id kvpb.RangeID, rep kvpb.ReplicaID) (*replica.Replica, bool) {
	for _, st := range s.stores {
		if r := st.index.get(id); r != nil && r.ReplicaID() == rep {
			return r, true
		}
	}
	return nil, false
}

// Replicas returns the replicas with data in key order.
func (s *Set) Replicas() []*replica.Replica {
	if len(s.stores) == 1 {
		return s.first.Replicas()
	}
	var all []*replica.Replica
	for _, st := range s.stores {
		all = append(all, st.Replicas()...)
	}
	slices.SortFunc(all, func(a, b *replica.Replica) int { return bytes.Compare(a.Desc().StartKey, b.Desc().StartKey) })
	return all
}

// Of returns the store of a replica.
func (s *Set) Of(r *replica.Replica) *Store {
	for _, st := range s.stores[1:] {
		if st.index.get(r.RangeID()) == r {
			return st
		}
	}
	return s.stores[0]
}

// At returns the replica whose range holds key, or nil if there is none here.
func (s *Set) At(key []byte) *replica.Replica {
	var found *replica.Replica
	for _, st := range s.stores {
		if r := st.find(key); r != nil && (found == nil || outranks(r, found)) {
			found = r
		}
	}
	return found
}

// Lookup returns the replica whose range holds key, and the range's descriptor.
func (s *Set) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	return s.first.Lookup(key)
}

// MergedInto returns the descriptor of the range that subsumed a range, if that happened here.
func (s *Set) MergedInto(id kvpb.RangeID) (*kvpb.RangeDescriptor, bool) {
	for _, st := range s.stores {
		if d, ok := st.MergedInto(id); ok {
			return d, true
		}
	}
	return nil, false
}

// ApproximateSize estimates the size of the keys in [start, end) on all disks.
func (s *Set) ApproximateSize(start, end []byte) (total uint64, err error) {
	for _, st := range s.stores {
		n, err := st.eng.ApproximateSize(start, end)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Unquiesced returns how many replicas are ticked.
func (s *Set) Unquiesced() (n int) {
	for _, st := range s.stores {
		n += st.Unquiesced()
	}
	return n
}

// ConnectTxns sets the dependencies of replicas for transactions in several ranges.
func (s *Set) ConnectTxns(d replica.TxnDeps) {
	for _, st := range s.stores {
		st.ConnectTxns(d)
	}
}

// SupportChanged notifies the replicas that support between this node and a store has begun or
// ended.
func (s *Set) SupportChanged(id kvpb.StoreID) {
	for _, st := range s.stores {
		st.SupportChanged(id)
	}
}

// Connect sets the stores' network. It is called before Start.
func (s *Set) Connect(n Network) {
	if len(s.stores) == 1 {
		s.first.Connect(n)
		return
	}
	for _, st := range s.stores {
		st.connect(n)
	}
	register(n.Transport, s)
}

func (s *Set) receive(from kvpb.NodeID, msg []byte) {
	if st := s.addressee(msg); st != nil {
		st.receive(from, msg)
	}
}

func (s *Set) receiveGone(from kvpb.NodeID, msg []byte) {
	if st := s.addressee(msg); st != nil {
		st.receiveGone(from, msg)
	}
}

// receiveClosed passes closed timestamps to all stores: the sender does not know which of them have
// replicas of its ranges.
func (s *Set) receiveClosed(from kvpb.NodeID, msg []byte) {
	for _, st := range s.stores {
		st.receiveClosed(from, msg)
	}
}

func (s *Set) receiveAskClosed(from kvpb.NodeID, msg []byte) {
	for _, st := range s.stores {
		st.receiveAskClosed(from, msg)
	}
}

// addressee returns the store that a message is for, or nil if it is not here.
func (s *Set) addressee(msg []byte) *Store {
	if id, ok := addressedTo(msg); ok {
		for _, st := range s.stores {
			if st.Identity().Store == id {
				return st
			}
		}
	}
	return nil
}

// addressedTo reads the receiving store's id from an envelope.
func addressedTo(msg []byte) (kvpb.StoreID, bool) {
	if len(msg) == 0 || msg[0] != messageVersion {
		return 0, false
	}
	msg = msg[1:]
	for field := 0; ; field++ {
		v, w := binary.Uvarint(msg)
		if w <= 0 {
			return 0, false
		}
		if field == toStoreField {
			return kvpb.StoreID(v), v != 0
		}
		msg = msg[w:]
	}
}

// receiveSnapshot passes a part of a snapshot to its store.
func (s *Set) receiveSnapshot(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
	if len(req) < partHeader || req[0] != snapshotVersion {
		return nil, fmt.Errorf("%w: a snapshot of another version", errMessage)
	}
	key, body := arrivalKey{from, binary.LittleEndian.Uint64(req[2:])}, req[partHeader:]
	if req[1] == partBegin {
		var head snapshotHead
		if err := json.Unmarshal(body, &head); err != nil {
			return nil, err
		}
		st := s.addressee(head.Envelope)
		if st == nil {
			return nil, errors.New("store: a snapshot for a store that is not here")
		}
		return st.receiveSnapshot(ctx, from, req)
	}
	for _, st := range s.stores {
		if st.snapshots.arrives(key) {
			return st.receiveSnapshot(ctx, from, req)
		}
	}
	return nil, errors.New("store: unknown snapshot")
}

// arrives reports whether the store is receiving a snapshot.
func (sn *snapshots) arrives(key arrivalKey) bool {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	return sn.arrivals.byKey[key] != nil
}
