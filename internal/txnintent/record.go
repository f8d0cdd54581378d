package txnintent

import (
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// RecoverAfter is how long a gateway may take over the next step of a commit before the
	// record's leader finds out by itself what became of it.
	RecoverAfter = 500 * time.Millisecond
	// tidyAfter is how long a decided record waits for its gateway to remove it.
	tidyAfter = 30 * time.Second
)

// Presence says whether the range has a transaction's record.
type Presence uint8

const (
	// Absent: it has none.
	Absent Presence = iota
	// Stored: it has one, and RecordState is what that says.
	Stored
	// Ambiguous: a change of the record may or may not have taken effect.
	Ambiguous
)

// RecordState is what the leader of a transaction's anchor knows of its record.
type RecordState struct {
	TxnRecord
	Presence Presence
	Loaded   bool      // the record is from before this leadership
	Local    bool      // the transaction has no intents in other ranges
	Since    time.Time // when the record reached its present status
	// MinCommitTS is a lower bound of the commit timestamp, exclusive, of a transaction that
	// the record alone decides.
	MinCommitTS hlc.Timestamp
}

// Finished reports whether the record says how the transaction ended.
func (r *RecordState) Finished() bool { return r.Status >= kvpb.TxnCommitted }

// Take sets what the record says. ID and Anchor are not copied: others read them without the
// record's latch.
func (r *RecordState) Take(next TxnRecord) {
	r.Status, r.TS, r.Epoch, r.Keys, r.Span = next.Status, next.TS, next.Epoch, next.Keys, next.Span
}

// Store notes what the range's record says now.
func (r *RecordState) Store(next TxnRecord, now time.Time) {
	r.Take(next)
	r.Presence, r.Since = Stored, now
}

// Action is what the leader does about a record.
type Action uint8

const (
	// Answer: it replies with what the step says.
	Answer Action = iota
	// AnswerSuperseded: it replies that a later attempt has begun.
	AnswerSuperseded
	// AnswerForgotten: it replies that the outcome is not known any more.
	AnswerForgotten
	// WriteAborted makes the record say that the transaction was aborted.
	WriteAborted
	// WriteCommitted makes it say that it has committed at the step's timestamp.
	WriteCommitted
	// Recover queries all intents: the transaction has committed if they are staged, else it
	// is aborted.
	Recover
	// RecoverIfStaged does as Recover, but if an intent is missing the transaction stays undecided.
	RecoverIfStaged
	// Delete removes the record.
	Delete
)

var actionNames = [...]string{
	"answer", "answer superseded", "answer forgotten", "write aborted", "write committed", "recover", "recover if staged", "delete",
}

// String returns the name that the scripts show.
func (a Action) String() string { return actionNames[a] }

// RecordStep is what a request comes to.
type RecordStep struct {
	Action Action
	Status kvpb.TxnStatus // Answer
	TS     hlc.Timestamp  // of the outcome
	// PushSucceeded: if the transaction commits, then above the read that pushes it.
	PushSucceeded bool
	// MinCommitTS, if set, is the lowest timestamp at which the transaction may commit.
	MinCommitTS hlc.Timestamp
}

// Pusher is who asks what became of a transaction, and what is known of its gateway.
type Pusher struct {
	TS           hlc.Timestamp // of the read that waits; empty if none does
	Waited       time.Duration
	GatewayAlive bool
	RecordAge    time.Duration // in its present status
	AbortAfter   time.Duration // how long the commit may take until others abort it
	Ended        Ended         // what the range remembers of the transaction
}

// Push answers what became of a transaction. One whose gateway has died, or takes too long, is
// decided here.
func (r *RecordState) Push(p Pusher) RecordStep {
	if r.Presence == Absent {
		switch {
		case p.Ended.Known:
			return p.Ended.answer()
		case p.Waited < p.AbortAfter: // its intents in this range have not come, perhaps
			return RecordStep{Status: kvpb.TxnStaging}
		}
		// Durable, so that they can't come any more under another leader either.
		return RecordStep{Action: WriteAborted}
	}
	switch {
	case r.Finished(): // answered below
	case r.Status == kvpb.TxnPending && p.GatewayAlive:
		r.MinCommitTS = r.MinCommitTS.Max(p.TS)
		return RecordStep{Status: r.Status, TS: r.TS, PushSucceeded: !p.TS.IsEmpty()}
	case r.Status == kvpb.TxnStaging && len(r.Keys) > 0:
		switch {
		case p.GatewayAlive && p.RecordAge < RecoverAfter:
		case p.RecordAge < p.AbortAfter:
			return RecordStep{Action: RecoverIfStaged}
		default:
			return RecordStep{Action: Recover}
		}
	case !p.GatewayAlive:
		return RecordStep{Action: WriteAborted, TS: r.TS}
	}
	return RecordStep{Status: r.Status, TS: r.TS}
}

// End carries out what the gateway says: the transaction has committed, is aborted, or nothing
// of it is left. forgotten: the range may not remember how a transaction ended that began at
// req.Since.
func (r *RecordState) End(req *kvpb.EndTxnRequest, ended Ended, forgotten bool) RecordStep {
	if r.Presence == Absent {
		switch {
		case ended.Known:
			return ended.answer()
		case req.Action == kvpb.EndForget:
			return RecordStep{Status: kvpb.TxnAborted}
		case !req.Since.IsEmpty() && forgotten:
			return RecordStep{Action: AnswerForgotten, Status: kvpb.TxnAborted}
		}
		return RecordStep{Action: WriteAborted} // it never came, and must not come any more
	}
	switch {
	case req.Action == kvpb.EndForget && r.Finished():
		return RecordStep{Action: Delete}
	case req.Action == kvpb.EndForget:
		return RecordStep{Action: AnswerSuperseded}
	case r.Finished():
		return RecordStep{Status: r.Status, TS: r.TS}
	case req.Action == kvpb.EndAbort:
		return RecordStep{Action: WriteAborted, TS: r.TS}
	case r.Epoch != req.Epoch || r.TS != req.TS:
		return RecordStep{Action: AnswerSuperseded}
	case r.Keys == nil && req.TS.LessEq(r.MinCommitTS):
		return RecordStep{MinCommitTS: r.MinCommitTS.Next()}
	}
	return RecordStep{Action: WriteCommitted, TS: req.TS}
}

// BeginStage answers whether an attempt to commit may begin, which says so in the record: not if
// the transaction has ended, or if a later attempt has begun. Propose stands for yes.
func (r *RecordState) BeginStage(epoch uint32) (Effects, hlc.Timestamp) {
	switch {
	case r.Presence != Stored:
	case r.Status == kvpb.TxnCommitted:
		return ReplyCommitted, r.TS
	case r.Status == kvpb.TxnAborted:
		return ReplyAborted, hlc.Timestamp{}
	case r.Epoch > epoch:
		return ReplySuperseded, hlc.Timestamp{}
	}
	return Propose, hlc.Timestamp{}
}

// BeginStage answers the same for a transaction that may have ended.
func (e Ended) BeginStage() (Effects, hlc.Timestamp) {
	switch {
	case !e.Known:
		return Propose, hlc.Timestamp{}
	case e.Aborted:
		return ReplyAborted, hlc.Timestamp{}
	}
	return ReplyCommitted, e.TS
}

// SweepAction is what the sweep does about something that nobody may ever ask for.
type SweepAction uint8

const (
	// SweepNothing leaves it alone.
	SweepNothing SweepAction = iota
	// SweepPush asks what became of the transaction.
	SweepPush
	// SweepResolve removes the intents.
	SweepResolve
	// SweepTidy removes all that is left of the transaction, in all ranges.
	SweepTidy
)

var sweepNames = [...]string{"nothing", "push", "resolve", "tidy"}

// String returns the name that the scripts show.
func (a SweepAction) String() string { return sweepNames[a] }

// Sweep decides what the sweep does about the intents. orphaned reports whether the gateway has died, or
// has ended the transaction without a message that arrived here.
func (s *State) Sweep(orphaned func() bool) SweepAction {
	switch {
	case s.Removed || s.Status == New:
		return SweepNothing
	case s.Status.Decided():
		return SweepResolve
	case s.staging() || orphaned():
		return SweepPush
	}
	return SweepNothing
}

// Sweep answers what the sweep does about the record of a transaction that is as old as age,
// if it looks after those older than least.
func (r *RecordState) Sweep(alive bool, age, least time.Duration) SweepAction {
	switch {
	case !r.Finished() && (!alive || r.Status == kvpb.TxnStaging && age >= least):
		return SweepPush
	case !r.Finished():
		return SweepNothing
	}
	return SweepTidy
}

// Tidies answers whether the sweep removes what is left of a transaction that is decided.
// resolved: it has no intents in this range.
func (r *RecordState) Tidies(alive, resolved bool, age time.Duration) bool {
	if r.Local {
		return resolved
	}
	return !alive || age >= tidyAfter
}
