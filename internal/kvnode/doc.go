// Package kvnode is the key-value part of a node: stores, liveness, the addresses of ranges, the
// gateway, and the queues that place, split, merge and check ranges. It builds these parts in order and
// connects them. Their decisions lie in their own packages.
//
// Above it are sqlnode, which adds SQL, node, which adds membership of a cluster, and
// sim, which builds the same nodes over a simulated network, disk and clock. Below it is everything from rebalance to
// store.
//
//	New ─▶ stores opened, clock waited for, handlers set
//	       (the node gets its identity; Store.Start, Live.Start)
//	OpenGateway ─▶ Router, DB
//	StartRanges ─▶ measuring, merging, placing, checking
//	(goroutines of Options.Go end) ─▶ Disconnect ─▶ Store.Close
//
// Read node.go (Node, Options), network.go (requests of other nodes), ranges.go, gateways.go (whether the
// gateway of a transaction lives), addresses.go (the meta records), leave.go (transfers of leaderships),
// settings.go (cluster settings), disks.go (a disk that is full, slow or stalled).
//
// # Invariants
//
//  1. At the start, the node's clock is at most a quarter of the maximum offset ahead of those of the
//     other nodes before any of them sees it. (awaitClock)
//  2. No two incarnations of a node have the same number. (New: the clock never shows a time twice;
//     TestIncarnations)
//  3. A transaction is over if its gateway has started again or was removed. A gateway that has just
//     started has as long for its first heartbeat as others have for the next one. (gatewayAlive,
//     newGateways; maxNewGateways bounds them; TestNewGateways, TestNewGatewaysAreBounded)
//  4. No request goes to a replica whose disk is stalled: others lead. (sender, localRanges)
package kvnode
