// Package sim simulates clusters in virtual time (testing/synctest): disks, clocks and faults that are drawn
// from a seed, and the tests that run whole nodes among them, over the network of nettest.
//
// Above it: nothing. Below it: everything else. Production code does not import it.
//
// Reading order: [Disk]; [Clock]; [Fault], [Plan] and [NewPlan] (faults.go); [Run] and [Environment], which
// makes faults happen to the network, the disks and the clocks (run.go).
//
// The tests run nodes with one store each. Most runs build those of kvnode and sqlnode, whose
// messages the network loses and reorders one by one (cluster_test.go); SQL runs where a workload asks for it.
// The others run package node as it ships, over connections (member_test.go): an operator drains,
// decommissions and replaces its nodes (operator_test.go, membership_test.go). Workloads run on them
// (simulate_test.go: bank, ring, registers, lists) while faults happen and ranges are split,
// merged and moved by rangeops (ranges_test.go), and rebalance places replicas beside that. After
// each run the faults end, and the cluster must become whole by itself; every client
// must get something done, all replicas must hold the same, nothing provisional may be
// left, and the meta records must tell the truth (healed_test.go). Further runs collect
// old versions under readers that are behind (aging_test.go), run SQL at all isolation levels
// while tables and indexes change (statements_test.go), change a descriptor under its
// writers on all gateways (schema_test.go), read the past at all replicas (past_test.go,
// far_test.go), follow a feed (feed_test.go), hold locks while ranges change (held_test.go),
// stall and fill disks (TestBadDisks), and slow one down until its store leads nothing any
// more (relieve_test.go). plants_test.go shows that planted bugs (package plant) are found
// (make plants).
// LICHEN_SIM_SEEDS=a-b runs many seeds, make soak all workloads for a time.
//
// Invariants:
//
//  1. Every plan leaves a quorum for as much of the time as it was told to
//     (planner.troubled; TestPlansLeaveAQuorum), and ends healed: each fault ends
//     within the plan's length, and Run ends what it began even if it is stopped
//     (NewPlan, Run; TestPlansHeal).
//  2. After Kill or PowerOff nothing that the former incarnation does reaches the Disk, nor
//     does anything succeed there that could be acknowledged (fs.PowerLoss, Disk.FS;
//     TestDisk).
//
// Concurrency: everything may be used from any goroutine.
//
// What stops virtual time, so that a test hangs until its limit: a mutex that is held
// over a wait, for a disk or a peer (use a channel of one place), and a loop that retries
// without a pause. A package-level pool of things with channels carries them from one
// test's time into another's: a pool belongs to its owner.
//
// What repeats from one run of a seed to the next: the plan of faults, the fate of every packet that is sent
// at the same instant with the same contents (nettest, invariant 1), what a power loss leaves of a disk, the
// clocks. What does not repeat: the order in which the Go scheduler runs goroutines that one instant wakes,
// which ready case a select takes, and so everything whose outcome depends on that order; and the times of the
// engine's flushes. The toy, whose operations follow one another, repeats entirely (TestSameSeedSameTrace).
//
// A node that is killed runs on until its Stop has ended it, but reaches neither network nor disk.
package sim
