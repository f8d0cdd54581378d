package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/quota"
)

// TestReferences writes messages that refer to long values, some as digits, among others that are taken back
// or interrupted: what arrives is what copies of the values would be.
func TestReferences(t *testing.T) {
	server, nc := net.Pipe()
	c := NewConn(server, &Buffers{}, nil)
	got := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(nc)
		got <- b
	}()
	var want []byte
	for i := range 60 {
		long := strings.Repeat(string(rune('a'+i%26)), quota.LargeValue+1000*i)
		c.Empty('n')
		want = append(want, message('n', "")...)
		mark := c.Mark()
		c.Begin('d')
		if !c.Refers(len(long)) {
			t.Fatal("a long value is to be copied")
		}
		c.String("before")
		c.Refer(long, false)
		c.Bytes([]byte("between"))
		c.Refer(long, true)
		if n := c.End(); n != 4+len("before\x00between")+3*len(long) {
			t.Fatalf("the message is %d bytes long", n)
		}
		switch i % 4 {
		case 0:
			c.Abandon()
		case 1:
			if !c.Rewind(mark) {
				t.Fatal("nothing was written since the mark")
			}
		default:
			want = append(want, message('d', "before\x00"+long+"between"+hex.EncodeToString([]byte(long)))...)
		}
		if i%7 == 0 {
			c.Interrupt()
		}
		if err := c.FlushIfLong(); err != nil && !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		if i%4 > 1 && c.Pending() > 0 {
			t.Fatal("a message that refers to values waits")
		}
		if i%5 == 0 {
			c.Resume()
		}
	}
	c.Resume()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := c.TakeStats().BytesOut; int(n) != len(want) {
		t.Errorf("%d bytes of output are counted, not %d", n, len(want))
	}
	_ = c.Close()
	if !bytes.Equal(<-got, want) {
		t.Error("what arrived is not what was written")
	}
}

// TestHeldOutputIsCopied: while output is held back, so that it can be taken back, no value is referred to.
func TestHeldOutputIsCopied(t *testing.T) {
	server, _ := net.Pipe()
	c := NewConn(server, &Buffers{}, nil)
	c.Hold(1 << 20)
	if c.Refers(quota.LargeValue) || !c.Refers(1<<20) {
		t.Error("what is held back does not decide")
	}
}
