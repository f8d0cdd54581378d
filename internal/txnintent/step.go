package txnintent

import (
	"bytes"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/plant"
)

// EventType names what happens to a transaction's intents.
type EventType uint8

// The events. Those above the blank line are requests of the transaction itself, which holds
// its latch.
const (
	// Spill: Span, with no commit yet, is about to be written at TS, or where the earlier
	// spilled intents are.
	Spill EventType = iota
	// BeginStage: attempt Epoch asks whether it may stage. Recorded: its record knows of it.
	BeginStage
	// Stage: the attempt Epoch is about to write at TS, if it has anything to write here
	// (Writes); readers and ended transactions allow nothing below Least.
	Stage
	// Written: Keys were staged at TS by the attempt Epoch. Applied: for certain.
	Written
	// CommitHere: a transaction that is in this range alone is about to commit.
	CommitHere
	// CommitImplicitly: all intents of the attempt are staged, in all ranges.
	CommitImplicitly
	// Query: a recovery has found the intents staged.
	Query
	// NoteRead: others have read the keys at TS before they were registered.
	NoteRead
	// Leave: the request ends.
	Leave

	// Decide: the record says Outcome, at TS.
	Decide
	// Resolve: the last intent was removed; with TS, by the command that made the record say
	// that the transaction has committed then.
	Resolve
	// Push: the transaction will not commit at or below TS.
	Push
	// Defer: the resolution of the intents can wait.
	Defer
	// Wait: a request waits for the outcome; with TS, to read there.
	Wait
	// EndWait: it does not wait any more.
	EndWait
	// Contend: a request waits for Keys to be free, or is about to write them.
	Contend
	// PushAgain: it is time to ask for the outcome again.
	PushAgain
	// Split: the keys from Key on went to another range.
	Split
	// Load: the leadership begins and has found an intent on Key, of the kind Kind, at TS, by
	// the attempt Epoch.
	Load
	// LoadRecord: the record, which is in the range too, says Outcome at TS.
	LoadRecord
)

// Event is something that happens to a transaction's intents; its type says which of the
// other fields it has.
type Event struct {
	Type    EventType
	TS      hlc.Timestamp
	Epoch   uint32
	Outcome Status
	Kind    Kind
	Key     []byte
	Keys    [][]byte // sorted
	Span    kvpb.Span
	Least   hlc.Timestamp
	// MinSpilled is, for Stage, the least timestamp at which spilled intents may commit, as far
	// as the range's reads go.
	MinSpilled                hlc.Timestamp
	Writes, Recorded, Applied bool
	// Threshold is the range's collection threshold, which the table fills in.
	Threshold hlc.Timestamp
}

// Effects are what follows from an event. The table carries out the first four, the replica
// the others.
type Effects uint16

// The effects.
const (
	// Notify wakes those who wait for anything to change.
	Notify Effects = 1 << iota
	// Announce also wakes those who wait for the outcome.
	Announce
	// Remove takes the intents out of the table and wakes everybody.
	Remove
	// Expedite ends the resolver's wait.
	Expedite

	// Propose: the request may go on and propose its command.
	Propose
	// StartResolver: the intents are to be resolved.
	StartResolver
	// StartPusher: somebody is to ask the record's leader until the outcome is known.
	StartPusher
	// Flush: commands that wait for others to share an entry with are proposed now.
	Flush
	// Sweep: somebody has to look after the intents even if nobody ever meets them.
	Sweep

	// ReplyCommitted: the transaction has committed, at Result.TS.
	ReplyCommitted
	// ReplyAborted: it was aborted, or its intents are gone.
	ReplyAborted
	// ReplySuperseded: a later attempt has begun.
	ReplySuperseded
	// ReplyQueried: a recovery counts on the intents of the earlier attempt.
	ReplyQueried
	// ReplyTooLow: the range can commit at Result.TS at the lowest.
	ReplyTooLow
)

var effectNames = [...]string{
	"notify", "announce", "remove", "expedite", "propose", "start-resolver", "start-pusher", "flush", "sweep",
	"reply-committed", "reply-aborted", "reply-superseded", "reply-queried", "reply-too-low",
}

// Has reports whether f is among the effects.
func (e Effects) Has(f Effects) bool { return e&f != 0 }

// String lists the effects as the scripts do.
func (e Effects) String() string {
	var names []string
	for i, name := range effectNames {
		if e.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// Result is what follows from an event.
type Result struct {
	Effects
	// TS goes with ReplyCommitted, ReplyTooLow, StartPusher (the highest read that waits) and,
	// for CommitHere, Propose: the commit must be above it.
	TS hlc.Timestamp
}

// Step applies an event. doc.go has the table of transitions.
func (s *State) Step(e Event) Result {
	res := s.step(e)
	must.NoError(s.valid(), "invariant 1, after event %d", e.Type)
	return res
}

func (s *State) step(e Event) Result {
	switch e.Type {
	case Spill:
		return s.spill(e)
	case BeginStage:
		return s.beginStage(e)
	case Stage:
		return s.stage(e)
	case Written:
		return s.written(e)
	case CommitHere:
		return s.commitHere()
	case CommitImplicitly:
		return s.commitImplicitly()
	case Query:
		s.Queried = true
	case NoteRead:
		s.MaxRead = s.MaxRead.Max(e.TS)
	case Leave:
		if s.Status == New { // nobody else would remove it
			return s.remove()
		}
	case Decide:
		return s.decide(e.Outcome, e.TS)
	case Resolve:
		return s.resolve(e.TS)
	case Push:
		return s.push(e.TS)
	case Split:
		return s.split(e.Key)
	case Load:
		s.load(e)
	case LoadRecord:
		s.loadRecord(e.Outcome, e.TS)
	default:
		return s.contend(e)
	}
	return Result{}
}

func (s *State) remove() Result {
	if s.Removed {
		return Result{}
	}
	s.Removed = true
	return Result{Effects: Remove}
}

// announce notes that versions are about to be written at ts. It refuses if that is at or
// below the collection threshold, where versions may be dropped already.
func (s *State) announce(ts, threshold hlc.Timestamp) (refused bool) {
	if ts.LessEq(threshold) {
		return true
	}
	if s.Lowest.IsEmpty() || ts.Less(s.Lowest) {
		s.Lowest = ts
	}
	return false
}

// spill registers keys before their versions exist, so that no read takes these for
// committed. A transaction takes further spilled intents until it is known that it commits:
// of one that was loaded, or moved, nobody here knows.
func (s *State) spill(e Event) Result {
	unheard := s.Kind == Spilled && s.Status == Staging && s.Epoch == 0
	if s.Status > Pending && !unheard || s.Kind == Staged {
		return Result{Effects: ReplyAborted}
	}
	if s.Status == New {
		if s.announce(e.TS, e.Threshold) {
			return Result{ReplyTooLow, e.Threshold.Next()}
		}
		s.Status, s.Kind, s.TS = Pending, Spilled, e.TS
	}
	if s.Span.Key == nil || bytes.Compare(e.Span.Key, s.Span.Key) < 0 {
		s.Span.Key = e.Span.Key
	}
	if bytes.Compare(e.Span.EndKey, s.Span.EndKey) > 0 {
		s.Span.EndKey = e.Span.EndKey
	}
	return Result{Effects: Propose}
}

func (s *State) beginStage(e Event) Result {
	switch {
	case s.Status == Committed:
		return Result{ReplyCommitted, s.CommitTS}
	case s.Status == Aborted:
		return Result{Effects: ReplyAborted}
	case s.Epoch > e.Epoch:
		return Result{Effects: ReplySuperseded}
	case s.Queried && s.Epoch != e.Epoch && !e.Recorded && !plant.On(plant.CountedReplaced):
		return Result{Effects: ReplyQueried}
	}
	return Result{Effects: Propose}
}

// stage chooses whether the attempt can have its timestamp. Spilled intents are staged by
// that alone: readers wait for the outcome from now on.
func (s *State) stage(e Event) Result {
	s.SplitAt = nil // a split that comes from now on says so
	if e.TS.Less(e.Least) {
		return Result{ReplyTooLow, e.Least}
	}
	if e.Writes && s.announce(e.TS, e.Threshold) {
		return Result{ReplyTooLow, e.Threshold.Next()}
	}
	if s.Kind != Spilled {
		return Result{Effects: Propose}
	}
	least := s.TS.Max(s.MaxRead.Max(s.PushedTS).Next()).Max(e.MinSpilled)
	if e.TS.Less(least) {
		return Result{ReplyTooLow, least}
	}
	s.Status, s.StagedTS, s.Epoch, s.PushedTS = Staging, e.TS, e.Epoch, hlc.Timestamp{}
	return Result{Effects: Propose}
}

// written makes readers see what was staged: what of it is still in this range.
func (s *State) written(e Event) Result {
	staged := e.Keys
	if s.SplitAt != nil { // a split was applied since, which s.Keys reflects
		staged = below(staged, s.SplitAt)
	}
	n := len(staged)
	for _, k := range s.Keys {
		if !contains(staged[:n], k) { // the bounds moved between two attempts
			staged = append(staged[:len(staged):len(staged)], k)
		}
	}
	if len(e.Keys) == 0 || len(staged) == 0 || s.Removed {
		return Result{}
	}
	if len(staged) > n {
		slices.SortFunc(staged, bytes.Compare)
	}
	s.Kind, s.Keys = Staged, staged
	s.Span = kvpb.Span{Key: staged[0], EndKey: keys.Next(staged[len(staged)-1])}
	s.Applied = e.Applied && len(staged) == n
	s.Queried = s.Queried && s.Epoch == e.Epoch // what was found of an earlier attempt is void
	if s.Status != ImplicitlyCommitted {
		s.Status = Staging
	}
	s.TS, s.StagedTS, s.Epoch = e.TS, e.TS, e.Epoch
	return Result{Effects: Sweep}
}

// commitHere makes readers wait for the outcome. The commit must be above all reads that went
// past the intents.
func (s *State) commitHere() Result {
	if s.Status != Pending && !s.staging() {
		return Result{Effects: ReplyAborted}
	}
	if s.Status == Pending {
		s.Status = Staging
	}
	s.StagedTS = s.TS
	return Result{Propose, s.MaxRead}
}

func (s *State) commitImplicitly() Result {
	if s.Status != Staging {
		return Result{}
	}
	s.Status = ImplicitlyCommitted
	return Result{Effects: Announce}
}

// Contradicts reports whether the transaction is known to have ended the other way.
func (s *State) Contradicts(outcome Status) bool {
	return s.Status.Known() && (s.Status == Aborted) != (outcome == Aborted)
}

// decide notes what the record says. Of a transaction that has nothing here yet nothing is
// left to do.
func (s *State) decide(outcome Status, ts hlc.Timestamp) Result {
	must.True(outcome.Decided(), "invariant 2: %v is no outcome", outcome)
	switch {
	case s.Removed:
		return Result{}
	case s.Status == New:
		return s.remove()
	}
	must.True(!s.Contradicts(outcome), "invariant 2: a transaction that is %v turns %v", s.Status, outcome)
	if s.Status.Decided() {
		return Result{}
	}
	if s.Status = outcome; outcome == Committed {
		s.CommitTS = ts
	}
	return Result{Effects: Announce | StartResolver}
}

func (s *State) resolve(ts hlc.Timestamp) Result {
	if s.staging() && !ts.IsEmpty() {
		s.Status, s.CommitTS = Committed, ts
	}
	return s.remove()
}

func (s *State) push(ts hlc.Timestamp) Result {
	if !s.PushedTS.Less(ts) {
		return Result{}
	}
	s.PushedTS = ts
	return Result{Effects: Notify}
}

// contend handles what those who wait do, and the resolver and the pusher, who serve them.
func (s *State) contend(e Event) (res Result) {
	switch e.Type {
	case Defer:
		s.Deferrable = true
	case Wait:
		s.PushTo = s.PushTo.Max(e.TS)
		s.Waiters++
		res.Effects = Expedite
		if !s.Contended {
			res.Effects |= Flush
		}
		s.Contended = true
		if !s.Pushing && !s.Status.Decided() {
			s.Pushing = true
			res.Effects |= StartPusher
		}
	case EndWait:
		s.Waiters--
	case Contend:
		if s.Deferrable && !s.Contended {
			res.Effects = Flush
		}
		s.Contended = true
		for _, k := range e.Keys {
			if len(s.ContendedKeys) < maxContendedKeys && s.Overlaps(k, nil) {
				s.ContendedKeys = append(s.ContendedKeys, bytes.Clone(k))
			}
		}
		res.Effects |= Expedite
	case PushAgain:
		if s.Pushing = s.Waiters > 0 && !s.Removed; s.Pushing {
			res = Result{StartPusher, s.PushTo}
		}
	}
	return res
}

// split forgets what went to the new range, whose leader finds it there. What stayed here
// would be taken for the truth after the two were merged again: a version that was committed
// meanwhile would count as undecided.
func (s *State) split(at []byte) Result {
	if s.SplitAt == nil || bytes.Compare(at, s.SplitAt) < 0 {
		s.SplitAt = at
	}
	switch {
	case s.Span.Key == nil || bytes.Compare(s.Span.EndKey, at) <= 0:
	case bytes.Compare(at, s.Span.Key) <= 0:
		return s.remove()
	default:
		s.Span.EndKey = at
		if s.Keys != nil {
			s.Keys = below(s.Keys, at)
		}
	}
	return Result{}
}

// load adds an intent that a new leadership has found. As long as no record says more the
// transaction may have committed at its timestamp.
func (s *State) load(e Event) {
	if s.Status == New {
		s.Loaded, s.Status, s.Kind, s.Lowest, s.Span.Key = true, Staging, e.Kind, e.TS, e.Key
	}
	s.TS, s.Lowest, s.Epoch = s.TS.Max(e.TS), s.Lowest.Min(e.TS), max(s.Epoch, e.Epoch)
	s.StagedTS, s.Span.EndKey = s.TS, keys.Next(e.Key)
	if e.Kind == Staged {
		s.Keys = append(s.Keys, e.Key)
		s.Queried = true // the leader before may have answered a recovery that they are staged
	}
}

// loadRecord adds what the record says. Of staged intents beside a record that is Pending the
// gateway knows more.
func (s *State) loadRecord(outcome Status, ts hlc.Timestamp) {
	switch {
	case outcome == Committed:
		s.Status, s.CommitTS = Committed, ts
	case outcome == Aborted:
		s.Status = Aborted
	case outcome == Pending && s.Kind == Spilled:
		s.Status = Pending
	case outcome == Staging && s.Kind == Spilled:
		s.StagedTS = ts
	}
}
