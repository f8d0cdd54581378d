// Package storepool is what a node knows of all stores of the cluster: what their nodes tell of
// them, and what can be said of nodes and stores that are silent.
//
// Above it is rebalance, which gives it to the queue of balance, and kvnode, which asks it how
// far a node is. Below it are placement, whose Store it fills, and liveness.
//
// Read pool.go (Pool), history.go (the history of a node, a pure state machine), lost.go
// (stores that nobody has any more), distance.go, alone.go (a node that is a cluster by itself).
//
//	        silent                     back, failures > 0            suspectUntil
//	Live ───────────▶ Down ──────────────────────▶ Suspect ───────────────────────▶ Live
//	                   │  back after a drain                                         ▲
//	                   └─────────────────────────────────────────────────────────────┘
//
// # Invariants
//
//  1. A node that went silent without having said that it would stop is suspect after its
//     return, the longer the more often. (history.change; testdata/history)
//  2. A store counts as measured when the figures that its node tells are others than before,
//     not when they are read. (history.observe; testdata/history)
//  3. A store that descriptors name and no node tells of is down from when it was first missed, and
//     gone if its node was removed. (namedStores.appendLost; testdata/lost)
//
// A Pool may be used by any number of goroutines. Its mutex is held for memory operations and
// calls of Nodes, which must not call back.
package storepool
