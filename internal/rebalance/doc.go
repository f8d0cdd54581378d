// Package rebalance keeps the ranges that a node leads where the configuration and the load of
// the cluster want them, and of the right size: it runs the queue of balance over this node's
// view of the cluster.
//
// Above it is kvnode, which runs it and asks it for the views that SHOW RANGES and decommission
// print. Below it are balance, which decides, and what that needs: rangestats and storepool
// measure, spanconfig says what is asked for, rangeops carries out.
//
//	rangestats ──▶ Stats ──────┐
//	storepool ───▶ Stores ─────┼──▶ balance.Queue ──▶ rangeops.Admin ──▶ the range's leader
//	spanconfig ──▶ Config ─────┘
//
// Read rebalance.go (Rebalancer: the queue and its loop), ranges.go (what the queue sees of
// ranges), alone.go (a node by itself), view.go (View; Scatter).
//
// # Invariants
//
//  1. The placement of replicas begins once the configuration is known, so that no zone is
//     broken for want of it. (Rebalancer.place; describe would fail without a Config)
//  2. Every node's queue acts on ranges that the node leads only. (ranges.Led, ranges.Get)
//  3. A follower that has acknowledged nothing, or whose node is silent, counts neither as
//     caught up nor as active. (progress; TestProgress)
//
// All methods but Run may be called by any goroutine.
package rebalance
