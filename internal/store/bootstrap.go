package store

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

// Where the log of a new range begins: every replica of a range that was never
// written to starts here, without asking anyone.
const (
	initialIndex = 10
	initialTerm  = 5
)

// firstRange holds the whole key space of a new cluster.
const firstRange kvpb.RangeID = 1

// descriptorVersion is the format of a stored range descriptor.
const descriptorVersion = 1

// clockGroup is the group under which the log keeps the clock's bound, as the
// term of a hard state; no range has this id.
const clockGroup raftlog.GroupID = 0

// bootstrap gives an empty store its first range. The range's log comes first
// and its descriptor last, flushed, so that a crash in between leaves a store
// that is still empty.
func (s *Store) bootstrap() error {
	_, ok, err := s.eng.GetUnversioned(keys.RangeDescriptor(uint64(firstRange)), nil)
	if err != nil || ok {
		return err
	}
	s.fresh = true
	const id kvpb.ReplicaID = 1
	all := keys.ReplicatedSpan()
	desc := &kvpb.RangeDescriptor{
		RangeID: firstRange, StartKey: all.Start, EndKey: all.End,
		Replicas:      []kvpb.ReplicaDescriptor{{Node: 1, Store: 1, Replica: id}},
		NextReplicaID: id + 1, Generation: 1,
	}
	mark := raftlog.Mark{Index: initialIndex, Term: initialTerm}
	err = s.log.Append([]raftlog.Write{{
		Group: raftlog.GroupID(firstRange), Replica: uint64(id), Reset: &mark,
		HardState: &raftlog.HardState{Term: initialTerm, Commit: initialIndex},
	}})
	if err != nil {
		return err
	}
	b := s.eng.NewBatch()
	defer b.Close()
	enc, err := encodeDescriptor(desc)
	if err != nil {
		return err
	}
	err = errors.Join(
		apply.WriteState(b, firstRange, apply.State{Index: initialIndex, Term: initialTerm}),
		b.Set(keys.RangeReplicaID(uint64(firstRange)), []byte{byte(id)}),
		b.Set(keys.RangeDescriptor(uint64(firstRange)), enc),
		b.Commit(),
	)
	if err != nil {
		return err
	}
	return s.eng.Flush()
}

func encodeDescriptor(d *kvpb.RangeDescriptor) ([]byte, error) {
	p, err := json.Marshal(d)
	return append([]byte{descriptorVersion}, p...), err
}

func decodeDescriptor(p []byte) (*kvpb.RangeDescriptor, error) {
	if len(p) == 0 || p[0] != descriptorVersion {
		return nil, fmt.Errorf("range descriptor has an unknown format version (%x)", p[:min(len(p), 1)])
	}
	d := new(kvpb.RangeDescriptor)
	return d, json.Unmarshal(p[1:], d)
}

// loadReplicas finds the replicas whose descriptors the engine holds.
func (s *Store) loadReplicas() error {
	span := keys.AllRangeLocalSpan()
	it, err := s.eng.NewIter(storage.IterOptions{Lower: span.Start, Upper: span.End})
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
		desc, err := decodeDescriptor(p)
		if err != nil {
			return fmt.Errorf("range %d: %w", id, err)
		}
		r, err := replica.New(s.deps(), desc, desc.Replicas[0].Replica)
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, r)
	}
	return it.Error()
}

// startClock puts the clock past the bound of the store's earlier life.
func (s *Store) startClock() error {
	hs, _ := s.log.HardState(clockGroup)
	return s.opts.Clock.Start(int64(hs.Term), s.persistClock, s.opts.OnFatal)
}

// persistClock makes a bound of the clock durable (invariant S3).
func (s *Store) persistClock(bound int64) error {
	return s.log.Append([]raftlog.Write{{
		Group: clockGroup, Replica: 1, HardState: &raftlog.HardState{Term: uint64(bound)},
	}})
}
