package placement

import (
	"fmt"
	"sort"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Placed is a range with its zone configuration.
type Placed struct {
	Range
	Zone *zone.Config
}

// Departure says how far a store's decommissioning is.
type Departure struct {
	Store    kvpb.StoreID
	Left     int // replicas that the store still has
	Moving   int // of these, how many have a place to go
	Blockers []Blocker
}

// Blocker is a reason that keeps replicas where they are.
type Blocker struct {
	Reason  string
	Ranges  int
	Example kvpb.RangeID
}

// Explain says what is left on a store that is being decommissioned and what holds
// it up. ranges are those that have a replica on the store; others are ignored.
func (c *Cluster) Explain(id kvpb.StoreID, ranges []Placed) Departure {
	d := Departure{Store: id}
	blockers := map[string]*Blocker{}
	for i := range ranges {
		p := &ranges[i]
		if _, here := p.Desc.Replica(id); !here {
			continue
		}
		d.Left++
		why := c.blocker(id, p)
		if why == "" {
			d.Moving++
			continue
		}
		h, ok := blockers[why]
		if !ok {
			h = &Blocker{Reason: why, Example: p.Desc.RangeID}
			blockers[why] = h
		}
		h.Ranges++
	}
	for _, h := range blockers {
		d.Blockers = append(d.Blockers, *h)
	}
	sort.Slice(d.Blockers, func(i, j int) bool {
		a, b := d.Blockers[i], d.Blockers[j]
		return a.Ranges > b.Ranges || a.Ranges == b.Ranges && a.Reason < b.Reason
	})
	return d
}

// blocker says what keeps a range on a store, "" if nothing does.
func (c *Cluster) blocker(id kvpb.StoreID, p *Placed) string {
	if s, ok := c.byID[id]; !ok || !s.Decommissioning {
		return "the store is not being decommissioned"
	}
	a := c.Decide(&p.Range, p.Zone)
	switch {
	case a.Kind == Unavailable:
		return a.Reason
	case a.Blocked != "" && (a.Kind == None || a.Class != Repair):
		return a.Blocked
	case a.Kind == None:
		return "nothing is to be done for the range"
	}
	return ""
}

// Done reports whether the store is empty.
func (d Departure) Done() bool { return d.Left == 0 }

// String tells it, one reason per line.
func (d Departure) String() string {
	if d.Done() {
		return fmt.Sprintf("s%d holds no replica any more", d.Store)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "s%d holds %d %s, %d of them can move", d.Store, d.Left, plural("replica", d.Left), d.Moving)
	for _, h := range d.Blockers {
		fmt.Fprintf(&b, "\n%d held up (for example range %d): %s", h.Ranges, h.Example, h.Reason)
	}
	return b.String()
}
