package kvnode_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// openNode opens a node that is a cluster by itself and looks after its ranges.
func openNode(t *testing.T, disk fs.FS) *clustertest.Node {
	t.Helper()
	n := clustertest.Open(t, disk)
	n.StartRanges()
	return n
}

// TestIncarnations restarts a node: what it has written is there, its incarnations have different numbers,
// and the transactions of the former incarnation are over.
func TestIncarnations(t *testing.T) {
	ctx := context.Background()
	disk := fs.NewMem()
	key := append(keys.TablePrefix(1, 1), 'k')
	first := openNode(t, disk)
	open := first.DB.Begin(kv.TxnOptions{})
	open.BeginStatement()
	if _, err := open.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		t.Fatal(err)
	}
	if err := open.Put(key, []byte("v")); err != nil {
		t.Fatal(err)
	}
	id := open.ID()
	if first.KV.TxnFinalized(id) {
		t.Error("a transaction that is open is said to be over")
	}
	if err := open.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	first.Close()

	second := openNode(t, disk)
	defer second.Close()
	if second.KV.Incarnation <= first.KV.Incarnation {
		t.Errorf("incarnation %d comes after %d", second.KV.Incarnation, first.KV.Incarnation)
	}
	if !second.KV.TxnFinalized(id) {
		t.Error("a transaction of the former incarnation is not over")
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
	n := openNode(t, fs.NewMem())
	defer n.Close()
	usual := n.Settings.Get().DeadAfter
	for _, c := range []struct {
		change func(context.Context, *kv.Txn) error
		want   time.Duration
	}{
		{func(_ context.Context, txn *kv.Txn) error {
			return errors.Join(kv.PutSetting(txn, "server.time_until_store_dead", "77s"), kv.PutSetting(txn, "no.such.setting", "1"))
		}, 77 * time.Second},
		{func(_ context.Context, txn *kv.Txn) error {
			return kv.DeleteSetting(txn, "server.time_until_store_dead")
		}, usual},
	} {
		ctx := context.Background()
		if err := n.DB.Run(ctx, c.change); err != nil {
			t.Fatal(err)
		}
		if _, err := n.KV.Config.Read(ctx); err != nil {
			t.Fatal(err)
		}
		if got := n.Settings.Get().DeadAfter; got != c.want {
			t.Errorf("the setting is %v, not %v", got, c.want)
		}
	}
}
