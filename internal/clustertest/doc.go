// Package clustertest opens clusters for tests: nodes that kvnode builds, over disks in memory and
// the network of nettest. Under testing/synctest they run in virtual time.
//
// Above it are tests alone, those of the packages below kvnode among them, in packages of their
// own (store_test). Below it is kvnode.
//
//	Open ─▶ a cluster of one node with its gateway
//	New  ─▶ a cluster of several nodes, the first of which has the only range:
//	        Replicate, Split, Transfer change that, Put and Get use it,
//	        Crash, Close and Start stop and start nodes
//
// A node serves requests and supports others; nothing looks after its ranges unless the test
// starts that (Node.KV.StartRanges). Whole nodes are tested in server, and in sim under faults
// that are drawn at random.
//
// Read cluster.go (Cluster, Node), network.go (Network), ranges.go (what a cluster does with its
// ranges), alone.go.
package clustertest
