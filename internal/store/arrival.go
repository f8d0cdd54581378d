package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	pb "go.etcd.io/raft/v3/raftpb"
)

// snapshotDir is the directory, beside the engine's, for the tables of incoming snapshots. A start
// removes what an earlier incarnation has left there.
const snapshotDir = "snapshots"

// arrivalKey identifies an incoming snapshot. Each sender numbers its own.
type arrivalKey struct {
	from   kvpb.NodeID
	number uint64
}

// arrivals are the incoming snapshots, guarded by snapshots.mu. An arrival reserves its span until
// it is installed or given up.
type arrivals struct {
	byKey map[arrivalKey]*arrival
	dirs  uint64
}

func (as *arrivals) all() []*arrival {
	out := make([]*arrival, 0, len(as.byKey))
	for _, a := range as.byKey {
		out = append(out, a)
	}
	return out
}

// arrival is an incoming snapshot.
type arrival struct {
	s    *Store
	key  arrivalKey
	env  envelope
	msg  *pb.Message
	desc *kvpb.RangeDescriptor

	latch chan struct{} // full while a part is being written to disk
	snap  *snapshot.Incoming
	next  uint32 // the sequence number of the next chunk
	over  bool
	timer *time.Timer
}

// clearSnapshots removes snapshot files of an earlier incarnation.
func (s *Store) clearSnapshots() error {
	s.snapshots.limits = s.opts.Snapshots
	s.snapshots.limits.fill()
	s.snapshots.rate.CompareAndSwap(0, s.snapshots.limits.BytesPerSecond)
	return s.opts.FS.RemoveAll(s.opts.FS.PathJoin(s.opts.Dir, snapshotDir))
}

// receiveSnapshot processes a part of a snapshot.
func (s *Store) receiveSnapshot(_ context.Context, from kvpb.NodeID, req []byte) ([]byte, error) {
	if len(req) < partHeader || req[0] != snapshotVersion {
		return nil, fmt.Errorf("%w: a snapshot of another version", errMessage)
	}
	if !s.loaded.Load() {
		return nil, errors.New("store: starting")
	}
	key, body := arrivalKey{from, binary.LittleEndian.Uint64(req[2:])}, req[partHeader:]
	if req[1] == partBegin {
		return nil, s.beginArrival(key, body)
	}
	sn := &s.snapshots
	sn.mu.Lock()
	a := sn.arrivals.byKey[key]
	sn.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("store: unknown snapshot")
	}
	switch req[1] {
	case partChunk:
		sn.receivedBytes.Add(int64(len(body)))
		return nil, a.chunk(body)
	case partEnd:
		err := a.install(body)
		if err == nil {
			sn.received.Add(1)
		}
		return nil, err
	}
	a.end()
	return nil, nil
}

// beginArrival admits a snapshot if its keys and the disk have room.
func (s *Store) beginArrival(key arrivalKey, p []byte) error {
	var head snapshotHead
	if err := json.Unmarshal(p, &head); err != nil {
		return err
	}
	a := &arrival{s: s, key: key, latch: make(chan struct{}, 1)}
	if err := a.env.decode(head.Envelope); err != nil {
		return err
	}
	if a.env.to.Store != s.Identity().Store {
		return fmt.Errorf("store: snapshot for store %d arrived at store %d", a.env.to.Store, s.Identity().Store)
	}
	var err error
	if a.msg, err = arrivalMessage(a.env.raft); err != nil {
		return err
	}
	if a.desc, err = apply.DecodeDescriptor(head.Desc); err != nil {
		return err
	}
	if a.desc.RangeID != a.env.id || bytes.Compare(a.desc.StartKey, a.desc.EndKey) >= 0 {
		return errMessage
	}
	if r, ok := s.Replica(a.env.id); ok && r.ReplicaID() == a.env.to.Replica && r.AppliedIndex() >= head.State.Index {
		// Raft has the replica answer what it has; else a sender that missed the end of an earlier
		// snapshot would send the same one again and again.
		return r.Receive(a.msg, a.env.from, nil)
	}
	if err := s.roomFor(head.Bytes); err != nil {
		return err
	}
	dir, err := s.admitArrival(a)
	if err != nil {
		return err
	}
	a.latch <- struct{}{}
	defer func() { <-a.latch }()
	a.snap, err = snapshot.NewIncoming(s.eng, s.opts.FS, dir, a.desc, head.State, head.Threshold)
	if err != nil {
		a.endLocked()
		return err
	}
	a.timer = time.AfterFunc(arrivalTimeout, a.end)
	return nil
}

// roomFor returns an error if the disk has no room for a snapshot.
func (s *Store) roomFor(n uint64) error {
	if err := s.admitWrite(); err != nil {
		return err
	}
	if u := s.eng.DiskUsage(); u.Total > 0 && u.Available < n+storage.DefaultReserveBytes {
		return &kvpb.DiskFullError{Cause: fmt.Errorf("a snapshot of %d bytes, %d are available", n, u.Available)}
	}
	return nil
}

// admitArrival reserves a slot and the key span of a snapshot, and returns its directory.
func (s *Store) admitArrival(a *arrival) (dir string, err error) {
	sn := &s.snapshots
	sn.mu.Lock()
	var old []*arrival
	for _, o := range sn.arrivals.byKey {
		if o.env.id != a.env.id {
			continue
		}
		// The sender has given up and tries again, or the leader of a later term sends a snapshot: raft
		// would ignore the earlier one.
		if o.key.from == a.key.from || o.msg.GetTerm() < a.msg.GetTerm() {
			old = append(old, o)
		}
	}
	sn.mu.Unlock()
	for _, o := range old {
		o.end()
	}
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.closed {
		return "", fmt.Errorf("store: stopping")
	}
	for _, o := range sn.arrivals.byKey {
		if o.env.id == a.env.id || overlap(o.desc, a.desc) {
			return "", fmt.Errorf("store: a snapshot of range %d arrives already", o.env.id)
		}
	}
	if len(sn.arrivals.byKey) >= sn.limits.Incoming {
		return "", fmt.Errorf("store: too many snapshots arrive at once")
	}
	if err := s.placeFor(a); err != nil {
		return "", err
	}
	if sn.arrivals.byKey == nil {
		sn.arrivals.byKey = map[arrivalKey]*arrival{}
	}
	sn.arrivals.byKey[a.key] = a
	sn.arrivals.dirs++
	f := s.opts.FS
	return f.PathJoin(s.opts.Dir, snapshotDir, fmt.Sprintf("%08d", sn.arrivals.dirs)), nil
}

func overlap(a, b *kvpb.RangeDescriptor) bool {
	return bytes.Compare(a.StartKey, b.EndKey) < 0 && bytes.Compare(b.StartKey, a.EndKey) < 0
}

// mergedInto reports whether range old, whose keys overlap range into, may have been merged into it. If
// old starts before into it was not: here, a split of old is not applied yet, or old was removed.
func mergedInto(old, into *kvpb.RangeDescriptor) bool {
	return old.Generation < into.Generation && bytes.Compare(old.StartKey, into.StartKey) >= 0
}

// placeFor returns an error if another replica here has keys of a snapshot. Any such replica is about to
// be split or removed. Replicas of ranges that were merged into the snapshot's do not count.
func (s *Store) placeFor(a *arrival) error {
	for _, o := range s.Replicas() {
		if d := o.Desc(); d.RangeID != a.env.id && overlap(d, a.desc) && !mergedInto(d, a.desc) {
			return fmt.Errorf("store: range %d overlaps range %d here", a.env.id, d.RangeID)
		}
	}
	return nil
}

// chunk processes a chunk. A snapshot with a damaged or misplaced chunk is given up.
func (a *arrival) chunk(body []byte) error {
	a.latch <- struct{}{}
	defer func() { <-a.latch }()
	if a.over {
		return fmt.Errorf("store: unknown snapshot")
	}
	err := a.add(body)
	if err != nil {
		a.endLocked()
		return err
	}
	a.timer.Reset(arrivalTimeout)
	return nil
}

func (a *arrival) add(body []byte) error {
	if len(body) < chunkHeader {
		return errMessage
	}
	if seq := binary.LittleEndian.Uint32(body); seq != a.next {
		return fmt.Errorf("store: chunk %d of a snapshot came in place of %d", seq, a.next)
	}
	data := body[chunkHeader:]
	if crc32.Checksum(data, chunkSums) != binary.LittleEndian.Uint32(body[4:]) {
		return fmt.Errorf("%w: checksum of chunk %d", snapshot.ErrDamaged, a.next)
	}
	a.next++
	return a.snap.Add(data)
}

// install passes a complete snapshot to its replica.
func (a *arrival) install(body []byte) error {
	a.latch <- struct{}{}
	defer func() { <-a.latch }()
	if a.over {
		return fmt.Errorf("store: unknown snapshot")
	}
	a.timer.Stop()
	defer a.endLocked()
	sum, err := decodeSum(body)
	if err != nil {
		return err
	}
	if err := a.snap.Complete(sum); err != nil {
		return err
	}
	s := a.s
	if err := s.placeFor(a); err != nil { // again: replicas may have changed
		return err
	}
	r, create := s.replicaFor(&a.env)
	if create {
		if r, err = s.create(&a.env); err != nil {
			return err
		}
	}
	if r == nil {
		return fmt.Errorf("store: no place for a replica of range %d", a.env.id)
	}
	return r.Receive(a.msg, a.env.from, a.snap)
}

// end gives a snapshot up unless it has ended.
func (a *arrival) end() {
	a.latch <- struct{}{}
	defer func() { <-a.latch }()
	a.endLocked()
}

func (a *arrival) endLocked() {
	if a.over {
		return
	}
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.snap != nil {
		if err := a.snap.Close(); err != nil {
			a.s.opts.Logger.Warn("files of a snapshot", "range", a.env.id, "err", err)
		}
	}
	sn := &a.s.snapshots
	sn.mu.Lock()
	delete(sn.arrivals.byKey, a.key)
	sn.mu.Unlock()
}

// absorb removes the replicas whose ranges were merged into a range that receives a snapshot. It adds
// their removal to b, which makes it atomic with the snapshot. The caller calls done after it has written
// b. after says that earlier commits must become durable before the snapshot does.
func (s *Store) absorb(r *replica.Replica, d *kvpb.RangeDescriptor, b *storage.Batch) (gone []*kvpb.RangeDescriptor, after bool, done func(), err error) {
	var all []*replica.Replica
	for _, o := range s.Replicas() {
		od := o.Desc()
		if o == r || !overlap(od, d) {
			continue
		}
		if !mergedInto(od, d) {
			return nil, false, nil, fmt.Errorf("store: range %d overlaps range %d here", d.RangeID, od.RangeID)
		}
		all, gone = append(all, o), append(gone, od)
	}
	done = func() {
		for _, o := range all {
			s.forget(o)
		}
	}
	for _, o := range all {
		o.Stop()
		err = errors.Join(err, bury(b, o.RangeID(), o.ReplicaID()+1))
	}
	if err == nil {
		after, err = s.ownedDurably(d)
	}
	return gone, after, done, err
}

// ownedDurably reports whether a crash now would bring back another replica here with keys of the range:
// the split, merge or removal that made room for the snapshot is not durable yet. It must not become
// durable after the snapshot (invariant S8).
func (s *Store) ownedDurably(d *kvpb.RangeDescriptor) (bool, error) {
	found := false
	err := eachDescriptor(s.eng.NewDurableReader(), func(o *kvpb.RangeDescriptor) error {
		found = found || overlap(o, d)
		return nil
	})
	return found, err
}
