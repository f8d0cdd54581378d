package exec

import (
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of the memory that programs share for large results: an idle program
// keeps little, and a large result does not begin with nothing each time.
const (
	maxSharedPage   = 2 << 20
	maxSharedDatums = 64 << 10
)

var (
	sharedPages  sync.Pool // of *kvpb.ScanResponse
	sharedDatums sync.Pool // of *[]types.Datum
)

// takePage gives a page that has no memory some that was left by another.
func takePage(p *kvpb.ScanResponse) {
	if cap(p.Arena) > 0 {
		return
	}
	if q, ok := sharedPages.Get().(*kvpb.ScanResponse); ok {
		*p = *q
		p.Reset()
	}
}

// leavePage takes its memory from a page that had grown.
func (r *run) leavePage(p *kvpb.ScanResponse) {
	if cap(p.Arena) <= maxScratch {
		return
	}
	if cap(p.Arena) > maxSharedPage {
		r.NoteSize(cap(p.Arena))
	} else {
		q := *p
		q.Reset()
		sharedPages.Put(&q)
	}
	*p = kvpb.ScanResponse{}
}

// takeDatums returns memory for more than keepDatums datums.
func takeDatums(n int) []types.Datum {
	if n > keepDatums {
		if q, ok := sharedDatums.Get().(*[]types.Datum); ok {
			if cap(*q) >= n {
				return *q
			}
		}
	}
	return make([]types.Datum, n)
}

// leaveDatums takes memory back that nobody refers to.
func leaveDatums(d []types.Datum) {
	if cap(d) <= maxSharedDatums {
		d = d[:cap(d)]
		clear(d)
		sharedDatums.Put(&d)
	}
}
