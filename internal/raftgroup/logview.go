package raftgroup

import (
	"errors"

	"github.com/lichendb/lichen/internal/raftlog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// maxRecentBytes bounds the entries that LogView keeps in memory.
const maxRecentBytes = 8 << 20

// StateMachine is raft's view of the applied state.
type StateMachine interface {
	ConfState() *pb.ConfState
	// Applied returns the last applied entry. ok is false while the replica has no state.
	Applied() (index, term uint64, ok bool)
}

// LogView is the raft.Storage of a group: its part of the store's log. It serves recent entries from memory,
// since raft reads them again to apply them. Raft keeps the slices that Entries returns, so their arrays are
// never changed in place.
type LogView struct {
	Log   *raftlog.Log
	Group raftlog.GroupID
	State raftlog.State
	state StateMachine

	recent      []*pb.Entry // consecutive, ending at the last entry appended
	recentBytes int
}

var _ raft.Storage = (*LogView)(nil)

// InitialState implements raft.Storage.
func (v *LogView) InitialState() (*pb.HardState, *pb.ConfState, error) {
	hs := &pb.HardState{
		Term:   proto.Uint64(v.State.HardState.Term),
		Vote:   proto.Uint64(v.State.HardState.Vote),
		Commit: proto.Uint64(v.State.HardState.Commit),
	}
	return hs, v.state.ConfState(), nil
}

// Entries implements raft.Storage.
func (v *LogView) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	if n := len(v.recent); n > 0 && lo >= v.recent[0].GetIndex() && hi <= v.recent[n-1].GetIndex()+1 {
		first := v.recent[0].GetIndex()
		return limitSize(v.recent[lo-first:hi-first:hi-first], maxSize), nil
	}
	ents, err := v.Log.Entries(v.Group, lo, hi, maxSize)
	if err != nil {
		return nil, raftError(err)
	}
	out := make([]*pb.Entry, len(ents))
	for i := range ents {
		e := &ents[i]
		out[i] = &pb.Entry{
			Index: proto.Uint64(e.Index), Term: proto.Uint64(e.Term),
			Type: pb.EntryType(e.Type).Enum(), Data: e.Data,
		}
	}
	return out, nil
}

func limitSize(ents []*pb.Entry, maxSize uint64) []*pb.Entry {
	size := uint64(0)
	for i, e := range ents {
		size += uint64(len(e.GetData())) + 16
		if i > 0 && size > maxSize {
			return ents[:i:i]
		}
	}
	return ents
}

// Term implements raft.Storage.
func (v *LogView) Term(i uint64) (uint64, error) {
	if n := len(v.recent); n > 0 && i >= v.recent[0].GetIndex() && i <= v.recent[n-1].GetIndex() {
		return v.recent[i-v.recent[0].GetIndex()].GetTerm(), nil
	}
	t, err := v.Log.Term(v.Group, i)
	return t, raftError(err)
}

// LastIndex implements raft.Storage. Raft calls it at each step, so it avoids the log's mutex: thousands of
// groups that elect leaders at once would contend for it.
func (v *LogView) LastIndex() (uint64, error) { return v.State.Last, nil }

// FirstIndex implements raft.Storage.
func (v *LogView) FirstIndex() (uint64, error) { return v.Log.FirstIndex(v.Group), nil }

// Snapshot implements raft.Storage. It returns only the metadata of the present state. The data is read when
// the message is sent.
func (v *LogView) Snapshot() (*pb.Snapshot, error) {
	index, term, ok := v.state.Applied()
	if !ok {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return &pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index: proto.Uint64(index), Term: proto.Uint64(term), ConfState: v.state.ConfState(),
	}}, nil
}

func raftError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raftlog.ErrCompacted):
		return raft.ErrCompacted
	case errors.Is(err, raftlog.ErrUnavailable), errors.Is(err, raftlog.ErrUnknownGroup):
		return raft.ErrUnavailable
	}
	return err
}

// Appended records entries that were appended to the log.
func (v *LogView) Appended(ents []*pb.Entry) {
	if len(ents) == 0 {
		return
	}
	first := ents[0].GetIndex()
	if n := len(v.recent); n > 0 {
		if at := first - v.recent[0].GetIndex(); first > v.recent[0].GetIndex() && at <= uint64(n) {
			for _, e := range v.recent[at:] {
				v.recentBytes -= len(e.GetData())
			}
			v.recent = v.recent[:at:at] // raft may hold the rest
		} else {
			v.recent, v.recentBytes = nil, 0
		}
	}
	v.State.Last = ents[len(ents)-1].GetIndex()
	for _, e := range ents {
		v.recent = append(v.recent, e)
		v.recentBytes += len(e.GetData())
	}
}

// Forget drops the entries up to index from memory: they are applied, and will hardly be read again.
func (v *LogView) Forget(index uint64) {
	n := 0
	for n < len(v.recent) && v.recent[n].GetIndex() <= index {
		v.recentBytes -= len(v.recent[n].GetData())
		n++
	}
	v.recent = v.recent[n:]
	if len(v.recent) == 0 || v.recentBytes > maxRecentBytes {
		v.recent, v.recentBytes = nil, 0
	}
}

// Reset records that the log was emptied and now begins after the entry last.
func (v *LogView) Reset(hs raftlog.HardState, last uint64) {
	v.State.HardState, v.State.Last = hs, last
	v.recent, v.recentBytes = nil, 0
}
