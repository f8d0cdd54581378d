package statement

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Job is by what others know a statement, and may go on with it when its node dies: it notes how far the statement has come, and
// says until when this node may write for it.
type Job interface {
	ID() int64
	// Survives reports whether another node can go on with the statement. Of others what is written beside the transaction is
	// removed when the job has ended without its change.
	Survives() bool
	// Lease waits until what the statement writes outside its transaction may be committed for a while, and Until returns up to
	// which timestamp.
	Lease(context.Context) error
	Until() hlc.Timestamp
	// Protect keeps what can be read of a span at a time, and later, from being collected until the job has ended. protected is
	// false if some of it may be gone, or it takes long to find that out.
	Protect(ctx context.Context, span kvpb.Span, at hlc.Timestamp) (protected bool, err error)
	// Note stores a checkpoint in place of the one before; nil: whoever goes on begins anew.
	Note(context.Context, *Checkpoint) error
}

// Checkpoint is how far a statement has come with the rows of one table, which it reads, or writes anew, while others change
// them. The entries of the new indexes are there of all rows whose keys lie below Next, or of all if Copied is set, as of At;
// perhaps those of rows above Next too. With To set, changes up to that may be there as well, in part.
type Checkpoint struct {
	// Fingerprint is that of the table and of what becomes of its rows. Nothing of a checkpoint counts if it has changed.
	Fingerprint string
	// IDs are the index ids that the statement has taken, in order, Spans the ids of the announcements of the spans that are
	// written.
	IDs   []catalog.ID
	Spans []uint64
	// Rows is how many have been read.
	Rows   int64
	At, To hlc.Timestamp
	Next   []byte
	Copied bool
}

// ErrBeginAnew says that a statement can't go on where it was left on another node, and must begin anew.
var ErrBeginAnew = errors.New("the statement can't go on from its checkpoint")

// Resume is how a statement goes on from the checkpoint of another node, and what it takes so that another can go on from its own.
type Resume struct {
	// From is where the statement was left, nil if it begins.
	From  *Checkpoint
	again int          // how many of its ids were taken again
	taken []catalog.ID // index ids
	used  bool         // a step notes, or has gone on from From
	spoil bool         // more than one step writes outside the transaction: nothing is noted
}

// NewIndexID returns a number for an index that no other has. A statement that goes on gets those that it has had.
func (e *Env) NewIndexID(ctx context.Context) (id catalog.ID, err error) {
	r := e.Resume
	if r != nil && r.From != nil && r.again < len(r.From.IDs) {
		id = r.From.IDs[r.again]
		r.again++
	} else if id, err = e.Coll.NewID(ctx); err != nil {
		return 0, err
	}
	if r != nil {
		r.taken = append(r.taken, id)
	}
	return id, nil
}

// TakeCheckpoint returns the checkpoint from which the step that asks is to go on, nil if it begins. mine says that the step may
// note its own: one of a statement may.
func (e *Env) TakeCheckpoint() (from *Checkpoint, mine bool) {
	r := e.Resume
	if r == nil || r.used || r.spoil {
		return nil, false
	}
	r.used = true
	return r.From, true
}

// IndexIDs are the index ids that the statement has taken.
func (r *Resume) IndexIDs() []catalog.ID { return r.taken }

// Spoil has the statement note nothing from now on, as a step that can't go on from a checkpoint writes outside the transaction. It
// returns ErrBeginAnew if the statement goes on from one: what was written then may be in the way.
func (e *Env) Spoil(ctx context.Context, j Job) error {
	r := e.Resume
	if r == nil {
		return nil
	}
	if r.From != nil {
		return ErrBeginAnew
	}
	if r.spoil = true; j == nil || !r.used {
		return nil
	}
	return j.Note(ctx, nil)
}

// Spoilt reports whether nothing may be noted.
func (r *Resume) Spoilt() bool { return r == nil || r.spoil }
