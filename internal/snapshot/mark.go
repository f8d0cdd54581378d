package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
)

// Mark is a record that the engine gets together with a snapshot: the snapshot's applied state, and the
// state of the log at that moment. Nothing is written to the log before it is emptied. So if the mark
// still describes the log, the log has lost nothing, above all no vote.
//
//	            installed: the engine has the state and the mark         EmptyLog
//	[arrived] ─────────────────────────────────────────────► [installed] ────────► [emptied]
//	                                                              │                    │ ClearMark
//	                                                              │ crash              ▼
//	                                                              └──► Mend: EmptyLog ► [done]
type Mark struct {
	At         apply.State
	Term, Vote uint64 // of the log before
	Last       uint64 // its last entry
}

// markVersion is the format of a stored Mark.
const markVersion = 1

// MarkOf returns the mark of a snapshot with an applied state, for a replica with a log.
func MarkOf(at apply.State, log *raftlog.State) Mark {
	return Mark{at, log.HardState.Term, log.HardState.Vote, log.Last}
}

// Put puts the mark into the batch that comes with the snapshot.
func (m Mark) Put(b *storage.Batch, id kvpb.RangeID) error {
	p := []byte{markVersion}
	for _, v := range []uint64{m.At.Index, m.At.Term, m.Term, m.Vote, m.Last} {
		p = binary.BigEndian.AppendUint64(p, v)
	}
	return b.Set(keys.RangeSnapshotMark(uint64(id)), p)
}

// LoadMark returns the mark of a snapshot, if there is one.
func LoadMark(eng *storage.Engine, id kvpb.RangeID) (m Mark, ok bool, err error) {
	p, ok, err := eng.GetUnversioned(keys.RangeSnapshotMark(uint64(id)), nil)
	if err != nil || !ok {
		return m, false, err
	}
	if len(p) != 1+5*8 || p[0] != markVersion {
		return m, false, fmt.Errorf("range %d: the mark of a snapshot has an unknown form (%x)", id, p)
	}
	for i, v := range []*uint64{&m.At.Index, &m.At.Term, &m.Term, &m.Vote, &m.Last} {
		*v = binary.BigEndian.Uint64(p[1+8*i:])
	}
	return m, true, nil
}

// ClearMark removes the mark of a snapshot once the log is emptied. The removal need not be durable: a
// mark that is there again after a crash no longer describes the log.
func ClearMark(eng *storage.Engine, id kvpb.RangeID) error {
	b := eng.NewBatch()
	defer b.Close()
	return errors.Join(b.Delete(keys.RangeSnapshotMark(uint64(id))), b.Commit())
}

// Mending is the change that a log needs at the start of its store.
type Mending uint8

// The changes.
const (
	// Keep: none. The log continues the engine's state.
	Keep Mending = iota
	// Unmark: the log continues the engine's state. The mark of a snapshot must be removed.
	Unmark
	// Empty: a crash came between the installation of a snapshot and EmptyLog.
	Empty
	// Lost: the log has lost its end, perhaps with votes. The replica can't be used.
	Lost
)

// String implements fmt.Stringer.
func (m Mending) String() string {
	return [...]string{"keep the log", "remove the mark", "empty the log", "the log is lost"}[m]
}

// Mend decides what a log needs so that it continues the engine's state. term is the term of the log's
// entry at that state's index. mark is the engine's mark of a snapshot, nil if there is none. why says why
// the log does not continue the state.
func Mend(at apply.State, log *raftlog.State, term uint64, mark *Mark) (m Mending, why string) {
	why = breach(at, log, term)
	switch {
	case why == "" && mark != nil:
		return Unmark, why
	case why == "":
		return Keep, why
	case mark != nil && *mark == MarkOf(at, log), plant.On(plant.MendAlways):
		return Empty, why
	}
	return Lost, why
}

// breach says why a log does not continue a state. It is empty if the log does.
func breach(at apply.State, log *raftlog.State, term uint64) string {
	switch {
	case at.Index > log.Last:
		return fmt.Sprintf("its state is at index %d, its log ends at %d", at.Index, log.Last)
	case term != at.Term:
		return fmt.Sprintf("its state is at index %d of term %d, its log has term %d there", at.Index, at.Term, term)
	case log.HardState.Term < at.Term:
		return fmt.Sprintf("its state is of term %d, its log knows of term %d only", at.Term, log.HardState.Term)
	}
	return ""
}

// EmptyLog is the write that makes a group's log begin after a state.
func EmptyLog(group raftlog.GroupID, id kvpb.ReplicaID, hs raftlog.HardState, at apply.State) raftlog.Write {
	hs.Commit = max(hs.Commit, at.Index)
	if hs.Term < at.Term {
		hs.Term, hs.Vote = at.Term, 0 // no vote was cast in that term
	}
	return raftlog.Write{
		Group: group, Replica: uint64(id), Reset: &raftlog.Mark{Index: at.Index, Term: at.Term}, HardState: &hs,
	}
}
