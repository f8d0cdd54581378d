package replica

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

// snapshotMark is what the engine takes in with a snapshot: the state that comes with it, and
// where the log was until then. Nothing is written to the log before it is emptied. So if it is
// still there the log has lost nothing, its vote above all.
type snapshotMark struct {
	at         apply.State
	term, vote uint64
	last       uint64
}

// snapshotMarkVersion is the format of a stored snapshotMark.
const snapshotMarkVersion = 1

func markOf(at apply.State, log *raftlog.State) snapshotMark {
	return snapshotMark{at, log.HardState.Term, log.HardState.Vote, log.Last}
}

// markSnapshot puts the mark of a snapshot into the batch that comes with it.
func markSnapshot(b *storage.Batch, id kvpb.RangeID, at apply.State, log *raftlog.State) error {
	m := markOf(at, log)
	p := []byte{snapshotMarkVersion}
	for _, v := range []uint64{m.at.Index, m.at.Term, m.term, m.vote, m.last} {
		p = binary.BigEndian.AppendUint64(p, v)
	}
	return b.Set(keys.RangeSnapshotMark(uint64(id)), p)
}

// loadMark returns the mark of a snapshot, if there is one.
func loadMark(eng *storage.Engine, id kvpb.RangeID) (m snapshotMark, ok bool, err error) {
	p, ok, err := eng.GetUnversioned(keys.RangeSnapshotMark(uint64(id)), nil)
	if err != nil || !ok {
		return m, false, err
	}
	if len(p) != 1+5*8 || p[0] != snapshotMarkVersion {
		return m, false, fmt.Errorf("range %d: the mark of a snapshot has an unknown form (%x)", id, p)
	}
	for i, v := range []*uint64{&m.at.Index, &m.at.Term, &m.term, &m.vote, &m.last} {
		*v = binary.BigEndian.Uint64(p[1+8*i:])
	}
	return m, true, nil
}

// clearMark removes the mark of a snapshot after which the log begins. It need not be durable: a
// mark that comes back says where the log was before, where it is no more.
func clearMark(eng *storage.Engine, id kvpb.RangeID) error {
	b := eng.NewBatch()
	defer b.Close()
	return errors.Join(b.Delete(keys.RangeSnapshotMark(uint64(id))), b.Commit())
}

// MendLog empties the log of a range if a crash came between the installation of a snapshot and
// that. It is called before New. A log that does not continue the engine's state for another
// reason has lost its end, and with it votes perhaps: that is a LostLogError.
func MendLog(eng *storage.Engine, log *raftlog.Log, id kvpb.RangeID, rep kvpb.ReplicaID) error {
	group := raftlog.GroupID(id)
	st, ok := log.State(group)
	if !ok {
		return nil // New says that it is missing
	}
	at, err := apply.LoadState(eng, id)
	if err != nil || at.Index < st.Truncated.Index {
		return err // New says what is wrong
	}
	mark, marked, err := loadMark(eng, id)
	if err != nil {
		return err
	}
	why, err := breach(log, group, &st, at)
	switch {
	case err != nil:
		return err
	case why == "" && marked:
		return clearMark(eng, id)
	case why == "":
		return nil
	case !marked || mark != markOf(at, &st):
		if plant.On(plant.MendAlways) {
			break
		}
		return &LostLogError{id, why}
	}
	return log.Append([]raftlog.Write{emptied(group, rep, st.HardState, at)})
}

// breach says how a log fails to continue a state, or "": it does.
func breach(log *raftlog.Log, group raftlog.GroupID, st *raftlog.State, at apply.State) (string, error) {
	if at.Index > st.Last {
		return fmt.Sprintf("its state is at index %d, its log ends at %d", at.Index, st.Last), nil
	}
	term, err := log.Term(group, at.Index)
	switch {
	case err != nil:
		return "", err
	case term != at.Term:
		return fmt.Sprintf("its state is at index %d of term %d, its log has term %d there", at.Index, at.Term, term), nil
	case st.HardState.Term < at.Term:
		return fmt.Sprintf("its state is of term %d, its log knows of term %d only", at.Term, st.HardState.Term), nil
	}
	return "", nil
}
