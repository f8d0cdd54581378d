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
	// Spill: the transaction is about to write Span before its commit, at TS or at the timestamp
	// of its earlier spilled intents.
	Spill EventType = iota
	// BeginStage: the Attempt asks whether it may stage. Recorded: the record is of this
	// attempt.
	BeginStage
	// Stage: the Attempt is about to commit at TS. Writes: it writes here. Least is the lowest
	// timestamp that the range's reads and the finished transactions allow.
	Stage
	// Written: Keys were staged at TS by the Attempt. Applied: for certain.
	Written
	// CommitHere: a transaction that is in this range alone is about to commit.
	CommitHere
	// CommitImplicitly: all intents of the attempt are staged, in all ranges.
	CommitImplicitly
	// Query: a recovery has found the intents staged.
	Query
	// NoteRead: others may have read the keys up to TS before the intents were registered.
	NoteRead
	// Leave: the request ends.
	Leave

	// Decide: the record has Outcome, at TS.
	Decide
	// Resolve: the last intent is resolved. If TS is set, the command that has committed the record
	// at TS has resolved it.
	Resolve
	// Push: the transaction will not commit at or below TS.
	Push
	// Defer: the resolution of the intents may be deferred.
	Defer
	// Wait: a request waits for the outcome. If TS is set, it is a read at TS.
	Wait
	// EndWait: the request does not wait any more.
	EndWait
	// Contend: a request waits for Keys to be free, or is about to write them.
	Contend
	// PushAgain: the pusher's next question is due.
	PushAgain
	// Split: a split has moved the keys from Key on to another range.
	Split
	// Load: a new leadership has found an intent on Key, of the kind Kind, at TS, of the attempt
	// Attempt.
	Load
	// LoadRecord: a new leadership has found the transaction's record, with Outcome at TS.
	LoadRecord
)

// Event is an event of a transaction's intents. The comment of its type names the other fields that
// it has.
type Event struct {
	Type    EventType
	TS      hlc.Timestamp
	Attempt uint32
	Outcome Status
	Kind    Kind
	Key     []byte
	Keys    [][]byte // sorted
	Span    kvpb.Span
	Least   hlc.Timestamp
	// MinSpilled is, for Stage, the lowest timestamp at which the range's reads allow spilled intents
	// to commit.
	MinSpilled                hlc.Timestamp
	Writes, Recorded, Applied bool
	// Threshold is the range's collection threshold, which the table fills in.
	Threshold hlc.Timestamp
}

// Effects are the effects of an event. The table performs the first four, the replica the others.
type Effects uint16

// The effects.
const (
	// Notify wakes the waiters for any change.
	Notify Effects = 1 << iota
	// PublishOutcome also wakes the waiters for the outcome.
	PublishOutcome
	// Remove removes the transaction from the table and wakes all waiters.
	Remove
	// Expedite ends the resolver's pause.
	Expedite

	// Propose: the request may propose its command.
	Propose
	// StartResolver: a resolver begins to resolve the intents.
	StartResolver
	// StartPusher: a pusher asks the record's leader until the outcome is known.
	StartPusher
	// Flush: deferred proposals are proposed now.
	Flush
	// Sweep: the sweep must visit this range, since nobody else may ever meet the intents.
	Sweep

	// ReplyCommitted: the answer is that the transaction has committed, at Result.TS.
	ReplyCommitted
	// ReplyAborted: it is aborted, or has no intents here any more.
	ReplyAborted
	// ReplySuperseded: a later attempt has begun.
	ReplySuperseded
	// ReplyQueried: a recovery counts on the intents of an earlier attempt.
	ReplyQueried
	// ReplyTooLow: Result.TS is the lowest timestamp at which the range can commit.
	ReplyTooLow
)

var effectNames = [...]string{
	"notify", "publish-outcome", "remove", "expedite", "propose", "start-resolver", "start-pusher", "flush", "sweep",
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

// Result is the result of an event.
type Result struct {
	Effects
	// TS belongs to ReplyCommitted, ReplyTooLow and StartPusher (the highest timestamp of a waiting
	// read). After CommitHere it also belongs to Propose: the commit must be above it.
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
		if s.Status == New { // without intents nothing else removes it
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

// noteWrite notes that versions are about to be written at ts. It refuses timestamps at or below the
// collection threshold, where the versions under them may be dropped already.
func (s *State) noteWrite(ts, threshold hlc.Timestamp) (refused bool) {
	if ts.LessEq(threshold) {
		return true
	}
	if s.Lowest.IsEmpty() || ts.Less(s.Lowest) {
		s.Lowest = ts
	}
	return false
}

// spill registers keys before their versions exist, so that no read takes these for committed ones. It
// refuses once an attempt to commit has begun. A transaction whose intents were loaded, or came from
// another range, is Staging too, since nobody here knows more. As long as it has no attempt, it may spill.
func (s *State) spill(e Event) Result {
	unheard := s.Kind == Spilled && s.Status == Staging && s.Attempt == 0
	if s.Status > Pending && !unheard || s.Kind == Staged {
		return Result{Effects: ReplyAborted}
	}
	if s.Status == New {
		if s.noteWrite(e.TS, e.Threshold) {
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
	case s.Attempt > e.Attempt:
		return Result{Effects: ReplySuperseded}
	case s.Queried && s.Attempt != e.Attempt && !e.Recorded && !plant.On(plant.CountedReplaced):
		return Result{Effects: ReplyQueried}
	}
	return Result{Effects: Propose}
}

// stage decides whether the attempt can commit at its timestamp. For spilled intents this is all: they are
// Staging from now on, so that readers wait for the outcome.
func (s *State) stage(e Event) Result {
	s.SplitAt = nil // set again by a split that is applied before Written
	if e.TS.Less(e.Least) {
		return Result{ReplyTooLow, e.Least}
	}
	if e.Writes && s.noteWrite(e.TS, e.Threshold) {
		return Result{ReplyTooLow, e.Threshold.Next()}
	}
	if s.Kind != Spilled {
		return Result{Effects: Propose}
	}
	least := s.TS.Max(s.MaxRead.Max(s.PushedTS).Next()).Max(e.MinSpilled)
	if e.TS.Less(least) {
		return Result{ReplyTooLow, least}
	}
	s.Status, s.StagedTS, s.Attempt, s.PushedTS = Staging, e.TS, e.Attempt, hlc.Timestamp{}
	return Result{Effects: Propose}
}

// written registers the staged keys that are still in this range, so that readers see them.
func (s *State) written(e Event) Result {
	staged := e.Keys
	if s.SplitAt != nil { // a split was applied since Stage; s.Keys is without its keys already
		staged = below(staged, s.SplitAt)
	}
	n := len(staged)
	for _, k := range s.Keys {
		if !contains(staged[:n], k) { // an earlier attempt has staged a key here that this one sends elsewhere
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
	s.Queried = s.Queried && s.Attempt == e.Attempt // a recovery of an earlier attempt no longer counts
	if s.Status != ImplicitlyCommitted {
		s.Status = Staging
	}
	s.TS, s.StagedTS, s.Attempt = e.TS, e.TS, e.Attempt
	return Result{Effects: Sweep}
}

// commitHere begins the commit of a transaction that is in this range alone: readers wait for the outcome
// from now on. The commit must be above all reads that have passed over the intents.
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
	return Result{Effects: PublishOutcome}
}

// Contradicts reports whether the transaction is known to have the opposite outcome.
func (s *State) Contradicts(outcome Status) bool {
	return s.Status.Known() && (s.Status == Aborted) != (outcome == Aborted)
}

// decide notes the outcome in the record. A transaction without intents here is removed: nothing is left
// to resolve.
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
	return Result{Effects: PublishOutcome | StartResolver}
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

// contend handles the events of waiters, and of the resolver and the pusher that serve them.
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

// split drops the keys that moved to the new range, whose leader loads their intents. If they stayed, the
// state would be stale once the two ranges are merged again: a version that was committed meanwhile
// would count as undecided.
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

// load adds an intent that a new leadership has found. Unless a record says more, the transaction may
// have committed at the intent's timestamp.
func (s *State) load(e Event) {
	if s.Status == New {
		s.Loaded, s.Status, s.Kind, s.Lowest, s.Span.Key = true, Staging, e.Kind, e.TS, e.Key
	}
	s.TS, s.Lowest, s.Attempt = s.TS.Max(e.TS), s.Lowest.Min(e.TS), max(s.Attempt, e.Attempt)
	s.StagedTS, s.Span.EndKey = s.TS, keys.Next(e.Key)
	if e.Kind == Staged {
		s.Keys = append(s.Keys, e.Key)
		s.Queried = true // an earlier leader may have answered a recovery that the keys are staged
	}
}

// loadRecord adds the outcome of the record. Staged intents beside a pending record stay Staging: the
// record of their attempt may be on its way.
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
