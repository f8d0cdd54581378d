package exec

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cramped has memory for short writes only.
type cramped struct {
	*fakeTxn
	asked int
	puts  int
}

var errCramped = errors.New("no room")

func (c *cramped) ReserveMemory(bytes int) error {
	c.asked = bytes
	return errCramped
}

func (c *cramped) Put(key, value []byte) error {
	c.puts++
	return c.fakeTxn.Put(key, value)
}

// owning is a transaction that keeps the buffers it is given.
type owning struct {
	*fakeTxn
	values [][]byte
}

func (o *owning) PutOwned(key, value []byte) error {
	o.values = append(o.values, value)
	return o.fakeTxn.PutOwned(key, value)
}

// A long row is not encoded before there is memory for it, and the transaction gets the buffer
// that it was encoded in. A short row asks for nothing and leaves the buffer.
func TestLongRowsNeedRoom(t *testing.T) {
	w := newWorld(t)
	table := w.table("t", "a int4; b int4; c text; primary (a); index (b)")
	txn := w.store.begin(kvpb.ReadCommitted)
	for _, c := range []struct {
		size, asked int
	}{{10, 0}, {quota.LargeValue, quota.LargeValue}} {
		tw, err := tableaccess.NewWriter(table)
		if err != nil {
			t.Fatal(err)
		}
		row := types.Row{types.NewInt(int64(100 + c.size)), types.NewInt(int64(c.size)), types.NewString(strings.Repeat("x", c.size))}
		small := &cramped{fakeTxn: txn}
		err = tw.Insert(context.Background(), small, row)
		if refused := errors.Is(err, errCramped); refused != (c.asked > 0) || !refused && err != nil || small.asked != c.asked {
			t.Errorf("a row of %d bytes asks for %d: %v", c.size, small.asked, err)
		}
		if c.asked == 0 {
			continue
		}
		if small.puts > 0 {
			t.Error("a refused row was written")
		}
		owner := &owning{fakeTxn: txn}
		for i, fill := range []string{"x", "y"} {
			row[0], row[1], row[2] = types.NewInt(int64(i)), types.NewInt(int64(i)), types.NewString(strings.Repeat(fill, c.size))
			if err := tw.Insert(context.Background(), owner, row); err != nil {
				t.Fatal(err)
			}
		}
		if len(owner.values) != 2 || !bytes.HasSuffix(owner.values[0], []byte("x")) {
			t.Error("the writer keeps the buffer of a long row")
		}
	}
}
