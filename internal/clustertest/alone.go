package clustertest

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvnode"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/store"
)

// logSegment and memTable are small: tests write little.
const (
	logSegment = 4 << 20
	memTable   = 4 << 20
)

// Open opens a cluster of one node whose store is on a disk; it is new if the disk is empty. The
// gateway is open.
func Open(t testing.TB, disk fs.FS) *Node {
	t.Helper()
	return OpenBehind(t, disk, nil, func(s kvpb.Sender) kvpb.Sender { return s })
}

// OpenBehind is Open with what wrap returns between the gateway and the ranges. Large values that
// reads return count against mem.
func OpenBehind(t testing.TB, disk fs.FS, mem *quota.Pool, wrap func(kvpb.Sender) kvpb.Sender) *Node {
	t.Helper()
	nd := OpenWith(t, store.Options{FS: disk, SegmentBytes: logSegment, MemTableBytes: memTable, Values: quota.NewValues(mem)})
	if s := wrap(nd.KV.Router); s != kvpb.Sender(nd.KV.Router) {
		nd.DB = kv.NewDB(s, nd.Clock, nd.KV.GatewayIncarnation())
	}
	return nd
}

// OpenWith is Open with options of the store: its disk and sizes.
func OpenWith(t testing.TB, o store.Options) *Node {
	t.Helper()
	nd := newNode(1)
	nd.t = t
	nd.Clock = hlc.NewSystem(0)
	nd.Port = newNetwork(t).port(nd.ID, nd.Clock)
	o.Bootstrap, o.Clock, o.Logger = true, nd.Clock, logger()
	var err error
	nd.KV, err = kvnode.New(kvnode.Options{
		Store: o, Dirs: []string{Dir}, Transport: nd.Port, Alone: true,
		Self:    func() liveness.NodeInfo { return liveness.NodeInfo{ID: nd.ID} },
		ClockOK: yes, Ready: yes, Check: fine, Capacity: capacity, OnFatal: func(err error) { t.Error(err) },
		Settings: nd.Settings, Go: nd.running.Go, Logger: o.Logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	nd.Store = nd.KV.Store.First()
	if err := nd.KV.Store.Start(); err != nil {
		t.Fatal(err)
	}
	nd.KV.OpenGateway(nd.ended)
	nd.DB = nd.KV.DB
	return nd
}

// Close ends the node.
func (nd *Node) Close() {
	nd.t.Helper()
	if err := nd.stop(); err != nil {
		nd.t.Error(err)
	}
}
