package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// The methods by which stores speak with one another.
const (
	MethodRaft     rpc.Method = 32 // one way: a raft message
	MethodGone     rpc.Method = 33 // one way: the receiver's replica was removed
	MethodSnapshot rpc.Method = 34
	// MethodClosed and MethodAskClosed are one way: what the sender has closed, and that the
	// receiver is to tell everything.
	MethodClosed    rpc.Method = 35
	MethodAskClosed rpc.Method = 36
)

// messageVersion is the format of what stores send.
const messageVersion = 1

// Network is how a store reaches the others. The zero Network is that of a node
// by itself.
type Network struct {
	Transport rpc.Transport
	Support   replica.Support
	// OnLeader is called for ranges that a replica here began to lead, OnDescriptor for
	// changed descriptors here.
	OnLeader     func(*replica.Replica)
	OnDescriptor func(*replica.Replica)
	// OthersAnswer reports whether most stores but s have disks that answer in time, as their
	// nodes said in the last d; nil: nobody says.
	OthersAnswer func(s kvpb.StoreID, d time.Duration) bool
}

// Connect gives the store its network, before Start.
func (s *Store) Connect(n Network) {
	s.connect(n)
	n.Transport.HandleMessage(MethodRaft, s.receive)
	n.Transport.HandleMessage(MethodGone, s.receiveGone)
	n.Transport.Handle(MethodSnapshot, s.receiveSnapshot)
	n.Transport.HandleMessage(MethodClosed, s.closing.receive)
	n.Transport.HandleMessage(MethodAskClosed, s.closing.receiveAsk)
}

// connect is Connect without what arrives, which may be for another store of the node.
func (s *Store) connect(n Network) {
	s.net = n
	s.elections.mayVote = n.Support.MayVote
}

// ConnectTxns gives the replicas what they need for transactions in several ranges.
func (s *Store) ConnectTxns(d replica.TxnDeps) {
	s.txns.Store(&d)
	for _, r := range s.all() {
		r.ConnectTxns(d)
	}
}

func (s *Store) deps() replica.Deps {
	var txns replica.TxnDeps
	if d := s.txns.Load(); d != nil {
		txns = *d
	}
	return replica.Deps{
		TxnDeps: txns,
		Engine:  s.eng, Log: s.log, Clock: s.opts.Clock, Logger: s.opts.Logger, Store: s.Identity().Store, OnFatal: s.opts.OnFatal,
		AdmitWrite: s.admitWrite, Waits: s.waits, Schedule: s.workers.Go, OnUnquiesce: s.ticking.unquiesce,
		CheckSlots: s.checkSlots, ResolveSlots: s.resolveSlots, LongWrites: s.longWrites, Aside: s.opts.shared != nil, Stalled: s.disk.stands,
		Send: s.send, SendSnapshot: s.sendSnapshot, Absorb: s.absorb, Support: s.net.Support,
		Elections:    s.elections,
		PrepareSplit: s.prepareSplit, Split: s.split, Neighbour: s.Replica, Merged: s.merged, OnDescriptor: s.noteDescriptor, OnLeader: s.noteLeader,
		Closing: s.closing,
	}
}

// noteLeader notes a replica that begins to lead.
func (s *Store) noteLeader(r *replica.Replica) {
	s.closing.lead(r)
	if s.net.OnLeader != nil {
		s.net.OnLeader(r)
	}
}

// envelope says between which replicas a raft message goes.
type envelope struct {
	id       kvpb.RangeID
	from, to kvpb.ReplicaDescriptor
	start    []byte // the range's first key
	epoch    int64  // of the support that the sending store gives to the receiving node
	raft     []byte
}

// toStoreField is at which place among the numbers of an envelope the receiving store is.
const toStoreField = 5

func (e *envelope) encode() []byte {
	b := []byte{messageVersion}
	for _, v := range []uint64{
		uint64(e.id), uint64(e.from.Node), uint64(e.from.Store), uint64(e.from.Replica),
		uint64(e.to.Node), uint64(e.to.Store), uint64(e.to.Replica), uint64(e.epoch), uint64(len(e.start)),
	} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, e.start...)
	return append(b, e.raft...)
}

var errMessage = errors.New("store: damaged message")

func (e *envelope) decode(p []byte) error {
	if len(p) == 0 || p[0] != messageVersion {
		return errMessage
	}
	r := encoding.NewReader(p[1:])
	e.id = kvpb.RangeID(r.Uvarint())
	e.from, e.to = readReplica(&r), readReplica(&r)
	e.epoch, e.start, e.raft = int64(r.Uvarint()), r.LenBytes(), r.Rest()
	if r.Bad() {
		return errMessage
	}
	return nil
}

func readReplica(r *encoding.Reader) kvpb.ReplicaDescriptor {
	return kvpb.ReplicaDescriptor{
		Node: kvpb.NodeID(r.Uvarint()), Store: kvpb.StoreID(r.Uvarint()), Replica: kvpb.ReplicaID(r.Uvarint()),
	}
}

func (s *Store) envelope(r *replica.Replica, to kvpb.ReplicaDescriptor) envelope {
	id := s.Identity()
	return envelope{
		id: r.RangeID(), to: to, start: r.Desc().StartKey,
		from:  kvpb.ReplicaDescriptor{Node: id.Node, Store: id.Store, Replica: r.ReplicaID()},
		epoch: s.net.Support.Granted(to.Store).Epoch,
	}
}

// send sends a raft message.
func (s *Store) send(r *replica.Replica, to kvpb.ReplicaDescriptor, m *pb.Message) {
	if s.net.Transport == nil {
		return
	}
	e := s.envelope(r, to)
	var err error
	if e.raft, err = proto.Marshal(m); err != nil {
		s.opts.Logger.Error("raft message", "range", e.id, "err", err)
		return
	}
	s.net.Transport.Send(to.Node, MethodRaft, e.encode())
}

// receive takes in a raft message.
func (s *Store) receive(_ kvpb.NodeID, msg []byte) {
	var e envelope
	m := new(pb.Message)
	if err := e.decode(msg); err != nil || proto.Unmarshal(e.raft, m) != nil {
		s.opts.Logger.Error("raft message", "err", errMessage)
		return
	}
	if e.to.Store != s.Identity().Store || m.GetType() == pb.MsgSnap {
		return // snapshots come on their own way
	}
	r, create := s.replicaFor(&e)
	switch {
	case create:
		s.createFor(e, m)
	case r == nil:
		s.answerGone(&e)
	default:
		s.step(r, &e, m)
	}
}

// step gives a raft message to the replica that it is for.
func (s *Store) step(r *replica.Replica, e *envelope, m *pb.Message) {
	if d := r.Desc(); r.Initialized() && e.from.Replica < d.NextReplicaID && !hasReplica(d, e.from.Replica) {
		s.net.Transport.Send(e.from.Node, MethodGone, gone(d, e.from))
		return
	}
	r.Step(m, e.from, e.epoch)
}

// hasReplica reports whether a replica is part of a range.
func hasReplica(d *kvpb.RangeDescriptor, id kvpb.ReplicaID) bool {
	_, ok := d.ReplicaByID(id)
	return ok
}

// maxCreations bounds the messages that wait for a replica to be made for them; raft
// sends again what is dropped.
const maxCreations = 64

// createFor makes a replica for a message, and gives it that. It returns at once: who
// reads messages must not wait for a disk.
func (s *Store) createFor(e envelope, m *pb.Message) {
	if s.creations.Add(1) > maxCreations || s.closed() {
		s.creations.Add(-1)
		return
	}
	e.start, e.raft = bytes.Clone(e.start), nil // who reads messages uses their memory again
	s.workers.Go(func() {
		defer s.creations.Add(-1)
		switch r, err := s.create(&e); {
		case err != nil:
			s.opts.Logger.Error("replica", "range", e.id, "err", err)
		case r == nil:
			s.answerGone(&e)
		default:
			s.step(r, &e, m)
		}
	})
}

// closed reports whether the store is being closed.
func (s *Store) closed() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// replicaFor returns the replica that a message is for, nil if there is none; create
// says that one may have to be made, which only create finds out.
func (s *Store) replicaFor(e *envelope) (r *replica.Replica, create bool) {
	if r, ok := s.Replica(e.id); ok {
		switch {
		case r.ReplicaID() == e.to.Replica:
			return r, false
		case r.ReplicaID() > e.to.Replica:
			return nil, false
		}
		s.remove(r, e.to.Replica)
		return nil, false // the next message finds the place free
	}
	return nil, s.find(e.start) == nil
}

// create makes the replica that a message is for, without data: a store that has none
// of the range gets one, unless it once had a later one or holds the range's keys in
// another range: then a split is still to be applied here.
func (s *Store) create(e *envelope) (*replica.Replica, error) {
	s.creating.Lock()
	defer s.creating.Unlock()
	if r, create := s.replicaFor(e); !create {
		return r, nil
	}
	floor, err := s.tombstone(e.id)
	if err != nil || e.to.Replica < floor {
		return nil, err
	}
	if waits, news := s.away.awaits(e.id); waits {
		if news {
			return nil, s.eng.StartFlush()
		}
		return nil, nil // the log of the former replica is still to be destroyed
	}
	st, ok := s.log.State(raftlog.GroupID(e.id))
	switch {
	case ok && st.Replica != uint64(e.to.Replica):
		if err := s.log.Destroy(raftlog.GroupID(e.id), st.Replica); err != nil {
			return nil, err
		}
		ok = false
	case ok && st.Truncated.Index > 0:
		return nil, nil // of a range that a split here will make
	}
	if !ok {
		err := s.log.Append([]raftlog.Write{{
			Group: raftlog.GroupID(e.id), Replica: uint64(e.to.Replica), HardState: &raftlog.HardState{},
		}})
		if err != nil {
			return nil, err
		}
	}
	r, err := replica.New(s.deps(), &kvpb.RangeDescriptor{RangeID: e.id}, e.to.Replica)
	if err != nil {
		return nil, err
	}
	s.add(r)
	return r, nil
}

// tombstone returns the lowest id that a replica of a range may still have here.
func (s *Store) tombstone(id kvpb.RangeID) (kvpb.ReplicaID, error) { return tombstoneOf(s.eng, id) }

// tombstoneOf is tombstone as a reader sees it: the engine, or what of it is durable.
func tombstoneOf(r storage.Reader, id kvpb.RangeID) (kvpb.ReplicaID, error) {
	p, ok, err := r.GetUnversioned(keys.RangeTombstone(uint64(id)), nil)
	if err != nil || !ok {
		return 0, err
	}
	n, w := binary.Uvarint(p)
	if w <= 0 {
		return 0, fmt.Errorf("range %d: damaged tombstone", id)
	}
	return kvpb.ReplicaID(n), nil
}

// remove destroys a replica that is no longer part of its range. Its log goes after
// the next flush, when the tombstone is durable (destroyLogs): moving many replicas
// away must not flush the engine for each. A crash before brings the replica back,
// which receives again that it is gone.
func (s *Store) remove(r *replica.Replica, next kvpb.ReplicaID) {
	if !s.removing(r.RangeID(), true) {
		return
	}
	go func() {
		defer s.removing(r.RangeID(), false)
		defer must.Report(s.opts.OnFatal)
		r.Stop()
		b := s.eng.NewBatch()
		defer b.Close()
		id := uint64(r.RangeID())
		errs := []error{bury(b, r.RangeID(), next)}
		if r.Initialized() {
			for _, sp := range snapshot.DataSpans(r.Desc()) {
				errs = append(errs, b.DeleteRange(sp.Start, sp.End))
			}
		}
		errs = append(errs, b.Commit())
		if err := errors.Join(errs...); err != nil {
			s.opts.Logger.Error("remove replica", "range", id, "err", err)
			return
		}
		s.away.await(r)
		s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, r.RangeID()) })
	}()
}

// bury removes what the engine holds of a replica beside its range's data, but for
// the lowest id that a later replica of the range may have here.
func bury(b *storage.Batch, id kvpb.RangeID, next kvpb.ReplicaID) error {
	local := keys.RangeLocalSpan(uint64(id))
	return errors.Join(
		b.DeleteRange(local.Start, local.End),
		b.Set(keys.RangeTombstone(uint64(id)), binary.AppendUvarint(nil, uint64(next))),
	)
}

// forget drops a replica whose tombstone is durable.
func (s *Store) forget(r *replica.Replica) {
	s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, r.RangeID()) })
	if err := s.log.Destroy(raftlog.GroupID(r.RangeID()), uint64(r.ReplicaID())); err != nil {
		s.opts.Logger.Error("remove replica", "range", r.RangeID(), "err", err)
	}
}

// removing notes that a replica is being removed, or no longer; it reports
// whether that is news.
func (s *Store) removing(id kvpb.RangeID, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.goingAway[id]
	if on {
		if s.goingAway == nil {
			s.goingAway = map[kvpb.RangeID]struct{}{}
		}
		s.goingAway[id] = struct{}{}
	} else {
		delete(s.goingAway, id)
	}
	return was != on
}

// gone tells a replica that it was removed from its range.
func gone(d *kvpb.RangeDescriptor, to kvpb.ReplicaDescriptor) []byte {
	e := envelope{id: d.RangeID, to: to, raft: apply.EncodeDescriptor(d)}
	return e.encode()
}

func (s *Store) receiveGone(_ kvpb.NodeID, msg []byte) {
	var e envelope
	if e.decode(msg) != nil || e.to.Store != s.Identity().Store {
		return
	}
	d, err := apply.DecodeDescriptor(e.raft)
	if err != nil {
		return
	}
	if r, ok := s.Replica(e.id); ok && r.ReplicaID() == e.to.Replica {
		s.Superseded(r, d)
	}
}

// Superseded takes note of a descriptor, newer perhaps than what a replica here knows of its
// range: that range's, or that of another one which holds its first key now. If the
// replica is not part of it any more, it is destroyed.
func (s *Store) Superseded(r *replica.Replica, d *kvpb.RangeDescriptor) {
	next := d.NextReplicaID
	if d.RangeID != r.RangeID() {
		next = apply.MergedAway
	} else if hasReplica(d, r.ReplicaID()) {
		return
	}
	if r.Desc().Generation >= d.Generation || r.ReplicaID() >= next {
		return
	}
	if next == apply.MergedAway && s.endsAt(r.Desc().StartKey) {
		return // the merge is still to be applied here
	}
	s.remove(r, next)
}

// noteDescriptor follows a change of a range: the index, and replicas removed.
func (s *Store) noteDescriptor(r *replica.Replica, old *kvpb.RangeDescriptor) {
	d := r.Desc()
	if len(old.EndKey) == 0 || !bytes.Equal(old.StartKey, d.StartKey) {
		s.change(func(map[kvpb.RangeID]*replica.Replica) {})
	}
	if !hasReplica(d, r.ReplicaID()) {
		s.remove(r, d.NextReplicaID)
		return
	}
	if r.Leads() && s.net.Transport != nil {
		for _, o := range old.Replicas {
			if !hasReplica(d, o.Replica) {
				s.net.Transport.Send(o.Node, MethodGone, gone(d, o))
			}
		}
	}
	if s.net.OnDescriptor != nil {
		s.net.OnDescriptor(r)
	}
}

// prepareSplit makes the log of a new range, before its state is in the engine, in one step
// with what left says of the range that is split. After a crash the log may be there already,
// and hold votes.
func (s *Store) prepareSplit(right *kvpb.RangeDescriptor, left raftlog.Write) error {
	rep, ok := right.Replica(s.Identity().Store)
	if !ok {
		return nil
	}
	s.creating.Lock()
	defer s.creating.Unlock()
	if r, ok := s.Replica(right.RangeID); ok {
		// A message of the new range came before the left half was here, and made a
		// replica without data: what the split makes takes its place and its log.
		r.Stop()
		must.True(!r.Initialized(), "S6: range %d has data here before it is split off", right.RangeID)
		s.change(func(m map[kvpb.RangeID]*replica.Replica) { delete(m, right.RangeID) })
	}
	st, ok := s.log.State(raftlog.GroupID(right.RangeID))
	switch {
	case !ok || st.Replica != uint64(rep.Replica):
		return s.log.Append([]raftlog.Write{newLog(right.RangeID, rep.Replica, raftlog.HardState{}), left})
	case st.Last >= apply.FirstIndex:
		return nil
	}
	return s.log.Append([]raftlog.Write{newLog(right.RangeID, rep.Replica, st.HardState), left})
}

// split makes the replica of a range that a split has made.
func (s *Store) split(_ *replica.Replica, right *kvpb.RangeDescriptor) (*replica.Replica, error) {
	rep, ok := right.Replica(s.Identity().Store)
	if !ok {
		return nil, nil
	}
	r, err := replica.New(s.deps(), right, rep.Replica)
	if err != nil {
		return nil, err
	}
	s.add(r)
	return r, nil // the caller starts it
}
