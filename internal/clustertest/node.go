// Package clustertest opens clusters of one node for tests of what lies above kv.
//
// Above it are tests alone: those of the catalog, of SQL and of what looks after ranges. Below it
// are kv, dist and store. Tests of several nodes are elsewhere: those of store have a network
// between stores, those of server whole nodes, and sim all of that under faults.
package clustertest

import (
	"testing"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/store"
)

// Node is a cluster of one node: a store that has all ranges, and a gateway.
type Node struct {
	Store *store.Store
	Clock *hlc.Clock
	DB    *kv.DB
	t     testing.TB
}

// logSegment and memTable are small: tests write little.
const (
	logSegment = 4 << 20
	memTable   = 4 << 20
)

// Open opens the node whose store is on a disk; it is new if the disk is empty.
func Open(t testing.TB, disk fs.FS) *Node {
	t.Helper()
	return OpenBehind(t, disk, func(s kvpb.Sender) kvpb.Sender { return s })
}

// OpenBehind is Open with what wrap returns between the gateway and the ranges.
func OpenBehind(t testing.TB, disk fs.FS, wrap func(kvpb.Sender) kvpb.Sender) *Node {
	t.Helper()
	clock := hlc.NewSystem(0)
	s, err := store.Open(store.Options{
		Bootstrap: true, FS: disk, Dir: "store", Clock: clock, SegmentBytes: logSegment, MemTableBytes: memTable,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	db := kv.NewDB(wrap(dist.New(s, nil)), clock, uint64(clock.Now().WallTime))
	return &Node{Store: s, Clock: clock, DB: db, t: t}
}

// Close closes the store.
func (n *Node) Close() {
	n.t.Helper()
	if err := n.Store.Close(); err != nil {
		n.t.Error(err)
	}
}
