package coord

import (
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv/coord/writebuffer"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestNestedStatements: statements within another one see what came before each, the outer one what it saw
// before, and the newest write of a key is the one that happened last.
func TestNestedStatements(t *testing.T) {
	clock := hlc.NewSystem(0)
	for _, level := range []kvpb.Isolation{kvpb.ReadCommitted, kvpb.RepeatableRead, kvpb.Serializable} {
		txn := New(&Env{Clock: clock})
		txn.opts.Isolation, txn.state = level, active
		txn.newSnapshot(clock.Now())
		txn.BeginStatement()
		read := txn.ReadTimestamp()
		write := func(v string) { txn.buf.Put([]byte("k"), []byte(v), false, txn.newest) }
		sees := func() string {
			v, _, _, _ := txn.buf.Get([]byte("k"), txn.seq)
			return string(v)
		}
		want := func(v string) {
			t.Helper()
			if got := sees(); got != v {
				t.Errorf("%v: reads %q, want %q", level, got, v)
			}
		}
		write("outer 1")
		txn.getResp.Value = []byte("kept")
		o := txn.Nest()
		txn.BeginStatement()
		want("outer 1")
		write("inner 1")
		want("outer 1")
		txn.getResp.Value = append(txn.getResp.Value, "other"...)
		txn.BeginStatement()
		want("inner 1")
		txn.Unnest(o)
		want("")
		if got := string(txn.getResp.Value); got != "kept" {
			t.Errorf("%v: a value that was read became %q", level, got)
		}
		if txn.ReadTimestamp() != read {
			t.Errorf("%v: the snapshot has moved", level)
		}
		write("outer 2")
		o = txn.Nest()
		txn.BeginStatement()
		want("outer 2")
		txn.Unnest(o)
		want("")
		if c := txn.buf.Seek(nil, txn.newest+1); !c.Valid() || value(c) != "outer 2" {
			t.Errorf("%v: the last write is not what is committed", level)
		}
	}
}

// value is the value that a cursor is at.
func value(c writebuffer.Cursor) string {
	v, _ := c.Value()
	return string(v)
}
