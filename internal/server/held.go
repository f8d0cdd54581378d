package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// LostRange is a range that has no quorum: it neither moves nor answers before some of its nodes
// are back.
type LostRange struct {
	Range  kvpb.RangeID
	Holds  []string      // what its keys are: tables, most often
	Silent []kvpb.NodeID // its nodes that do not answer
}

// maxHolds bounds LostRange.Holds.
const maxHolds = 4

// lost returns what there is to say about a range without a quorum, nil if it has one.
func (n *Node) lost(d *kvpb.RangeDescriptor) *LostRange {
	voters := 0
	var silent []kvpb.NodeID
	for _, r := range d.Replicas {
		if r.Type == kvpb.Learner {
			continue
		}
		if voters++; r.Node != n.NodeID() && !n.answers(r.Node) {
			silent = append(silent, r.Node)
		}
	}
	if voters-len(silent) > voters/2 {
		return nil
	}
	return &LostRange{Range: d.RangeID, Holds: n.holds(d), Silent: silent}
}

// holds names what a range holds.
func (n *Node) holds(d *kvpb.RangeDescriptor) (out []string) {
	tables := keys.TableDataSpan()
	switch {
	case keys.MetaSpan().Contains(d.StartKey):
		out = append(out, "the addresses of the ranges")
	case bytes.Compare(d.StartKey, tables.Start) < 0:
		out = append(out, "records of the cluster")
	}
	if n.serving.Load() != nil && bytes.Compare(tables.Start, d.EndKey) < 0 {
		out = append(out, n.sql.Catalog().TablesWithin(d.StartKey, d.EndKey, maxHolds)...)
	}
	if len(out) == 0 {
		out = append(out, keys.Pretty(d.StartKey))
	}
	return out
}

// explain says of what could not be done for want of an answer which nodes give none.
func (n *Node) explain(err error) error {
	var down *kvpb.UnavailableError
	if !errors.As(err, &down) {
		return err
	}
	var silent []string
	for _, i := range n.kv.Live.Nodes() {
		if i.ID != n.NodeID() && !i.Removed && !n.answers(i.ID) {
			silent = append(silent, fmt.Sprintf("node %d", i.ID))
		}
	}
	if len(silent) == 0 {
		return err
	}
	return fmt.Errorf("the records of the cluster can't be reached while these nodes do not answer: %s; start enough of them again (%w)",
		strings.Join(silent, ", "), err)
}
