package distsql

import (
	"context"
	"runtime"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/fragment"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
	"github.com/lichendb/lichen/internal/tempstore"
	"github.com/lichendb/lichen/internal/trace"
)

// slotsPerProcessor is how many fragments run at once for each processor: while some read, others compute.
const slotsPerProcessor = 4

// Server runs fragments. It is safe for concurrent use.
type Server struct {
	db    *kv.DB
	mem   *quota.Pool
	temp  *tempstore.Store
	slots chan struct{}
}

// NewServer returns a server of a node. temp may be nil: then there are no temporary files.
func NewServer(db *kv.DB, mem *quota.Pool, temp *tempstore.Store) *Server {
	return &Server{db: db, mem: mem, temp: temp, slots: make(chan struct{}, slotsPerProcessor*runtime.GOMAXPROCS(0))}
}

// Serve answers a fragment.Request.
func (s *Server) Serve(ctx context.Context, req []byte) []byte {
	ctx, span := trace.Start(ctx, "fragment")
	ctx, waited := trace.Waiting(ctx)
	a, err := s.serve(ctx, req)
	if a != nil {
		a.Waited = waited.Total()
		span.Note("entries: %d", a.Entries)
	}
	if span.End(err); err != nil {
		return fragment.AppendFailure(nil, err)
	}
	return fragment.AppendAnswer(nil, a)
}

// enter waits until one more fragment may run. Fragments wait for no other ones, so that each wait ends.
func (s *Server) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) serve(ctx context.Context, req []byte) (*fragment.Answer, error) {
	q, err := fragment.DecodeRequest(req, s.db.Clock().Latest())
	if err != nil {
		return nil, err
	}
	wait := trace.Begin(ctx, "wait for a place to run")
	err = s.enter(ctx)
	if wait.End(err); err != nil {
		return nil, err
	}
	defer func() { <-s.slots }()
	root, err := fragment.Decode(q.Plan, q.Table)
	if err != nil {
		return nil, err
	}
	part, err := exec.CompilePart(root, q.Spans)
	if err != nil {
		return nil, err
	}
	leaf := s.db.Leaf(q.Txn, q.Observed, q.ReadBytes)
	a := &fragment.Answer{}
	var acc quota.Account
	acc.Init(s.mem)
	defer acc.Close()
	err = part.Run(s.env(ctx, q, leaf), func(b *vector.Batch) error {
		before := cap(a.Batches)
		a.Batches = vector.AppendEncoded(a.Batches, b)
		if int64(len(a.Batches)) >= q.AnswerBytes {
			leaf.Stop()
		}
		return acc.Grow(int64(cap(a.Batches) - before))
	})
	a.Rest, a.Observed, a.Entries = leaf.Rest(), leaf.Observed(), leaf.Entries()
	return a, err
}

// env is what a fragment runs in: it has no session.
func (s *Server) env(ctx context.Context, q *fragment.Request, leaf *kv.Leaf) *operator.Env {
	b := &call.Context{Ctx: ctx, Format: types.NewFormatContext(), Values: quota.NewValues(s.mem)}
	b.Format.Step = b.Step
	return &operator.Env{
		Ctx: ctx, Txn: leafTxn{leaf}, Builtin: b, Mem: s.mem, Temp: s.temp, WorkMem: q.WorkMem, BatchRows: q.BatchRows, ReadOnly: true,
	}
}

// leafTxn makes a leaf what operators read by. What only writers and locking reads call fails.
type leafTxn struct{ *kv.Leaf }

var errReadsOnly = pgerr.Assertion("a fragment reads only")

// ReadAhead implements tableaccess.Txn: nothing is read ahead.
func (leafTxn) ReadAhead(context.Context, []kvpb.Span, kv.ScanOptions, *kvpb.ScanResponse, func()) *kv.ReadAhead {
	return nil
}

// Lock implements tableaccess.Txn.
func (leafTxn) Lock(context.Context, []byte, lock.Strength, lock.WaitPolicy) (kv.LockResult, error) {
	return kv.LockResult{}, errReadsOnly
}

// LockUnchanged implements tableaccess.Txn.
func (leafTxn) LockUnchanged(context.Context, []byte, lock.Strength, lock.WaitPolicy) (kv.LockResult, error) {
	return kv.LockResult{}, errReadsOnly
}

// LockAhead implements tableaccess.Txn.
func (leafTxn) LockAhead(context.Context, [][]byte, lock.Strength) error { return errReadsOnly }

// LockUnchangedAhead implements tableaccess.Txn.
func (leafTxn) LockUnchangedAhead(context.Context, [][]byte, lock.Strength) error {
	return errReadsOnly
}

// ReserveMemory implements tableaccess.Txn.
func (leafTxn) ReserveMemory(int) error { return errReadsOnly }

// Put implements tableaccess.Txn.
func (leafTxn) Put(_, _ []byte) error { return errReadsOnly }

// PutOwned implements tableaccess.Txn.
func (leafTxn) PutOwned(_, _ []byte) error { return errReadsOnly }

// Delete implements tableaccess.Txn.
func (leafTxn) Delete([]byte) error { return errReadsOnly }

// BeginStatement implements tableaccess.Txn: there is one statement only.
func (leafTxn) BeginStatement() {}

// BeginCheck implements tableaccess.Txn: fragments check no constraints.
func (leafTxn) BeginCheck(bool) {}

// EndCheck implements tableaccess.Txn.
func (leafTxn) EndCheck() {}

// Freshen implements tableaccess.Txn: the snapshot belongs to the gateway.
func (leafTxn) Freshen(context.Context) error { return errReadsOnly }
