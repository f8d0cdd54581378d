package scan

import (
	"runtime"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
)

// minPrefetch is how many ranges a request has at least that a worker reads beside another request.
const minPrefetch = 128

// prefetcher has a worker read a page while the operator's own goroutine reads another one.
type prefetcher struct {
	rows  *RowAccess
	ahead *kv.ReadAhead // nil: nothing is read
}

// begin begins to read a page of spans, if a worker is free and the transaction lets it read ahead. Whether it does
// or not, spans and page belong to r until finish or stop.
func (r *prefetcher) begin(spans []kvpb.Span, o kv.ScanOptions, page *kvpb.ScanResponse) bool {
	env := r.rows.run.Env
	if env.ParallelWorkers < 2 || runtime.GOMAXPROCS(0) < 2 || env.Workers.Take(1) == 0 {
		return false
	}
	if r.ahead = r.rows.Txn().ReadAhead(r.rows.run.Ctx, spans, o, page, nil); r.ahead == nil {
		env.Workers.Give(1)
	}
	return r.ahead != nil
}

// finish waits for the page.
func (r *prefetcher) finish() error {
	ahead := r.ahead
	r.end()
	return ahead.Finish(r.rows.run.Ctx)
}

// stop ends the reading of the page, if it is being read.
func (r *prefetcher) stop() {
	if r.ahead != nil {
		r.ahead.Abandon()
		r.end()
	}
}

func (r *prefetcher) end() {
	r.ahead = nil
	r.rows.run.Env.Workers.Give(1)
}

// worthPrefetch reports whether so many ranges are worth a worker. Tests that want small batches want workers as well.
func worthPrefetch(run *operator.Run, n int) bool {
	return n >= minPrefetch || n > 0 && mostPageRows(run) < maxPageRows
}
