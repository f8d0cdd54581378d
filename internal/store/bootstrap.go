package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

// firstRange holds the whole key space of a new cluster.
const firstRange kvpb.RangeID = 1

// identityVersion is the format of a stored identity.
const identityVersion = 1

// clockGroup is the group under which the log stores the clock's bound, as the term of a hard state. No
// range has this id.
const clockGroup raftlog.GroupID = 0

// Identity is a store's membership: its cluster and its ids there. It is zero if the store belongs
// to no cluster.
type Identity struct {
	Cluster string
	Node    kvpb.NodeID
	Store   kvpb.StoreID
}

// Identity returns the store's identity.
func (s *Store) Identity() Identity { return *s.identity.Load() }

func (s *Store) loadIdentity() error {
	id := new(Identity)
	defer func() { s.identity.Store(id) }()
	p, ok, err := s.eng.GetUnversioned(keys.StoreIdent(), nil)
	if err != nil || !ok {
		return err
	}
	if len(p) == 0 || p[0] != identityVersion {
		return fmt.Errorf("the store's identity has an unknown format version (%x)", p[:min(len(p), 1)])
	}
	return json.Unmarshal(p[1:], id)
}

// Join makes the store a member of a cluster.
func (s *Store) Join(id Identity) error {
	b := s.eng.NewBatch()
	defer b.Close()
	if err := errors.Join(setIdentity(b, id), b.Commit()); err != nil {
		return err
	}
	s.identity.Store(&id)
	return s.eng.Flush()
}

func setIdentity(b *storage.Batch, id Identity) error {
	p, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return b.Set(keys.StoreIdent(), append([]byte{identityVersion}, p...))
}

// Bootstrap makes an empty store the first of a new cluster, with a first range that holds all keys. It
// first writes the range's log, and then the descriptor, which it flushes. After a crash in between, the
// store is still empty (invariant S2).
func (s *Store) Bootstrap(id Identity) error {
	if s.Identity() != (Identity{}) {
		return fmt.Errorf("the store is part of cluster %s already", s.Identity().Cluster)
	}
	const first kvpb.ReplicaID = 1
	all := keys.ReplicatedSpan()
	desc := &kvpb.RangeDescriptor{
		RangeID: firstRange, StartKey: all.Start, EndKey: all.End,
		Replicas:      []kvpb.ReplicaDescriptor{{Node: id.Node, Store: id.Store, Replica: first}},
		NextReplicaID: first + 1, Generation: 1, BoundsGen: 1,
	}
	if err := s.log.Append([]raftlog.Write{newLog(desc.RangeID, first, raftlog.HardState{})}); err != nil {
		return err
	}
	b := s.eng.NewBatch()
	defer b.Close()
	err := errors.Join(
		apply.WriteReplica(b, desc, first, apply.State{Index: apply.FirstIndex, Term: apply.FirstTerm}, hlc.Timestamp{}),
		setIdentity(b, id),
		b.Commit(),
	)
	if err != nil {
		return err
	}
	if err := s.eng.Flush(); err != nil {
		return err
	}
	s.identity.Store(&id)
	s.fresh = true
	return nil
}

// newLog returns the write that creates the log of a new range, with the vote of hs.
func newLog(id kvpb.RangeID, rep kvpb.ReplicaID, hs raftlog.HardState) raftlog.Write {
	if hs.Term < apply.FirstTerm {
		hs = raftlog.HardState{Term: apply.FirstTerm}
	}
	hs.Commit = apply.FirstIndex
	return raftlog.Write{
		Group: raftlog.GroupID(id), Replica: uint64(rep), Reset: &raftlog.Mark{Index: apply.FirstIndex, Term: apply.FirstTerm},
		HardState: &hs,
	}
}

// loadReplicas loads the replicas whose descriptors the engine has. Only then may messages of other
// stores create replicas and remove them.
func (s *Store) loadReplicas() error {
	err := eachDescriptor(s.eng, s.loadReplica)
	if err == nil {
		err = s.destroyOrphans()
	}
	s.loaded.Store(err == nil)
	return err
}

// eachDescriptor calls fn with the descriptor of each replica in an engine.
func eachDescriptor(e storage.Reader, fn func(*kvpb.RangeDescriptor) error) error {
	span := keys.AllRangeLocalSpan()
	it, err := e.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		key, _, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return err
		}
		id, _, ok := keys.DecodeRangeLocal(key)
		if !ok || string(key) != string(keys.RangeDescriptor(id)) {
			continue
		}
		p, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		desc, err := apply.DecodeDescriptor(p)
		if err != nil {
			return fmt.Errorf("range %d: %w", id, err)
		}
		if err := fn(desc); err != nil {
			return err
		}
	}
	return it.Error()
}

func (s *Store) loadReplica(desc *kvpb.RangeDescriptor) error {
	p, ok, err := s.eng.GetUnversioned(keys.RangeReplicaID(uint64(desc.RangeID)), nil)
	if err != nil {
		return err
	}
	id, w := binary.Uvarint(p)
	if !ok || w <= 0 {
		return fmt.Errorf("range %d: its replica id is missing", desc.RangeID)
	}
	if err := replica.RepairLog(s.eng, s.log, desc.RangeID, kvpb.ReplicaID(id)); err != nil {
		return err
	}
	r, err := replica.New(s.deps(), desc, kvpb.ReplicaID(id))
	if err != nil {
		return err
	}
	s.add(r)
	return nil
}

// startClock moves the clock past the bound of the store's earlier incarnation.
func (s *Store) startClock() error {
	return s.opts.Clock.Start(s.clockBound(), s.persistClock, s.opts.OnFatal)
}
