// Package torture runs a cluster of real processes, hurts it, and shows that it kept
// its promises: no acknowledged write lost, no stale read, money neither made nor
// destroyed, and service within seconds.
//
// Above it is the command line, which knows how to start a node; below it are check
// (the judges), rpc (who calls, on a connection between nodes) and pgx (clients).
//
// Read cluster.go (Cluster: processes, signals, clocks), links.go (Links: the network
// between them, as proxies), balancer.go (the load balancer before them), client.go,
// load.go and lists.go (what clients do, and write down), scenario.go, scenario_drain.go,
// scenario_ranges.go, scenario_schema.go, faults.go, member.go, coordinator.go and identity.go (what is done
// to the cluster), run.go (Run), compare.go (the replicas afterwards), url.go (RunURL: the load
// on a database of others), report.go (the verdict).
//
// Invariants
//
//  1. Only processes that the Cluster started are signalled (Node.signal).
//  2. A write counts as acknowledged only if its statement, or its COMMIT, returned
//     without an error; it counts as not done only if the error says so
//     (outcome).
//  3. Every key is checked by all of its operations, those of unknown outcome
//     included (round.judge).
//  4. A scenario passes only if every replica of every range was compared with the
//     others afterwards (test.compare, judgeComparison), and only if something happened
//     and something was judged (Result.mustJudge).
//
// Concurrency: each client is one goroutine with its own connection; a Scenario runs
// on the goroutine of Run.
//
// It shows processes that die, stand still or are cut off from one another, and wrong
// clocks; not machines that lose power: what the operating system was given, it keeps.
package torture
