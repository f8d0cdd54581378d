package txnintent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Status is the status of a transaction, as the leader of a range with its intents knows it.
type Status uint8

// The statuses, in the order in which a transaction may go through them.
const (
	// New: a request of the transaction is being served, and has written nothing yet.
	New Status = iota
	// Pending: the transaction has spilled intents and runs.
	Pending
	// Staging: the intents may be part of a commit. The outcome follows from the record, or from
	// all intents in all ranges together.
	Staging
	// ImplicitlyCommitted: the gateway has found all intents of the attempt staged, so that the
	// transaction has committed at their timestamp. The record is not committed yet.
	ImplicitlyCommitted
	// Committed: the record is committed.
	Committed
	// Aborted: the record is aborted.
	Aborted
)

var statusNames = [...]string{"new", "pending", "staging", "implicitly-committed", "committed", "aborted"}

// String returns the status's name in the scripts.
func (s Status) String() string { return statusNames[s] }

// Decided reports whether the outcome is known for good, by the record.
func (s Status) Decided() bool { return s == Committed || s == Aborted }

// Known reports whether the outcome is known.
func (s Status) Known() bool { return s >= ImplicitlyCommitted }

// Kind is the kind of a transaction's intents in a range.
type Kind uint8

const (
	// None: there are none yet.
	None Kind = iota
	// Spilled: written before the commit, all at one timestamp that no other transaction uses.
	// Others do not see them until the transaction has committed; then they move to the commit
	// timestamp.
	Spilled
	// Staged: written by a commit, at the commit timestamp. Others wait for the outcome.
	Staged
)

var kindNames = [...]string{"none", "spilled", "staged"}

// String returns the kind's name in the scripts.
func (k Kind) String() string { return kindNames[k] }

// maxContendedKeys bounds State.ContendedKeys.
const maxContendedKeys = 1024

// State is the leader's knowledge of one transaction's intents in its range. Only Step and the
// methods in read.go change it.
type State struct {
	Status Status
	Kind   Kind
	// Removed: the table does not have the transaction any more, because its intents are resolved
	// or belong to another leader or range.
	Removed bool
	// Loaded: this leadership has loaded the intents from the engine, so that it has not seen all
	// requests of the transaction.
	Loaded bool

	TS       hlc.Timestamp // of the provisional versions
	Lowest   hlc.Timestamp // lowest timestamp of all provisional versions, also of those being proposed
	StagedTS hlc.Timestamp // lowest timestamp at which the transaction may have committed
	CommitTS hlc.Timestamp // set if Committed
	Attempt  uint32        // of the last attempt to commit
	Span     kvpb.Span     // holds all intents
	Keys     [][]byte      // Staged: all keys with intents, sorted
	// Applied: this leadership has applied the command that staged all of Keys, so that each
	// has an intent of the last attempt.
	Applied bool
	// SplitAt is the boundary of a split that was applied while a request of the transaction was
	// being proposed.
	SplitAt []byte

	// MaxRead is the highest read by others that has passed over the intents: the transaction
	// commits above it.
	MaxRead hlc.Timestamp
	// PushedTS: the leader of the record has promised that the transaction will not commit at or
	// below it.
	PushedTS hlc.Timestamp
	// Queried: a recovery has found the attempt's intents here, or may have under an earlier
	// leader, and counts on them. No other attempt replaces them before the record is of that
	// attempt (invariant 5).
	Queried bool

	contention
}

// contention is the state of the requests of other transactions that met the intents.
type contention struct {
	// Contended: somebody waits for the outcome or for a key, or is about to.
	Contended bool
	// Deferrable: the resolution of the intents may be deferred while nobody contends.
	Deferrable bool
	Waiters    int
	Pushing    bool          // a pusher asks the record's leader for the outcome
	PushTo     hlc.Timestamp // highest timestamp of a waiting read
	// ContendedKeys are the keys that are resolved first.
	ContendedKeys [][]byte
}

// staging reports whether the last event of the transaction was an attempt to commit.
func (s *State) staging() bool { return s.Status == Staging || s.Status == ImplicitlyCommitted }

// StagedAs reports whether the intents were staged by an attempt at a timestamp.
func (s *State) StagedAs(ts hlc.Timestamp, attempt uint32) bool {
	return s.staging() && s.Kind == Staged && !s.Removed && s.TS == ts && s.Attempt == attempt
}

// InPlace reports whether the intents of a decided transaction can be resolved without reading them: their
// keys are known, and no version moves.
func (s *State) InPlace() bool { return s.Applied && (s.Status == Aborted || s.CommitTS == s.TS) }

// Clearable reports whether all intents can be resolved by one deletion of the locks in their span, if no
// other transaction has one there.
func (s *State) Clearable() bool {
	return s.Kind == Spilled && !s.Loaded && s.Status == Committed && s.CommitTS == s.TS
}

// leastVisible is the lowest timestamp of a read that the intents concern.
func (s *State) leastVisible() hlc.Timestamp {
	if s.staging() {
		return s.StagedTS.Min(s.TS)
	}
	return s.TS
}

// Overlaps reports whether there may be an intent in [start, end), or on start.
func (s *State) Overlaps(start, end []byte) bool {
	lo, hi := s.Span.Key, s.Span.EndKey
	switch {
	case lo == nil:
		return false
	case len(end) == 0 && (bytes.Compare(start, lo) < 0 || bytes.Compare(start, hi) >= 0):
		return false
	case len(end) == 0:
		return s.Keys == nil || s.Has(start)
	case bytes.Compare(start, hi) >= 0 || bytes.Compare(lo, end) >= 0:
		return false
	case s.Keys == nil:
		return true
	}
	i, _ := slices.BinarySearchFunc(s.Keys, start, bytes.Compare)
	return i < len(s.Keys) && bytes.Compare(s.Keys[i], end) < 0
}

// Has reports whether a key is among the staged ones.
func (s *State) Has(key []byte) bool { return contains(s.Keys, key) }

func contains(sorted [][]byte, key []byte) bool {
	_, ok := slices.BinarySearchFunc(sorted, key, bytes.Compare)
	return ok
}

// below returns the sorted keys that lie below end.
func below(sorted [][]byte, end []byte) [][]byte {
	n, _ := slices.BinarySearchFunc(sorted, end, bytes.Compare)
	return sorted[:n:n]
}

// valid returns an error unless the state satisfies these rules. Step asserts it (invariant 1).
func (s *State) valid() error {
	for _, rule := range []struct {
		holds bool
		what  string
	}{
		{(s.Status == New) == (s.Kind == None), "a transaction is new as long as it has no intents"},
		{s.Status != Pending || s.Kind == Spilled, "only spilled intents are pending"},
		{s.Status != ImplicitlyCommitted || s.Kind == Staged, "only staged intents commit implicitly"},
		{!s.staging() || !s.StagedTS.IsEmpty(), "a staged transaction has a timestamp from which on it may have committed"},
		{!s.staging() || s.Kind != Staged || s.StagedTS == s.TS, "staged intents are where the transaction commits, if it does"},
		{(s.Status == Committed) == !s.CommitTS.IsEmpty(), "a transaction has a commit timestamp if and only if it is committed"},
		{(s.Kind == None) == (s.Span.Key == nil), "the state has a span if and only if there are intents"},
		{s.Kind == None || bytes.Compare(s.Span.Key, s.Span.EndKey) < 0, "the span of intents is not empty"},
		{s.Kind == None || !s.Lowest.IsEmpty() && s.Lowest.LessEq(s.TS), "no intent lies below the lowest one"},
		{(s.Kind == Staged) == (s.Keys != nil), "keys are listed if and only if they are staged"},
		{s.Keys == nil || bytes.Equal(s.Keys[0], s.Span.Key) && bytes.Compare(s.Keys[len(s.Keys)-1], s.Span.EndKey) < 0, "the span holds the keys"},
		{!s.Applied || s.Kind == Staged, "only staged intents are known to be all there"},
		{s.Waiters >= 0 && len(s.ContendedKeys) <= maxContendedKeys, "those who wait are counted"},
	} {
		if !rule.holds {
			return fmt.Errorf("%s: %s", rule.what, s)
		}
	}
	return nil
}

// takeContended returns the contended keys, sorted and without repetitions, and forgets them.
func (s *State) takeContended() [][]byte {
	keys := s.ContendedKeys
	s.ContendedKeys = nil
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// String shows the state as the scripts do.
func (s State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", s.Status)
	if s.Kind != None {
		fmt.Fprintf(&b, " %v@%s %s", s.Kind, short(s.TS), showSpan(s.Span))
	}
	if s.Attempt > 0 {
		fmt.Fprintf(&b, " attempt=%d", s.Attempt)
	}
	if s.Keys != nil {
		fmt.Fprintf(&b, " keys=%s", bytes.Join(s.Keys, []byte(",")))
	}
	for _, ts := range []struct {
		name string
		hlc.Timestamp
	}{{"from", s.StagedTS}, {"commit", s.CommitTS}, {"read", s.MaxRead}, {"pushed", s.PushedTS}} {
		if !ts.IsEmpty() && !(ts.name == "from" && (ts.Timestamp == s.TS || !s.staging())) {
			fmt.Fprintf(&b, " %s=%s", ts.name, short(ts.Timestamp))
		}
	}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"applied", s.Applied}, {"loaded", s.Loaded}, {"queried", s.Queried}, {"contended", s.Contended},
		{"deferrable", s.Deferrable}, {"pushing", s.Pushing}, {"removed", s.Removed},
	} {
		if f.on {
			b.WriteString(" " + f.name)
		}
	}
	return b.String()
}

func short(ts hlc.Timestamp) string {
	if ts.Logical == 0 {
		return fmt.Sprint(ts.WallTime)
	}
	return fmt.Sprintf("%d.%d", ts.WallTime, ts.Logical)
}

func showSpan(s kvpb.Span) string {
	if last, ok := bytes.CutSuffix(s.EndKey, []byte{0}); ok {
		return fmt.Sprintf("[%s, %s]", s.Key, last)
	}
	return fmt.Sprintf("[%s, %s)", s.Key, s.EndKey)
}
