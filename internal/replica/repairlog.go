package replica

import (
	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
)

// RepairLog completes the installation of a snapshot that a crash interrupted: it empties the range's log,
// which does not continue the engine's state. It returns LostLogError if there is another reason for that.
// It is called before New.
func RepairLog(eng *storage.Engine, log *raftlog.Log, id kvpb.RangeID, rep kvpb.ReplicaID) error {
	group := raftlog.GroupID(id)
	st, ok := log.State(group)
	if !ok {
		return nil // New reports the missing log
	}
	at, err := apply.LoadState(eng, id)
	if err != nil || at.Index < st.Truncated.Index {
		return err // New reports the gap
	}
	mark, err := loadMark(eng, id)
	if err != nil {
		return err
	}
	var term uint64
	if at.Index <= st.Last {
		if term, err = log.Term(group, at.Index); err != nil {
			return err
		}
	}
	switch what, why := snapshot.Mend(at, &st, term, mark); what {
	case snapshot.Unmark:
		return snapshot.ClearMark(eng, id)
	case snapshot.Empty:
		return log.Append([]raftlog.Write{snapshot.EmptyLog(group, rep, st.HardState, at)})
	case snapshot.Lost:
		return &LostLogError{id, why}
	}
	return nil
}

// loadMark returns the mark of a snapshot, or nil if there is none.
func loadMark(eng *storage.Engine, id kvpb.RangeID) (*snapshot.Mark, error) {
	m, ok, err := snapshot.LoadMark(eng, id)
	if err != nil || !ok {
		return nil, err
	}
	return &m, nil
}
