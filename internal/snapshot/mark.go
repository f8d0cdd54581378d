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

// Mark is what the engine takes in with a snapshot: the state that comes with it, and where the log
// was until then. Nothing is written to the log before it is emptied. So if the mark still fits, the
// log has lost nothing, its vote above all.
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

// MarkOf returns the mark of a snapshot of a state, which replaces what follows from a log.
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

// ClearMark removes the mark of a snapshot after which the log begins. It need not be durable: a
// mark that comes back says where the log was before, where it is no more.
func ClearMark(eng *storage.Engine, id kvpb.RangeID) error {
	b := eng.NewBatch()
	defer b.Close()
	return errors.Join(b.Delete(keys.RangeSnapshotMark(uint64(id))), b.Commit())
}

// Mending is what a log needs at the start of its store.
type Mending uint8

// What a log may need.
const (
	// Keep: it continues the engine's state.
	Keep Mending = iota
	// Unmark: so it does, and the mark of a snapshot is still there.
	Unmark
	// Empty: a crash came between the installation of a snapshot and EmptyLog.
	Empty
	// Lost: it has lost its end, and with it votes perhaps.
	Lost
)

// String implements fmt.Stringer.
func (m Mending) String() string {
	return [...]string{"keep the log", "remove the mark", "empty the log", "the log is lost"}[m]
}

// Mend decides what a log needs that an engine's state at an index is to continue from. term is that
// of the log's entry there, and mark what the engine holds of a snapshot, nil if nothing. why says
// how the log fails to continue the state.
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

// breach says how a log fails to continue a state, or "": it does.
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
