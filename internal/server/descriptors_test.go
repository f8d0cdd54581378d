package server

import (
	"net"
	"testing"
)

// TestShareDescriptors: whatever the process may open, clients leave the stores a quarter for tables and an
// eighth for logs and other nodes.
func TestShareDescriptors(t *testing.T) {
	for _, all := range []int{200, 1024, 4096, 20_000, 1 << 20} {
		d := shareDescriptors(all)
		if left := all - d.newcomers - d.http - d.refused - d.sql; left < all/4+all/8 {
			t.Errorf("of %d descriptors %d are left: %+v", all, left, d)
		}
		if d.sql < all/3 {
			t.Errorf("of %d descriptors SQL clients get %d", all, d.sql)
		}
	}
}

// TestLimitedListener: a connection beyond the limit is served when another ends.
func TestLimitedListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := &limitedListener{inner, make(chan struct{}, 1)}
	accepted := make(chan net.Conn)
	go func() {
		for range 2 {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			accepted <- c
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Error("two at a time")
	default:
	}
	_, _ = first.Close(), first.Close() // the second gives no place
	second := <-accepted
	if _ = second.Close(); len(l.room) != 0 {
		t.Errorf("%d places are taken", len(l.room))
	}
}
