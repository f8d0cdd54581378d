package coord

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
)

// A write is charged before it is buffered, and one without memory leaves nothing behind. A
// long value that was handed over is kept, not copied; a short one shares a block.
func TestWritesAreCharged(t *testing.T) {
	env := NewEnv(nil, hlc.NewSystem(0), 1)
	env.Mem = quota.NewPool("test", 4*chargeBytes)
	txn := New(env)
	txn.Reset(Options{})
	txn.BeginStatement()
	long, short := make([]byte, 2*chargeBytes), []byte("short")
	for i, val := range [][]byte{long, short} {
		if err := txn.PutOwned([]byte{byte(i)}, val); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct {
		val  []byte
		same bool
	}{{long, true}, {short, false}} {
		val, _, _, _ := txn.buf.Get([]byte{byte(i)}, txn.seq+1)
		if len(val) != len(want.val) || (&val[0] == &want.val[0]) != want.same {
			t.Errorf("%d bytes: kept %v, want %v", len(want.val), !want.same, want.same)
		}
	}
	if used := env.Mem.Used(); used < 2*chargeBytes-freeBytes {
		t.Errorf("%d bytes charged", used)
	}
	before := env.Mem.Used()
	if err := txn.ReserveMemory(chargeBytes); err != nil {
		t.Fatal(err)
	}
	if more := env.Mem.Used() - before; more <= 0 || more > chargeBytes {
		t.Errorf("room for %d bytes reserves %d", chargeBytes, more)
	}
	reserved := env.Mem.Used()
	if err := txn.PutOwned([]byte("roomy"), make([]byte, chargeBytes/2)); err != nil || env.Mem.Used() != reserved {
		t.Errorf("a write that has room takes %d bytes more: %v", env.Mem.Used()-reserved, err)
	}
	held := txn.buf.Bytes()
	for _, put := range []func(key, value []byte) error{txn.Put, txn.PutOwned} {
		var exceeded *quota.ExceededError
		if err := put([]byte("more"), make([]byte, 4*chargeBytes)); !errors.As(err, &exceeded) {
			t.Errorf("a write beyond the limit: %v", err)
		}
	}
	if txn.buf.Bytes() != held {
		t.Error("a refused write is buffered")
	}
	txn.finish()
	if used := env.Mem.Used(); used != 0 {
		t.Errorf("%d bytes are charged after the end", used)
	}
}
