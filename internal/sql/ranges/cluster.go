package ranges

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Cluster is what SQL asks of the layer that knows the ranges of the cluster. It is safe for
// concurrent use. No method takes part in a transaction.
type Cluster interface {
	// Ranges returns the ranges that share a key with span, in the order of their
	// keys. A span that is a point lies in one range.
	Ranges(ctx context.Context, span keys.Span) ([]Info, error)
	// SplitAt makes key the start of a range, unless it is one already, and keeps the
	// split until the given time: until then only Unsplit lets the range be merged with
	// its left neighbour. hlc.MaxTimestamp keeps it for good.
	SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error
	// Unsplit lets the range that begins at key be merged with its left neighbour, unless
	// something else keeps them apart. It does nothing where SplitAt keeps no split.
	Unsplit(ctx context.Context, key []byte) error
	// Scatter moves the replicas and leaders of the ranges in span to stores drawn
	// at random, as far as the zone configuration allows.
	Scatter(ctx context.Context, span keys.Span) error
	// Size estimates the bytes of the rows in span, as they are now and are kept once.
	Size(ctx context.Context, span keys.Span) (int64, error)
	// Nodes returns the nodes of the cluster that were not removed.
	Nodes(ctx context.Context) ([]Node, error)
}

// Info describes a range as it was when it was asked for.
type Info struct {
	Desc kvpb.RangeDescriptor
	// Leader is the store whose replica leads; 0 if nobody knows.
	Leader    kvpb.StoreID
	SizeBytes int64
	// QPS is the number of requests per second that the leader serves.
	QPS float64
	// Localities are those of the nodes that hold replicas.
	Localities map[kvpb.NodeID]string
	// Survives says how many failures of each kind the range survives, those of nodes
	// first. Problems is what is not as the configuration asks.
	Survives []Tolerance
	Problems []Problem
	// SplitUntil is how long SplitAt keeps the split at Desc.StartKey; zero if it
	// does not.
	SplitUntil hlc.Timestamp
}

// Tolerance says how many nodes, zones, … may fail, whichever they are, before a range
// loses its quorum.
type Tolerance struct {
	Of  string // "node", or the key of a tier of the localities
	Any int
	// Weakest is a place whose loss is too much, when Any is 0 and there are several.
	Weakest string
}

// Problem is something about a range's placement that is not as it should be. At most
// one of the flags is set.
type Problem struct {
	Unavailable, UnderReplicated, Misplaced bool

	Text string
}

// Node describes a node.
type Node struct {
	ID       kvpb.NodeID
	Stores   []kvpb.StoreID
	Locality string // "region=eu,zone=a", "" if it has none
}

// Localities returns where the nodes of a cluster are; nil if there is no cluster to ask.
func Localities(c Cluster) func(context.Context) ([]string, error) {
	if c == nil {
		return nil
	}
	return func(ctx context.Context) ([]string, error) {
		nodes, err := c.Nodes(ctx)
		out := make([]string, len(nodes))
		for i := range nodes {
			out[i] = nodes[i].Locality
		}
		return out, err
	}
}

// UnsplitSpan gives up all splits in span: for the keys of dropped tables, when their data is
// cleared.
func UnsplitSpan(ctx context.Context, c Cluster, span keys.Span) error {
	list, err := c.Ranges(ctx, span)
	if err != nil {
		return err
	}
	for i := range list {
		if key := list[i].Desc.StartKey; span.Contains(key) {
			if err := c.Unsplit(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
