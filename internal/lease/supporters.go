package lease

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// Supporters are the supporters of a leader at one moment.
type Supporters struct {
	// Key is the same for leaders with the same supporters under the same epochs.
	Key    string
	lease  Lease
	offset time.Duration
}

// Supporters returns the supporters of the leader, with the epochs of their support.
func (l *Lease) Supporters(offset time.Duration) *Supporters {
	out := &Supporters{offset: offset, lease: Lease{Alone: l.Alone, Revoked: new(atomic.Bool)}}
	var b []byte
	for _, q := range l.quorums {
		var all []Supporter
		for _, s := range q {
			o := Supporter{store: s.store, cell: s.cell}
			if s.cell != nil {
				o.answered = new(atomic.Int64)
				o.answered.Store(s.answered.Load())
			}
			all = append(all, o)
		}
		slices.SortFunc(all, func(a, b Supporter) int { return cmp.Compare(a.store, b.store) })
		b = binary.AppendUvarint(b, uint64(len(all)))
		for _, s := range all {
			b = binary.AppendUvarint(b, uint64(s.store))
			if s.cell != nil {
				b = binary.AppendVarint(b, s.answered.Load())
			}
		}
		out.lease.quorums = append(out.lease.quorums, all)
	}
	out.Key = string(b)
	return out
}

// Cover reports whether all leaders with these supporters may answer reads at ts. It counts the present
// extent of the support, but no answers since: the supporters may have answered one leader and not another.
func (s *Supporters) Cover(ts hlc.Timestamp) bool { return s.lease.Covers(ts, s.offset) }
