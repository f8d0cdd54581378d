package catalog

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// watchPeers looks after the locks of transactions whose nodes may be gone, and
// after nodes that may be.
func (g *gateway) watchPeers(ctx context.Context) {
	defer g.done.Done()
	for g.rest(ctx, g.watch) == nil {
		_ = g.watchOnce(ctx) // what fails is tried again
	}
}

// watchOnce strikes expired gateways off, and drops the locks of transactions that
// have ended. Where a node is gone it may have committed a change that it announced
// nobody of: then the catalog is read again.
func (g *gateway) watchOnce(ctx context.Context) error {
	g.mu.Lock() // before reading who is there: their nodes were then
	held := maps.Clone(g.remote)
	g.mu.Unlock()
	ms, err := g.member.Members(ctx)
	if err != nil {
		return err
	}
	unsure := false
	now := map[kvpb.NodeID]int64{}
	for _, m := range ms.All {
		if g.member.Expired(m) {
			if gone, err := g.member.Gone(ctx, m); err == nil && gone {
				unsure = true
				continue
			}
		}
		now[m.Node] = m.Registration
	}
	for n, reg := range g.known {
		unsure = unsure || now[n] != reg
	}
	ended := g.ended(ctx, held, now)
	if unsure || len(ended) > 0 {
		if err := g.refresh(ctx); err != nil {
			return err
		}
	}
	for _, txn := range ended {
		g.drop(txn, math.MaxInt)
	}
	g.known = now
	return nil
}

// ended returns the transactions with locks here that certainly run no longer.
func (g *gateway) ended(
	ctx context.Context, held map[concurrency.TxnID]*remoteTxn, live map[kvpb.NodeID]int64,
) (out []concurrency.TxnID) {
	ask := map[kvpb.NodeID][]concurrency.TxnID{}
	for txn, r := range held {
		if reg, ok := live[r.node]; !ok || r.reg != 0 && reg != r.reg {
			out = append(out, txn) // it can't commit any more
		} else {
			ask[r.node] = append(ask[r.node], txn)
		}
	}
	for n, txns := range ask {
		a, err := g.call(ctx, n, &peerRequest{Kind: askActive, Txns: txns})
		if err != nil {
			continue
		}
		for _, txn := range txns {
			if !slices.ContainsFunc(a.Active, func(t activeTxn) bool { return t.Txn == txn }) {
				out = append(out, txn)
			}
		}
	}
	return out
}
