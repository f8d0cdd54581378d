package tempschema

import (
	"context"
	"log/slog"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

const (
	// every is how often a node looks for temporary schemas without a session.
	every = 30 * time.Second
	// grace is how long a node must be out of the cluster's sight before others drop what its
	// sessions have: they may live on.
	grace = 10 * time.Minute
)

// Sweeper drops the temporary schemas that sessions have left.
type Sweeper struct {
	Catalog *catalog.Store
	// Node is this node.
	Node kvpb.NodeID
	// Alive reports whether a session of this node is still there.
	Alive func(*catalog.TempOwner) bool
	// Drop drops a temporary schema.
	Drop   func(context.Context, *catalog.Schema) error
	Logger *slog.Logger

	// silent holds since when the nodes of schemas were not seen.
	silent map[catalog.ID]time.Time
}

// Run sweeps again and again until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	s.silent = map[catalog.ID]time.Time{}
	for {
		s.sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep is one round.
func (s *Sweeper) sweep(ctx context.Context) {
	all := s.Catalog.TempSchemas()
	if len(all) == 0 {
		clear(s.silent)
		return
	}
	incarnations, err := s.Catalog.Incarnations(ctx)
	if err != nil {
		return // tried again at the next tick
	}
	for _, d := range all {
		if !s.abandoned(d, incarnations) {
			continue
		}
		if err := s.Drop(ctx, d); err != nil {
			s.Logger.Warn("temporary relations of an ended session are still there", "schema", d.Name, "err", err)
		}
	}
}

// abandoned reports whether the session of a temporary schema is no more.
func (s *Sweeper) abandoned(d *catalog.Schema, incarnations map[kvpb.NodeID]int64) bool {
	if d.Temp.Node == s.Node {
		return !s.Alive(d.Temp)
	}
	incarnation, seen := incarnations[d.Temp.Node]
	if seen {
		delete(s.silent, d.ID)
		return incarnation != d.Temp.Incarnation
	}
	since, known := s.silent[d.ID]
	if !known {
		s.silent[d.ID] = time.Now()
		return false
	}
	return time.Since(since) >= grace
}
