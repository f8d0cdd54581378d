package raftgroup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Long writes share the room: one waits for another, but neither for ever nor longer than its request. Short ones need
// no room.
func TestLongWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ctx := NewLongWrites(DefaultLongWrites, nil), context.Background()
		enter := func(ctx context.Context, n int) (taken int64, waited time.Duration, err error) {
			began := time.Now()
			taken, err = l.Enter(ctx, int64(n))
			return taken, time.Since(began), err
		}
		all, waited, err := enter(ctx, 2*DefaultLongWrites)
		if all != DefaultLongWrites || waited != 0 || err != nil {
			t.Fatalf("the first takes %d after %v: %v", all, waited, err)
		}
		if taken, waited, err := enter(ctx, LongWrite/2); taken != 0 || waited != 0 || err != nil {
			t.Errorf("a short write takes %d after %v: %v", taken, waited, err)
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if taken, waited, err := enter(soon, LongWrite); taken != 0 || waited != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request of a second takes %d after %v: %v", taken, waited, err)
		}
		if taken, waited, err := enter(ctx, LongWrite); taken != 0 || waited != longWriteWait || err != nil {
			t.Errorf("a write without room takes %d after %v: %v", taken, waited, err)
		}
		time.AfterFunc(time.Second, func() { l.Leave(all) })
		for i := range 2 {
			if taken, waited, err := enter(ctx, DefaultLongWrites/4); taken < DefaultLongWrites/4 || waited != time.Duration(1-i)*time.Second || err != nil {
				t.Errorf("write %d beside another takes %d after %v: %v", i, taken, waited, err)
			}
		}
	})
}

// A long write waits until the engine has flushed those before it, at most as long as for room.
func TestLongWritesAwaitFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flush := make(chan struct{})
		l := NewLongWrites(4*LongWrite, func(ctx context.Context, bytes int64) error {
			select {
			case <-flush:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if taken, err := l.Enter(ctx, 2*LongWrite); taken != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request of a second takes %d: %v", taken, err)
		}
		began := time.Now()
		if taken, err := l.Enter(context.Background(), 2*LongWrite); taken != 2*LongWrite || err != nil || time.Since(began) != longWriteWait {
			t.Errorf("without a flush %d are taken after %v: %v", taken, time.Since(began), err)
		}
		began = time.Now()
		time.AfterFunc(time.Second, func() { close(flush) })
		if taken, err := l.Enter(context.Background(), 2*LongWrite); taken != 2*LongWrite || err != nil || time.Since(began) != time.Second {
			t.Errorf("with a flush %d are taken after %v: %v", taken, time.Since(began), err)
		}
	})
}
