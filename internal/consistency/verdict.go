package consistency

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Request asks a node to check ranges that it leads: those with ids above After.
type Request struct {
	Node  kvpb.NodeID // 0: the one asked
	After kvpb.RangeID
}

// Page is the answer. Next is where to go on, 0 at the end.
type Page struct {
	Ranges []RangeCheck
	Next   kvpb.RangeID
}

// RangeCheck is what a check of one range found.
type RangeCheck struct {
	Range      kvpb.RangeID
	Start, End string // the range's keys, for people
	Leader     kvpb.StoreID
	Index      uint64 // of the log at which the replicas were compared
	Replicas   []ReplicaCheck
	Verdict    Verdict
	Err        string // why nothing was compared
}

// ReplicaCheck is the checksum of one replica.
type ReplicaCheck struct {
	Node        kvpb.NodeID
	Store       kvpb.StoreID
	Sum         string
	Keys, Bytes int64
	Differs     bool
	Err         string
}

// Verdict says what came of a check.
type Verdict string

// The verdicts. Unchecked means that not even two replicas could be compared.
const (
	Identical Verdict = "identical"
	Differing Verdict = "differing"
	Unchecked Verdict = "unchecked"
)

// judge compares the checksums. Those that are not the most frequent one differ; if
// there is no most frequent one, all do.
func (c *RangeCheck) judge() {
	count := map[string]int{}
	answers := 0
	for i := range c.Replicas {
		if s := c.Replicas[i].Sum; s != "" {
			count[s]++
			answers++
		}
	}
	switch {
	case answers == 0 || answers == 1 && len(c.Replicas) > 1:
		c.Verdict = Unchecked
		return
	case len(count) == 1:
		c.Verdict = Identical
		return
	}
	c.Verdict = Differing
	most, tie := "", false
	for s, k := range count {
		switch {
		case k > count[most]:
			most, tie = s, false
		case k == count[most]:
			tie = true
		}
	}
	for i := range c.Replicas {
		rc := &c.Replicas[i]
		rc.Differs = rc.Sum != "" && (tie || rc.Sum != most)
	}
}

// String returns what was found in one line.
func (c *RangeCheck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "range %d [%s, %s): %s", c.Range, c.Start, c.End, c.Verdict)
	if c.Err != "" {
		fmt.Fprintf(&b, ": %s", c.Err)
	}
	for i := range c.Replicas {
		rc := &c.Replicas[i]
		switch {
		case rc.Err != "":
			fmt.Fprintf(&b, "; the replica on store %d (node %d): %s", rc.Store, rc.Node, rc.Err)
		case rc.Differs:
			fmt.Fprintf(&b, "; the replica on store %d (node %d) DIFFERS: %d versions, %d bytes, checksum %.16s…", rc.Store, rc.Node, rc.Keys, rc.Bytes, rc.Sum)
		case c.Verdict == Differing:
			fmt.Fprintf(&b, "; the replica on store %d (node %d): %d versions, %d bytes, checksum %.16s…", rc.Store, rc.Node, rc.Keys, rc.Bytes, rc.Sum)
		}
	}
	return b.String()
}
