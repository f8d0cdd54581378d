package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Ranges is what SQL asks of the layer that knows the ranges of the cluster. It
// is safe for concurrent use. None of its methods belongs to a transaction.
type Ranges interface {
	// Ranges returns the ranges that share a key with span, in the order of their
	// keys. A span that is a point lies in one range.
	Ranges(ctx context.Context, span keys.Span) ([]RangeInfo, error)
	// SplitAt makes key the beginning of a range, if it is not yet, and keeps the
	// border until the given time: before it the range is not merged with its left
	// neighbour but by Unsplit. hlc.MaxTimestamp keeps it for good.
	SplitAt(ctx context.Context, key []byte, until hlc.Timestamp) error
	// Unsplit lets the range that begins at key be merged away when there is no
	// other reason for it. If SplitAt does not hold the border it does nothing.
	Unsplit(ctx context.Context, key []byte) error
	// Scatter moves the replicas and leaders of the ranges in span to stores drawn
	// at random, as far as the placement rules allow.
	Scatter(ctx context.Context, span keys.Span) error
	// Size estimates the bytes of the rows in span, as they are now and are kept once.
	Size(ctx context.Context, span keys.Span) (int64, error)
	// Nodes returns the nodes of the cluster that were not removed.
	Nodes(ctx context.Context) ([]NodeInfo, error)
}

// RangeInfo describes a range as it was when it was asked for.
type RangeInfo struct {
	Desc kvpb.RangeDescriptor
	// Leader is the store whose replica leads; 0 if nobody knows.
	Leader    kvpb.StoreID
	SizeBytes int64
	// Localities are those of the nodes that hold replicas.
	Localities map[kvpb.NodeID]string
	// Survives says how many failures of each kind the range survives, those of nodes
	// first. Problems is what is not as the configuration asks.
	Survives []Tolerance
	Problems []Problem
	// SplitUntil is how long SplitAt keeps the border at Desc.StartKey; zero if it
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

// NodeInfo describes a node.
type NodeInfo struct {
	Node     kvpb.NodeID
	Stores   []kvpb.StoreID
	Locality string // "region=eu,zone=a", "" if it has none
}

// ranges returns the cluster's ranges, or an error if this server has no access to
// them.
func (s *Server) ranges() (Ranges, error) {
	if s.cfg.Ranges == nil {
		return nil, pgerr.Unsupported("this server has no access to the ranges of the cluster")
	}
	return s.cfg.Ranges, nil
}

// size returns how to find the size of the rows in a span; nil if the server does not
// know.
func (s *Server) size() func(context.Context, keys.Span) (int64, error) {
	if s.cfg.Ranges == nil {
		return nil
	}
	return s.cfg.Ranges.Size
}

// localities returns where the nodes are, for ddl; nil if the server does not know.
func (s *Server) localities() func(context.Context) ([]string, error) {
	if s.cfg.Ranges == nil {
		return nil
	}
	return func(ctx context.Context) ([]string, error) {
		nodes, err := s.cfg.Ranges.Nodes(ctx)
		out := make([]string, len(nodes))
		for i := range nodes {
			out[i] = nodes[i].Locality
		}
		return out, err
	}
}

// UnsplitSpan lets all borders between ranges in span be merged away: for the keys
// of dropped tables, when their data is cleared.
func UnsplitSpan(ctx context.Context, r Ranges, span keys.Span) error {
	list, err := r.Ranges(ctx, span)
	if err != nil {
		return err
	}
	for i := range list {
		if key := list[i].Desc.StartKey; span.Contains(key) {
			if err := r.Unsplit(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
