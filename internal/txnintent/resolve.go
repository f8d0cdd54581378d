package txnintent

import "slices"

// Resolution says what becomes of a version when its intent goes.
type Resolution uint8

const (
	// KeepVersion: it is where the transaction has committed.
	KeepVersion Resolution = iota
	// DropVersion: the transaction was aborted.
	DropVersion
	// MoveVersion: the transaction has committed at a later timestamp.
	MoveVersion
)

// Resolution returns what becomes of the version of an intent, by the transaction's outcome.
func (s *State) Resolution(in Intent) Resolution {
	switch {
	case s.Status != Committed:
		return DropVersion
	case s.CommitTS == in.TS:
		return KeepVersion
	}
	return MoveVersion
}

// RollBack returns what an intent becomes when the transaction takes back its writes from a
// position on: the intent of an earlier write, with that write, or nothing. ok is false if
// the earlier write is not remembered.
func (l *Intent) RollBack(from uint64) (back *Intent, w SequencedWrite, ok bool) {
	i := slices.IndexFunc(l.History, func(w SequencedWrite) bool { return w.Position < from })
	if i < 0 {
		return nil, w, !l.Truncated
	}
	w = l.History[i]
	return &Intent{
		Txn: l.Txn, TS: l.TS, Anchor: l.Anchor, Position: w.Position, Deleted: w.Deleted,
		History: l.History[i+1:], Truncated: l.Truncated,
	}, w, true
}

// NewestBelow returns the newest write of an intent below a position. current says that it is the
// version itself.
func (l *Intent) NewestBelow(position uint64) (w SequencedWrite, current, ok bool) {
	if l.Position < position {
		return SequencedWrite{Position: l.Position, Deleted: l.Deleted}, true, true
	}
	i := slices.IndexFunc(l.History, func(w SequencedWrite) bool { return w.Position < position })
	if i < 0 {
		return w, false, false
	}
	return l.History[i], false, true
}

// AppendHistory adds an earlier write of the key to the history of l, the intent of a later one,
// if it may still be read or restored: a statement sees none of its own writes, and no rollback
// goes back behind the write at keep. least is the position of the write that was remembered last; it is
// returned as it is afterwards.
func (l *Intent) AppendHistory(w SequencedWrite, least, keep, statement uint64) uint64 {
	switch {
	case least < keep: // nobody goes back behind the one that is there
	case w.Position >= statement: // replaced by the same statement
	case len(l.History) == MaxHistory:
		l.Truncated = true
	default:
		l.History = append(l.History, w)
		return w.Position
	}
	return least
}
