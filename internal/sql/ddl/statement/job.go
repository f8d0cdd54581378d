package statement

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Job makes a statement known to other nodes, so that one of them can resume it when this node dies. It stores the statement's
// checkpoints and says until when this node may write for it.
type Job interface {
	ID() int64
	// Survives reports whether another node can resume the statement. If none can, the cleaner removes what the statement wrote
	// outside its transaction once the job has failed.
	Survives() bool
	// Lease waits until this node may commit writes outside the statement's transaction for a while. Until returns the end of
	// that time.
	Lease(context.Context) error
	Until() hlc.Timestamp
	// Protect keeps the versions of a span that are visible at a timestamp or later from garbage collection until the job ends.
	// protected is false if some of them may be gone already, or if finding out takes long.
	Protect(ctx context.Context, span kvpb.Span, at hlc.Timestamp) (protected bool, err error)
	// Note stores a checkpoint in place of the previous one. After nil, a node that resumes the job begins anew.
	Note(context.Context, *Checkpoint) error
}

// Checkpoint records how far a statement has read or rewritten the rows of one table, while others change them. The new
// indexes have entries, as of At, for all rows with keys below Next, or for all rows if Copied is set; they may have some for
// rows above Next too. If To is set, they may also hold a part of the changes up to To.
type Checkpoint struct {
	// Fingerprint identifies the table's schema and the change of its rows. A checkpoint is void if it differs.
	Fingerprint string
	// IDs are the index ids that the statement has taken, in order. Spans are the ids under which it announced the spans that
	// it writes.
	IDs   []catalog.ID
	Spans []uint64
	// Rows counts the rows read so far.
	Rows   int64
	At, To hlc.Timestamp
	Next   []byte
	Copied bool
}

// ErrBeginAnew means that a statement can't resume from another node's checkpoint and must begin anew.
var ErrBeginAnew = errors.New("the statement can't go on from its checkpoint")

// Resume holds the checkpoint from which a statement continues, and collects what its own next checkpoint needs.
type Resume struct {
	// From is the checkpoint of the node that ran the statement before; nil at the first attempt.
	From  *Checkpoint
	again int          // how many of From's ids were reused
	taken []catalog.ID // index ids
	used  bool         // one step owns the checkpoint
	spoil bool         // several steps write outside the transaction, so no checkpoint is stored
}

// NewIndexID returns an unused index id. A resumed statement gets the ids of its previous attempt again.
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

// TakeCheckpoint gives the calling step the checkpoint to continue from, nil if there is none. mine reports whether the step
// may store checkpoints of its own; only one step of a statement may.
func (e *Env) TakeCheckpoint() (from *Checkpoint, mine bool) {
	r := e.Resume
	if r == nil || r.used || r.spoil {
		return nil, false
	}
	r.used = true
	return r.From, true
}

// IndexIDs returns the index ids that the statement has taken.
func (r *Resume) IndexIDs() []catalog.ID { return r.taken }

// Spoil stops the statement from storing checkpoints, because a step that can't be resumed writes outside the transaction. A
// statement that was resumed from a checkpoint gets ErrBeginAnew: the writes of the previous attempt may collide.
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
