package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Limits of snapshots.
const (
	// maxOutgoing and maxIncoming bound the snapshots on their way at a time.
	maxOutgoing = 2
	maxIncoming = 2
	// maxSnapshotBytes bounds the data of one.
	maxSnapshotBytes = 2 << 30
)

// snapshots are those on their way.
type snapshots struct {
	mu       sync.Mutex
	outgoing int
	incoming map[uint64]*arriving // by the sender's number, mixed with its store
	next     uint64
}

// The parts of a snapshot, each one call.
const (
	partBegin byte = 1 + iota
	partChunk
	partEnd
	partAbort
)

// snapshotHead begins a snapshot.
type snapshotHead struct {
	Envelope  []byte // with the raft message
	Desc      []byte
	State     apply.State
	Threshold hlc.Timestamp
}

type arriving struct {
	head  snapshotHead
	env   envelope
	bytes int
	snap  replica.IncomingSnapshot
}

// sendSnapshot streams a snapshot on a goroutine of its own.
func (s *Store) sendSnapshot(r *replica.Replica, to kvpb.ReplicaDescriptor, snap *replica.OutgoingSnapshot, done func(bool)) {
	sn := &s.snapshots
	sn.mu.Lock()
	busy := sn.outgoing >= maxOutgoing || s.net.Transport == nil
	if !busy {
		sn.outgoing++
		sn.next++
	}
	number := sn.next<<16 | uint64(s.Identity().Store)&0xffff
	sn.mu.Unlock()
	if busy {
		snap.Close()
		s.workers.schedule(func() { done(false) })
		return
	}
	e := s.envelope(r, to)
	go func() {
		err := s.stream(e, to.Node, number, snap)
		snap.Close()
		if err != nil {
			s.opts.Logger.Warn("snapshot not delivered", "range", e.id, "to", to.Store, "err", err)
		}
		sn.mu.Lock()
		sn.outgoing--
		sn.mu.Unlock()
		done(err == nil)
	}()
}

func (s *Store) stream(e envelope, to kvpb.NodeID, number uint64, snap *replica.OutgoingSnapshot) (err error) {
	ctx, cancel := s.stopContext()
	defer cancel()
	call := func(part byte, data []byte) error {
		b := binary.LittleEndian.AppendUint64([]byte{messageVersion, part}, number)
		_, err := s.net.Transport.Call(ctx, to, MethodSnapshot, append(b, data...))
		return err
	}
	if e.raft, err = proto.Marshal(snap.Message); err != nil {
		return err
	}
	head, err := json.Marshal(snapshotHead{
		Envelope: e.encode(), Desc: apply.EncodeDescriptor(snap.Desc), State: snap.State, Threshold: snap.Threshold,
	})
	if err != nil {
		return err
	}
	if err := call(partBegin, head); err != nil {
		return err
	}
	for {
		chunk, err := snap.Next()
		if err == nil && len(chunk) > 0 {
			err = call(partChunk, chunk)
		}
		if err != nil {
			return errors.Join(err, call(partAbort, nil))
		}
		if len(chunk) == 0 {
			return call(partEnd, nil)
		}
	}
}

// stopContext returns a context that ends with the store.
func (s *Store) stopContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// receiveSnapshot takes in a part of a snapshot.
func (s *Store) receiveSnapshot(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
	if len(req) < 10 || req[0] != messageVersion {
		return nil, errMessage
	}
	number := binary.LittleEndian.Uint64(req[2:])
	sn := &s.snapshots
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if req[1] == partBegin {
		return nil, s.beginArrival(number, req[10:])
	}
	a := sn.incoming[number]
	if a == nil {
		return nil, fmt.Errorf("store: unknown snapshot")
	}
	switch req[1] {
	case partChunk:
		if a.bytes += len(req) - 10; a.bytes > maxSnapshotBytes {
			delete(sn.incoming, number)
			return nil, fmt.Errorf("store: snapshot exceeds %d bytes", maxSnapshotBytes)
		}
		a.snap.Chunks = append(a.snap.Chunks, append([]byte(nil), req[10:]...))
		return nil, nil
	case partEnd:
		delete(sn.incoming, number)
		return nil, s.arrived(a)
	}
	delete(sn.incoming, number)
	return nil, nil
}

func (s *Store) beginArrival(number uint64, p []byte) error {
	sn := &s.snapshots
	a := new(arriving)
	if err := json.Unmarshal(p, &a.head); err != nil {
		return err
	}
	if err := a.env.decode(a.head.Envelope); err != nil {
		return err
	}
	if a.env.to.Store != s.Identity().Store {
		return fmt.Errorf("store: snapshot for store %d arrived at store %d", a.env.to.Store, s.Identity().Store)
	}
	for n, o := range sn.incoming { // the sender gave up and tries again
		if o.env.id == a.env.id {
			delete(sn.incoming, n)
		}
	}
	if len(sn.incoming) >= maxIncoming {
		return fmt.Errorf("store: too many snapshots arrive at once")
	}
	d, err := apply.DecodeDescriptor(a.head.Desc)
	if err != nil {
		return err
	}
	a.snap = replica.IncomingSnapshot{Desc: d, State: a.head.State, Threshold: a.head.Threshold}
	if sn.incoming == nil {
		sn.incoming = map[uint64]*arriving{}
	}
	sn.incoming[number] = a
	return nil
}

// arrived hands a complete snapshot to its replica. It must not cover keys of
// another replica: that one is about to be split or removed.
func (s *Store) arrived(a *arriving) error {
	m := new(pb.Message)
	if err := proto.Unmarshal(a.env.raft, m); err != nil {
		return err
	}
	if r, ok := s.Replica(a.env.id); !ok || !r.Initialized() {
		for _, o := range s.Replicas() {
			if d := o.Desc(); o.RangeID() != a.env.id && string(d.StartKey) < string(a.snap.Desc.EndKey) && string(a.snap.Desc.StartKey) < string(d.EndKey) {
				return fmt.Errorf("store: range %d overlaps range %d here", a.env.id, d.RangeID)
			}
		}
	}
	r, err := s.replicaFor(&a.env)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("store: no place for a replica of range %d", a.env.id)
	}
	r.Receive(m, a.env.from, &a.snap)
	return nil
}
