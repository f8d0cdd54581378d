// Package sim holds the blocks of a simulated cluster: a network, disks, clocks
// and faults that are drawn from a seed, for runs in virtual time (testing/synctest).
//
// Above it: whole-cluster tests, which put nodes between the blocks. Below it: rpc,
// whose Transport the network implements, fs, hlc and kvpb. Production code
// does not import it.
//
// Reading order: [Network], [Endpoint] (one incarnation of a node) and [Quality]
// (network.go, endpoint.go, link.go; dispatch.go is how packets move); [Stream], a connection; [Disk];
// [Clock]; [Fault], [Plan] and [NewPlan] (faults.go); [Run] and [Environment],
// which makes faults happen to the other blocks (run.go); [Trace], what is
// printed when a run fails.
//
// The tests put nodes between the blocks, one store each. Most runs build those of kvnode and sqlnode, whose
// messages the network loses and reorders one by one (cluster_test.go); SQL runs where a workload asks for it.
// The others run package node as it ships, over connections (stream.go, member_test.go): an operator drains,
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
//  1. Under synctest the fate of a packet depends on the seed, its link, when it
//     was sent and what it says; and packets arrive at distinct instants, so
//     everything has come to rest in between (link.dice, Network.dispatch;
//     TestSameSeedSameTrace).
//  2. Messages of one method arrive in the order of Send over each link, with gaps
//     and repetitions at most (link.inOrder; TestMessagesStayInOrder).
//  3. A call that ends with rpc.ErrNotSent never reached a handler (Endpoint.begin;
//     TestCallErrors). A call ends once, whatever happens (Network.finishLocked).
//  4. After Crash returned, no handler of that incarnation begins, and no answer of one
//     arrives that was not under way (Network.read, answer; TestCrash).
//  5. Payloads are copied: sender and receiver share no memory (clone;
//     TestPayloadsAreCopied).
//  6. Every plan leaves a quorum for as much of the time as it was told to
//     (planner.troubled; TestPlansLeaveAQuorum), and ends healed: each fault ends
//     within the plan's length, and Run ends what it began even if it is stopped
//     (NewPlan, Run; TestPlansHeal).
//  7. After Kill or PowerOff nothing that the former incarnation does reaches the Disk, nor
//     does anything succeed there that could be acknowledged (fs.PowerLoss, Disk.FS;
//     TestDisk).
//  8. The bytes of a connection arrive in the order in which they were written, or it ends with
//     an error (Stream.arriveLocked; TestStreamKeepsOrder, TestStreamEnds).
//
// Concurrency: everything may be used from any goroutine. The network has one
// mutex, held for no longer than it takes to touch its own state; handlers and
// hooks run without it. Its dispatcher goroutine exists while packets are under way;
// each call's handler has a goroutine, and so has each link on which messages
// wait for their handler. Close ends them.
//
// What stops virtual time, so that a test hangs until its limit: a mutex that is held
// over a wait, for a disk or a peer (use a channel of one place), and a loop that retries
// without a pause. A package-level pool of things with channels carries them from one
// test's time into another's: a pool belongs to its owner.
//
// It does not choose the order in which goroutines run that are woken at one
// instant, nor which ready case a select takes: what depends on that may differ
// between runs of one seed. So may a run in which payloads differ, such as by
// timestamps that two goroutines took at one instant. It models no bandwidth and
// no corruption of packets; a node that is killed runs on until its Stop has
// ended it, but reaches neither network nor disk.
package sim
