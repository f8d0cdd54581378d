package txnintent

import "slices"

// Resolution is the fate of a version when its intent is resolved.
type Resolution uint8

const (
	// KeepVersion: the transaction has committed at its timestamp.
	KeepVersion Resolution = iota
	// DropVersion: the transaction was aborted.
	DropVersion
	// MoveVersion: the transaction has committed at a later timestamp.
	MoveVersion
)

// Resolution returns the fate of an intent's version, which follows from the transaction's outcome.
func (s *State) Resolution(in Intent) Resolution {
	switch {
	case s.Status != Committed:
		return DropVersion
	case s.CommitTS == in.TS:
		return KeepVersion
	}
	return MoveVersion
}

// RollBack returns the intent that replaces l when the transaction rolls back its writes from a
// position on: that of the newest earlier write, and that write. back is nil if there was none. ok is
// false if l has no memory of it.
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

// NewestBelow returns the newest write of an intent below a position. If current is true, that is the
// present version.
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

// AppendHistory adds an earlier write of the key to the history of l, the intent of a later one, if the
// transaction may still read or restore it. No rollback goes back behind the newest write below keep,
// and a statement does not see its own writes. least is the position of the oldest write in the history so
// far. AppendHistory returns the new one.
func (l *Intent) AppendHistory(w SequencedWrite, least, keep, statement uint64) uint64 {
	switch {
	case least < keep: // no rollback goes back behind the oldest one
	case w.Position >= statement: // replaced by the same statement
	case len(l.History) == MaxHistory:
		l.Truncated = true
	default:
		l.History = append(l.History, w)
		return w.Position
	}
	return least
}
