package rangeops

import (
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
)

// busy are ranges that one goroutine of the node works at. The zero value has none.
type busy struct {
	mu  sync.Mutex
	ids map[kvpb.RangeID]bool
}

// enter makes a range busy, and reports false if it is already.
func (b *busy) enter(id kvpb.RangeID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] {
		return false
	}
	if b.ids == nil {
		b.ids = map[kvpb.RangeID]bool{}
	}
	b.ids[id] = true
	return true
}

func (b *busy) leave(id kvpb.RangeID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ids, id)
}
