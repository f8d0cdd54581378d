package kvnode

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// aloneNode is a node that is a cluster by itself.
type aloneNode struct {
	*Node
	end     context.CancelFunc
	running sync.WaitGroup
}

// nobody is the transport of a node that has no others.
type nobody struct{}

func (nobody) Handle(rpc.Method, rpc.Handler)               {}
func (nobody) HandleMessage(rpc.Method, rpc.MessageHandler) {}
func (nobody) Send(kvpb.NodeID, rpc.Method, []byte) bool    { return false }
func (nobody) Call(context.Context, kvpb.NodeID, rpc.Method, []byte) ([]byte, error) {
	return nil, rpc.ErrNotSent
}

// openAlone opens a node on a disk.
func openAlone(t *testing.T, disk fs.FS) *aloneNode {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	a := &aloneNode{end: end}
	var err error
	a.Node, err = New(Options{
		Store: store.Options{
			FS: disk, Clock: hlc.NewSystem(0), Bootstrap: true, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SegmentBytes: 64 << 10, NoTableStats: true,
			Logger: slog.New(slog.DiscardHandler),
		},
		Dirs: []string{"n"}, Transport: nobody{}, Alone: true, Self: func() liveness.NodeInfo { return liveness.NodeInfo{ID: 1} },
		ClockOK: func() bool { return true }, Ready: func() bool { return true }, Check: func() error { return nil },
		Capacity: func(*store.Store) (total, used, own int64) { return 1 << 40, 0, 0 },
		OnFatal:  func(err error) { t.Error(err) }, Settings: setting.NewLive(setting.Default()), Go: a.running.Go,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Store.Start(); err != nil {
		t.Fatal(err)
	}
	a.OpenGateway(ctx)
	a.StartRanges(ctx)
	return a
}

func (a *aloneNode) close(t *testing.T) {
	t.Helper()
	a.end()
	a.running.Wait()
	a.Disconnect()
	if err := a.Store.Close(); err != nil {
		t.Error(err)
	}
}

// TestLivesOfNode restarts a node: what it has written is there, its lives have different numbers,
// and the transactions of the former life are over.
func TestLivesOfNode(t *testing.T) {
	ctx := context.Background()
	disk := fs.NewMem()
	key := append(keys.TablePrefix(1, 1), 'k')
	first := openAlone(t, disk)
	open := first.DB.Begin(kv.TxnOptions{})
	open.BeginStatement()
	if _, err := open.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	if err := open.Put(key, []byte("v")); err != nil {
		t.Fatal(err)
	}
	id := open.ID()
	if first.TxnOver(id) {
		t.Error("a transaction that is open is said to be over")
	}
	if err := open.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	first.close(t)

	second := openAlone(t, disk)
	defer second.close(t)
	if second.Life <= first.Life {
		t.Errorf("the life %d comes after the life %d", second.Life, first.Life)
	}
	if !second.TxnOver(id) {
		t.Error("a transaction of the former life is not over")
	}
	var got []byte
	err := second.DB.Run(ctx, func(ctx context.Context, txn *kv.Txn) (err error) {
		got, _, err = txn.Get(ctx, key)
		return err
	})
	if string(got) != "v" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestApplySettings has stored cluster settings hold, and those that are no more end.
func TestApplySettings(t *testing.T) {
	n := openAlone(t, fs.NewMem())
	defer n.close(t)
	usual := n.o.Settings.Get().DeadAfter
	n.applySettings(map[string]string{"server.time_until_store_dead": "77s", "no.such.setting": "1"})
	if got := n.o.Settings.Get().DeadAfter; got != 77*time.Second {
		t.Errorf("the setting is %v", got)
	}
	n.applySettings(nil)
	if got := n.o.Settings.Get().DeadAfter; got != usual {
		t.Errorf("the setting is %v again, not %v", got, usual)
	}
}

// TestNewLives: a gateway that no heartbeat has told of gets as long as any other, and no longer.
func TestNewLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l newLives
		g := gatewayLife{node: 2, start: 5}
		if !l.alive(g) {
			t.Error("a gateway that has just started is taken for dead")
		}
		time.Sleep(liveness.DeadGatewayAfter - 1)
		if !l.alive(g) {
			t.Error("a gateway is taken for dead too early")
		}
		time.Sleep(time.Nanosecond)
		if l.alive(g) {
			t.Error("a gateway that was never heard of is taken for alive")
		}
		l.known(gatewayLife{node: 2, start: 6})
		if len(l.seen) != 0 {
			t.Errorf("%d lives are kept that are over", len(l.seen))
		}
	})
}

// TestNewLivesAreBounded: lives above the limit are not served; a known one makes room.
func TestNewLivesAreBounded(t *testing.T) {
	var l newLives
	for i := range maxNewLives {
		if !l.alive(gatewayLife{node: kvpb.NodeID(i + 1), start: 1}) {
			t.Fatalf("life %d of %d is refused", i+1, maxNewLives)
		}
	}
	next := gatewayLife{node: maxNewLives + 1, start: 1}
	if l.alive(next) {
		t.Error("a life above the limit is served")
	}
	l.known(gatewayLife{node: 1, start: 1})
	if !l.alive(next) {
		t.Error("there is room, and a life is refused")
	}
}
