package txnintent

import (
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// RecoverAfter is the time that a gateway has for the next step of a commit. After it the
	// record's leader begins a recovery for a request that waits.
	RecoverAfter = 500 * time.Millisecond
	// tidyAfter is the time that a gateway has to remove a decided record.
	tidyAfter = 30 * time.Second
)

// Presence says whether the range has a transaction's record.
type Presence uint8

const (
	// Absent: it has none.
	Absent Presence = iota
	// Stored: it has one, and RecordState is equal to it.
	Stored
	// Ambiguous: a change of the record may or may not have taken effect.
	Ambiguous
)

// RecordState is the state of a transaction's record, as the leader of its range knows it.
type RecordState struct {
	TxnRecord
	Presence Presence
	Loaded   bool      // the record is from before this leadership
	Local    bool      // the transaction has no intents in other ranges
	Since    time.Time // when the record reached its present status
	// MinCommitTS is a lower bound of the commit timestamp, exclusive, for a transaction whose
	// record lists no keys.
	MinCommitTS hlc.Timestamp
}

// Finished reports whether the record is committed or aborted.
func (r *RecordState) Finished() bool { return r.Status >= kvpb.TxnCommitted }

// Take copies another record's fields but ID and Anchor, which never change and are read without the
// record's latch.
func (r *RecordState) Take(next TxnRecord) {
	r.Status, r.TS, r.Attempt, r.Keys, r.Span = next.Status, next.TS, next.Attempt, next.Keys, next.Span
}

// Store notes that the range now has the record next.
func (r *RecordState) Store(next TxnRecord, now time.Time) {
	r.Take(next)
	r.Presence, r.Since = Stored, now
}

// Action is the leader's reaction to a request about a record.
type Action uint8

const (
	// Answer: it answers with the status and timestamp of the RecordStep.
	Answer Action = iota
	// AnswerSuperseded: it answers that a later attempt has begun.
	AnswerSuperseded
	// AnswerForgotten: it answers that the outcome is not known any more.
	AnswerForgotten
	// WriteAborted: it makes the record aborted.
	WriteAborted
	// WriteCommitted: it makes the record committed at the RecordStep's timestamp.
	WriteCommitted
	// Recover: it queries all intents. If they are staged the transaction has committed, otherwise it
	// is aborted.
	Recover
	// RecoverIfStaged: it queries all intents. If one is missing the transaction stays undecided.
	RecoverIfStaged
	// Delete removes the record.
	Delete
)

var actionNames = [...]string{
	"answer", "answer superseded", "answer forgotten", "write aborted", "write committed", "recover", "recover if staged", "delete",
}

// String returns the name that the scripts show.
func (a Action) String() string { return actionNames[a] }

// RecordStep is the result of a request about a record.
type RecordStep struct {
	Action Action
	Status kvpb.TxnStatus // for Answer
	TS     hlc.Timestamp  // of the outcome
	// PushSucceeded: if the transaction commits, it commits above the read that pushes it.
	PushSucceeded bool
	// MinCommitTS, if set, is the lowest timestamp at which the transaction may commit.
	MinCommitTS hlc.Timestamp
}

// Pusher describes a push: the waiter, and the facts about the transaction.
type Pusher struct {
	TS           hlc.Timestamp // of the waiting read; empty if no read waits
	Waited       time.Duration
	GatewayAlive bool
	RecordAge    time.Duration // in its present status
	AbortAfter   time.Duration // the time that the commit may take until others abort it
	Ended        Ended         // the end of the transaction, if the range remembers it
}

// Push decides on a push. If the transaction's gateway has died or takes too long, the push decides the
// transaction.
func (r *RecordState) Push(p Pusher) RecordStep {
	if r.Presence == Absent {
		switch {
		case p.Ended.Known:
			return p.Ended.answer()
		case p.Waited < p.AbortAfter: // the record may still be on its way
			return RecordStep{Status: kvpb.TxnStaging}
		}
		// The abort is durable, so that no later leader accepts the record either.
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

// End decides on the gateway's EndTxn: the transaction has committed, is aborted, or has no intents any
// more. forgotten: the range may have forgotten the end of a transaction that began at req.Since.
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
		return RecordStep{Action: WriteAborted} // the record has not come, and must not come later
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
	case r.Attempt != req.Attempt || r.TS != req.TS:
		return RecordStep{Action: AnswerSuperseded}
	case r.Keys == nil && req.TS.LessEq(r.MinCommitTS):
		return RecordStep{MinCommitTS: r.MinCommitTS.Next()}
	}
	return RecordStep{Action: WriteCommitted, TS: req.TS}
}

// BeginStage decides whether an attempt to commit may write the record. It may (Propose) unless the
// transaction has ended, or a later attempt has begun.
func (r *RecordState) BeginStage(attempt uint32) (Effects, hlc.Timestamp) {
	switch {
	case r.Presence != Stored:
	case r.Status == kvpb.TxnCommitted:
		return ReplyCommitted, r.TS
	case r.Status == kvpb.TxnAborted:
		return ReplyAborted, hlc.Timestamp{}
	case r.Attempt > attempt:
		return ReplySuperseded, hlc.Timestamp{}
	}
	return Propose, hlc.Timestamp{}
}

// BeginStage is RecordState.BeginStage for a transaction without a record.
func (e Ended) BeginStage() (Effects, hlc.Timestamp) {
	switch {
	case !e.Known:
		return Propose, hlc.Timestamp{}
	case e.Aborted:
		return ReplyAborted, hlc.Timestamp{}
	}
	return ReplyCommitted, e.TS
}

// SweepAction is an action of the sweep, which looks for intents and records that nobody else may
// ever look at.
type SweepAction uint8

const (
	// SweepNothing: none.
	SweepNothing SweepAction = iota
	// SweepPush: it pushes the transaction.
	SweepPush
	// SweepResolve: it resolves the intents.
	SweepResolve
	// SweepTidy: it resolves the transaction's intents in all ranges, and deletes the record.
	SweepTidy
)

var sweepNames = [...]string{"nothing", "push", "resolve", "tidy"}

// String returns the name that the scripts show.
func (a SweepAction) String() string { return sweepNames[a] }

// Sweep decides what the sweep does about the intents. orphaned reports whether the gateway has died, or
// has ended the transaction while this range does not know the outcome.
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

// Sweep decides what the sweep does about a record. alive: the gateway may be alive. age is the time
// in the record's present status, least the age from which a staging record is pushed.
func (r *RecordState) Sweep(alive bool, age, least time.Duration) SweepAction {
	switch {
	case !r.Finished() && (!alive || r.Status == kvpb.TxnStaging && age >= least):
		return SweepPush
	case !r.Finished():
		return SweepNothing
	}
	return SweepTidy
}

// Tidies reports whether SweepTidy is due for a decided transaction. resolved: it has no intents in this
// range.
func (r *RecordState) Tidies(alive, resolved bool, age time.Duration) bool {
	if r.Local {
		return resolved
	}
	return !alive || age >= tidyAfter
}
