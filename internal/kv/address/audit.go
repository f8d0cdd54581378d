package address

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// auditRecords bounds the records that a node reads at a time to find out whether its
// replicas are still part of their ranges.
const auditRecords = 2000

// audit compares the next of the node's replicas that don't lead with the records. A removed
// replica learns of its removal by one message, and by the answers to its own messages. If
// that message was lost and its range is quiesced, the replica would stay for ever.
func (g *Registry) audit(ctx context.Context, db *kv.DB) error {
	mine := slices.DeleteFunc(slices.Clone(g.o.Replicas()), func(r *replica.Replica) bool {
		return r.Leads() || bytes.Compare(r.Desc().StartKey, g.audited) < 0
	})
	if len(mine) == 0 {
		g.audited = nil
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var found []*kvpb.RangeDescriptor
	err := db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		found = found[:0]
		lo := keys.Next(keys.Meta(mine[0].Desc().StartKey))
		return each(ctx, t, lo, keys.MetaSpan().End, auditRecords, func(_ []byte, d *kvpb.RangeDescriptor) error {
			found = append(found, d)
			return nil
		})
	})
	if err != nil {
		return err
	}
	g.audited = nil
	if len(found) == auditRecords {
		g.audited = found[len(found)-1].EndKey
	}
	for _, r := range mine {
		at := r.Desc()
		for len(found) > 0 && bytes.Compare(found[0].EndKey, at.StartKey) <= 0 {
			found = found[1:]
		}
		if len(found) == 0 {
			break
		}
		// A record of a later generation than the replica's has the present owner of its keys: the
		// same range with other replicas, or another range that has subsumed it.
		if d := found[0]; bytes.Compare(d.StartKey, at.StartKey) <= 0 && d.Generation > at.Generation {
			g.o.Superseded(r, d)
		}
	}
	return nil
}
