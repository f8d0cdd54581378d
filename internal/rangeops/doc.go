// Package rangeops changes ranges: it splits, merges and clears them, changes their replicas and
// hands over their leadership; and it finds out which ranges there are.
//
// Above it are rebalance, whose queue decides on changes (balance.Changer), and kvnode and sqlnode, by
// which SQL asks for them. Below it are replica, which carries out one step of a change, kv/address,
// which records where ranges are, spanconfig and rangestats.
//
// Any node may be asked for any range: the operation goes to the range's leader.
//
//	Admin.Do ── Op ──▶ a node with a replica ── elsewhere ──▶ another one, until leaderTimeout
//	                       │ leads
//	                       ▼
//	                  performHere ──▶ one replica.Replica
//
// Read admin.go (Admin, Options), op.go (Op, how the leader is reached); then a file per change:
// plan.go (what a change of replicas takes, in which order: pure) and replicas.go, leader.go,
// split.go with rangeids.go and rows.go (where rows begin), merge.go; directory.go (which ranges
// there are), size.go.
//
// # Invariants
//
//  1. One change of a range's replicas is under way at a time on the node that leads it: the
//     learner of another one is not taken for a leftover. (takeTurn; TestChangesTakeTurns of
//     server)
//  2. New voters are learners first and have caught up; then everything takes effect at once.
//     (planReplicas, changeReplicas; testdata/plan)
//  3. A change leaves no range with two replicas on a node, and never removes the replica that
//     leads. (planReplicas; testdata/plan)
//  4. The range of the meta records holds nothing else and never splits. (splitRange,
//     SplitFirstRange; TestCluster of server)
//  5. No range is merged over a split that was asked for: a merge reads the record, and who
//     writes one renews the range that begins there already. (mergeRange, splitRange,
//     spanconfig.Watcher.MustSplit; TestUnsplit of server)
//  6. A merge that was given up is ended by whoever leads the left range: by one goroutine of
//     the node, soon after it takes over and again in each measurement. (ResolveMerge, Run)
//  7. No range id is used twice. (newRangeID takes blocks from a counter of the cluster)
//  8. Who asks for a range that has changed meanwhile gets a kvpb.RangeMismatchError, and
//     EachRange follows it, maxDetours times. (TestRangeMergedAway of server)
//
// An Admin may be used by any number of goroutines. Its locks are held for memory operations,
// that of the range ids for the transaction that takes a block.
package rangeops
