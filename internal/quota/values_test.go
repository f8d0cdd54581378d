package quota

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestPooledValue has a value in a sync.Pool, which keeps it over one collection: it gives way to the next.
func TestPooledValue(t *testing.T) {
	p := NewPool("p", LargeValue)
	v := NewValues(p)
	var idle sync.Pool
	b, err := v.Room(nil, LargeValue)
	if err != nil {
		t.Fatal(err)
	}
	idle.Put(&struct{ kept []byte }{b})
	if _, err := v.Room(nil, LargeValue); err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(&idle)
}

// TestValues makes values of far more bytes than the pool has, one after the other: that
// works as long as few are used at a time.
func TestValues(t *testing.T) {
	p := NewPool("p", 10*LargeValue)
	v := NewValues(p)
	var kept []string
	made := func() error {
		if err := v.Reserve(LargeValue); err != nil {
			return err
		}
		s := strings.Repeat("x", LargeValue)
		v.Bind(s, LargeValue)
		kept = append(kept, s)
		return nil
	}
	for range 100 {
		if err := made(); err != nil {
			t.Fatal(err)
		}
		kept = kept[max(0, len(kept)-4):]
		kept = append([]string(nil), kept...)
	}
	var ex *ExceededError
	for range 10 {
		if err := made(); err != nil {
			if !errors.As(err, &ex) || len(kept) != 10 {
				t.Fatalf("%v with %d values", err, len(kept))
			}
			runtime.KeepAlive(kept)
			return
		}
	}
	t.Fatalf("%d values were made", len(kept))
}
