package ranges

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
)

// change is a change to the ranges of a table. It takes part in no transaction.
type change struct {
	table   catalog.ID
	split   [][]byte
	until   hlc.Timestamp
	unsplit [][]byte
	// all is a span whose splits are given up.
	all keys.Span
	// copyFrom is a span whose splits are repeated in scatter.
	copyFrom keys.Span
	scatter  keys.Span
}

// Pending holds the changes that wait for the commit of a transaction that has changed the
// catalog: their tables or indexes may be new.
type Pending struct{ changes []change }

// Mark returns the present state, for RollbackTo.
func (p *Pending) Mark() int { return len(p.changes) }

// RollbackTo forgets the changes since mark; 0 forgets all.
func (p *Pending) RollbackTo(mark int) { p.changes = p.changes[:min(mark, len(p.changes))] }

// Presplit adds the splits of a new table or index.
func (p *Pending) Presplit(s statement.Presplit) {
	p.changes = append(p.changes, change{
		table: s.Table, split: s.Keys, until: hlc.MaxTimestamp, copyFrom: s.CopyFrom, scatter: s.Scatter,
	})
}

// Committed makes the changes of a transaction that has committed, for the tables that coll
// still knows, and reports each failure: the commit stands all the same.
func (p *Pending) Committed(ctx context.Context, c Cluster, coll *catalog.Collection, failed func(catalog.ID, error)) {
	changes := p.changes
	p.changes = nil
	for i := range changes {
		ch := &changes[i]
		if d, err := coll.Peek(ctx, ch.table); err != nil || d == nil {
			continue // rolled back to a savepoint, or dropped since
		}
		if err := ch.apply(ctx, c); err != nil {
			failed(ch.table, err)
		}
	}
}

// do makes a change, now or after the commit.
func (e *Env) do(ctx context.Context, ch change) error {
	if e.DDL.Coll.Changed() {
		e.Pending.changes = append(e.Pending.changes, ch)
		return nil
	}
	return ch.apply(ctx, e.Cluster)
}

func (ch *change) apply(ctx context.Context, c Cluster) error {
	if c == nil {
		return errNoCluster()
	}
	if ch.copyFrom.Start != nil {
		copied, err := copySplits(ctx, c, ch)
		if err != nil || !copied {
			return err
		}
	}
	if err := splitAll(ctx, c, halving(ch.split), ch.until); err != nil {
		return err
	}
	for _, key := range ch.unsplit {
		if err := c.Unsplit(ctx, key); err != nil {
			return err
		}
	}
	if ch.all.Start != nil {
		if err := UnsplitSpan(ctx, c, ch.all); err != nil {
			return err
		}
	}
	if ch.scatter.Start != nil {
		return c.Scatter(ctx, ch.scatter)
	}
	return nil
}

// splitsAtOnce bounds the splits that one statement has under way: each takes a few
// commits one after the other.
const splitsAtOnce = 8

// splitAll splits at each key of list. In the order of halving, keys that are worked on at the
// same time mostly lie in different ranges.
func splitAll(ctx context.Context, c Cluster, list [][]byte, until hlc.Timestamp) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan []byte)
	var wg sync.WaitGroup
	for range min(splitsAtOnce, len(list)) {
		wg.Go(func() {
			for key := range work {
				if err := c.SplitAt(ctx, key, until); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, key := range list {
		select {
		case work <- key:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// copySplits repeats in scatter the splits that SPLIT AT once made in copyFrom; false if there
// are none.
func copySplits(ctx context.Context, c Cluster, ch *change) (bool, error) {
	list, err := c.Ranges(ctx, ch.copyFrom)
	if err != nil {
		return false, err
	}
	copied := false
	for i := range list {
		suffix, ok := bytes.CutPrefix(list[i].Desc.StartKey, ch.copyFrom.Start)
		if until := list[i].SplitUntil; ok && !until.IsEmpty() {
			if err := c.SplitAt(ctx, slices.Concat(ch.scatter.Start, suffix), until); err != nil {
				return false, err
			}
			copied = true
		}
	}
	return copied, nil
}

// halving orders keys so that each splits what is left about in the middle: no range is split
// often, and little data moves between them.
func halving(list [][]byte) [][]byte {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	out := make([][]byte, 0, len(sorted))
	queue := [][][]byte{sorted}
	for len(queue) > 0 {
		part := queue[0]
		queue = queue[1:]
		if len(part) == 0 {
			continue
		}
		mid := len(part) / 2
		out = append(out, part[mid])
		queue = append(queue, part[:mid], part[mid+1:])
	}
	return out
}
