package lease

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
)

// Supporters are those who support a leader, as they did at one moment.
type Supporters struct {
	// Key is the same for leaders that have the same ones, since the same times.
	Key    string
	lease  Lease
	offset time.Duration
}

// Supporters returns who supports the leader, and since when.
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

// Cover reports whether the leaders that have these supporters could read at ts. What has become
// of the supporters' support since then counts, but not what the leader of one range has received
// from them since: another one may not have.
func (s *Supporters) Cover(ts hlc.Timestamp) bool { return s.lease.Covers(ts, s.offset) }
