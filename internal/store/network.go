package store

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// The methods of messages between stores.
const (
	MethodRaft     = rpc.MethodRaft // one-way: a raft message
	MethodGone     = rpc.MethodGone // one-way: the receiver's replica was removed
	MethodSnapshot = rpc.MethodSnapshot
	// MethodClosed and MethodAskClosed are one-way: the sender's closed timestamps, and the request to
	// send all of them again.
	MethodClosed    = rpc.MethodClosed
	MethodAskClosed = rpc.MethodAskClosed
)

// messageVersion is the version of the format of these messages.
const messageVersion = 1

// Network connects a store with the others. The zero Network is that of a single node.
type Network struct {
	Transport rpc.Transport
	Support   replica.Support
	// OnLeader is called when a replica here begins to lead, OnDescriptor when its descriptor changes.
	OnLeader     func(*replica.Replica)
	OnDescriptor func(*replica.Replica)
	// OthersAnswer reports whether the disks of most stores other than s answer in time, according to
	// reports of their nodes that are no older than d. It is nil without such reports.
	OthersAnswer func(s kvpb.StoreID, d time.Duration) bool
}

// receiver handles messages of other stores: a Store, or a Set, which passes each message to its
// store.
type receiver interface {
	receive(from kvpb.NodeID, msg []byte)
	receiveGone(from kvpb.NodeID, msg []byte)
	receiveSnapshot(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error)
	receiveClosed(from kvpb.NodeID, msg []byte)
	receiveAskClosed(from kvpb.NodeID, msg []byte)
}

// register sets the handlers of all methods between stores.
func register(t rpc.Transport, to receiver) {
	t.HandleMessage(MethodRaft, to.receive)
	t.HandleMessage(MethodGone, to.receiveGone)
	t.Handle(MethodSnapshot, to.receiveSnapshot)
	t.HandleMessage(MethodClosed, to.receiveClosed)
	t.HandleMessage(MethodAskClosed, to.receiveAskClosed)
}

// Connect sets the store's network. It is called before Start.
func (s *Store) Connect(n Network) {
	s.connect(n)
	register(n.Transport, s)
}

// connect is Connect without handlers: a Set registers them for all its stores.
func (s *Store) connect(n Network) {
	s.net = n
	s.elections.mayVote = n.Support.MayVote
}

// ConnectTxns sets the dependencies of replicas for transactions in several ranges.
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
		CheckSlots: s.checkSlots, ResolveSlots: s.resolveSlots, LongWrites: s.longWrites, Workers: s.opts.shared != nil, Stalled: s.disk.stalls,
		Send: s.send, SendSnapshot: s.sendSnapshot, Absorb: s.absorb, Support: s.net.Support,
		Elections:    s.elections,
		PrepareSplit: s.prepareSplit, Split: s.split, Neighbour: s.Replica, Merged: s.merged, OnDescriptor: s.noteDescriptor, OnLeader: s.noteLeader,
		Closing: s.closing,
	}
}

// noteLeader is called when a replica begins to lead.
func (s *Store) noteLeader(r *replica.Replica) {
	s.closing.lead(r)
	if s.net.OnLeader != nil {
		s.net.OnLeader(r)
	}
}

// envelope is a raft message or a descriptor, from one replica to another.
type envelope struct {
	id       kvpb.RangeID
	from, to kvpb.ReplicaDescriptor
	start    []byte // the range's first key
	epoch    int64  // of the support that the sending store gives to the receiving node
	raft     []byte
}

// toStoreField is the position of the receiving store among the numbers of an envelope.
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

func (s *Store) envelope(r *replica.Replica, to kvpb.ReplicaDescriptor, given liveness.Support) envelope {
	id := s.Identity()
	return envelope{
		id: r.RangeID(), to: to, start: r.Desc().StartKey,
		from:  kvpb.ReplicaDescriptor{Node: id.Node, Store: id.Store, Replica: r.ReplicaID()},
		epoch: given.Epoch,
	}
}

// send sends a raft message.
func (s *Store) send(r *replica.Replica, to kvpb.ReplicaDescriptor, m *pb.Message) {
	if s.net.Transport == nil {
		return
	}
	given := s.net.Support.Granted(to.Store)
	r.NoteAnswer(to.Replica, m, given)
	e := s.envelope(r, to, given)
	var err error
	if e.raft, err = proto.Marshal(m); err != nil {
		s.opts.Logger.Error("raft message", "range", e.id, "err", err)
		return
	}
	s.net.Transport.Send(to.Node, MethodRaft, e.encode())
}

// receive handles a raft message.
func (s *Store) receive(_ kvpb.NodeID, msg []byte) {
	var e envelope
	m := new(pb.Message)
	if err := e.decode(msg); err != nil || proto.Unmarshal(e.raft, m) != nil {
		s.opts.Logger.Error("raft message", "err", errMessage)
		return
	}
	if !s.loaded.Load() || e.to.Store != s.Identity().Store || m.GetType() == pb.MsgSnap {
		return // snapshots have a method of their own
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

// step passes a raft message to its replica.
func (s *Store) step(r *replica.Replica, e *envelope, m *pb.Message) {
	if d := r.Desc(); r.Initialized() && e.from.Replica < d.NextReplicaID && !hasReplica(d, e.from.Replica) {
		s.net.Transport.Send(e.from.Node, MethodGone, gone(d, e.from))
		return
	}
	r.Step(m, e.from, e.epoch)
}

// gone encodes the message to a replica that was removed from its range.
func gone(d *kvpb.RangeDescriptor, to kvpb.ReplicaDescriptor) []byte {
	e := envelope{id: d.RangeID, to: to, raft: apply.EncodeDescriptor(d)}
	return e.encode()
}

func (s *Store) receiveGone(_ kvpb.NodeID, msg []byte) {
	var e envelope
	if !s.loaded.Load() || e.decode(msg) != nil || e.to.Store != s.Identity().Store {
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
