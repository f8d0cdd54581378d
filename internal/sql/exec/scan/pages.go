package scan

import (
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
)

// Limits of the memory that programs share for large results: an idle program
// keeps little, and a large result does not begin with nothing each time.
const (
	maxSharedPage = 2 << 20
)

var (
	sharedPages sync.Pool // of *kvpb.ScanResponse
)

// TakePage gives a page that has no memory some that was left by another.
func TakePage(p *kvpb.ScanResponse) {
	if cap(p.Arena) > 0 {
		return
	}
	if q, ok := sharedPages.Get().(*kvpb.ScanResponse); ok {
		*p = *q
		p.Reset()
	}
}

// LeavePage takes its memory from a page that had grown.
func LeavePage(st *expr.State, p *kvpb.ScanResponse) {
	if cap(p.Arena) <= rowcontainer.MaxScratch {
		return
	}
	if cap(p.Arena) > maxSharedPage {
		st.NoteSize(cap(p.Arena))
	} else {
		q := *p
		q.Reset()
		sharedPages.Put(&q)
	}
	*p = kvpb.ScanResponse{}
}
