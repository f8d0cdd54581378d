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
	Store  kvpb.StoreID
	Left   int // replicas that the store still has
	Moving int // of these, how many have a place to go
	Held   []Holdup
}

// Holdup is a reason that keeps replicas where they are.
type Holdup struct {
	Reason  string
	Ranges  int
	Example kvpb.RangeID
}

// Explain says what is left on a store that is being decommissioned and what holds
// it up. ranges are those that have a replica on the store; others are ignored.
func (c *Cluster) Explain(id kvpb.StoreID, ranges []Placed) Departure {
	d := Departure{Store: id}
	held := map[string]*Holdup{}
	for i := range ranges {
		p := &ranges[i]
		if _, here := p.Desc.Replica(id); !here {
			continue
		}
		d.Left++
		why := c.holdup(id, p)
		if why == "" {
			d.Moving++
			continue
		}
		h, ok := held[why]
		if !ok {
			h = &Holdup{Reason: why, Example: p.Desc.RangeID}
			held[why] = h
		}
		h.Ranges++
	}
	for _, h := range held {
		d.Held = append(d.Held, *h)
	}
	sort.Slice(d.Held, func(i, j int) bool {
		a, b := d.Held[i], d.Held[j]
		return a.Ranges > b.Ranges || a.Ranges == b.Ranges && a.Reason < b.Reason
	})
	return d
}

// holdup says what keeps a range on a store, "" if nothing does.
func (c *Cluster) holdup(id kvpb.StoreID, p *Placed) string {
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
	for _, h := range d.Held {
		fmt.Fprintf(&b, "\n%d held up (for example range %d): %s", h.Ranges, h.Example, h.Reason)
	}
	return b.String()
}
