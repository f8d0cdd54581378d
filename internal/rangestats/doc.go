// Package rangestats measures what placement decides by: the size and load of each range, the
// progress of its followers, and the capacity of the node's stores.
//
// Above it are rangeops and rebalance, which read it, and kvnode, which has requests sent by way
// of Stats and tells other nodes of Stores. Below it are store and replica, which count, and
// balance, which samples the keys of requests.
//
// Read stats.go (Stats, one replica), collector.go (Collector, the rounds of a node), round.go
// (which replicas a round covers), size.go (when and how a size is found), middle.go (where a
// range may be halved).
//
// # Invariants
//
//  1. A quiesced replica costs nothing but a measurement in quiescedRounds: whatever wakes it
//     says so. (round.begin, Stats.record, store.Store.TakeUnquiesced)
//  2. A round reads no more for sizes than sizesPerRound on average. (Collector.measureSize)
//  3. The size of a range is that of the keys and newest values of its rows, whatever they take
//     on disk. (sizing.size; TestSize)
//  4. Rates follow slowly, and fall to exactly zero. (rate.follow; testdata/rates)
//  5. A size is looked up anew when the range has doubled, was split or merged, or has come to
//     rest. (sizing.next; testdata/sizes)
//
// Stats.Size, QPS, WriteBytes, Followers and the methods of kvpb.Sender may be called by any
// goroutine; Measure belongs to one, Run.
package rangestats
