package activity_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/sql/activity"
)

// TestInterruptEndsOneStatement cancels a statement by each means; the next one goes on.
func TestInterruptEndsOneStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c activity.Current
		woken := 0
		c.OnInterrupt(func(bool) { woken++ })
		for name, x := range map[string]struct {
			end  func()
			want error
		}{
			"request": {func() { c.Interrupt(activity.ErrUserCancel) }, activity.ErrUserCancel},
			"number":  {func() { c.Stop(c.Snapshot().Statement) }, activity.ErrUserCancel},
			"timeout": {func() { time.Sleep(time.Second); synctest.Wait() }, activity.ErrTimeout},
		} {
			before := woken
			ctx := c.Begin("SELECT 1", activity.Settings{Timeout: time.Second})
			if ctx.Err() != nil || c.Canceled() != nil {
				t.Fatalf("%s: the statement has ended before it began", name)
			}
			if x.end(); !errors.Is(ctx.Err(), x.want) || !errors.Is(c.Canceled(), x.want) || woken != before+1 {
				t.Errorf("%s: %v, %v, woken %d times", name, ctx.Err(), c.Canceled(), woken-before)
			}
			c.End('I')
			if c.Canceled() != nil || c.Stop(c.Snapshot().Statement) {
				t.Errorf("%s: a statement that is over is cancelled", name)
			}
		}
		// A request that comes between statements is forgotten, as a timer is that was stopped.
		c.Interrupt(activity.ErrUserCancel)
		ctx := c.Begin("SELECT 2", activity.Settings{})
		if time.Sleep(time.Hour); ctx.Err() != nil {
			t.Errorf("the next statement ends with %v", ctx.Err())
		}
	})
}

// TestSharedTimeout counts the timeout from the first of several statements on.
func TestSharedTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c activity.Current
		began := time.Now()
		time.Sleep(time.Second)
		ctx := c.Begin("SELECT 1", activity.Settings{Timeout: 3 * time.Second, Began: began})
		time.Sleep(2*time.Second + time.Millisecond)
		if synctest.Wait(); !errors.Is(ctx.Err(), activity.ErrTimeout) {
			t.Errorf("the statement goes on: %v", ctx.Err())
		}
	})
}

// TestTerminate ends a session while a statement runs, and begins another.
func TestTerminate(t *testing.T) {
	var c activity.Current
	ends := false
	c.OnInterrupt(func(e bool) { ends = e })
	running := c.Begin("SELECT 1", activity.Settings{})
	c.Interrupt(activity.ErrTerminated)
	c.End('E')
	later := c.Begin("SELECT 2", activity.Settings{})
	if !ends || !c.Terminated() || !errors.Is(running.Err(), activity.ErrTerminated) || !errors.Is(later.Err(), activity.ErrTerminated) {
		t.Errorf("ends %v, terminated %v: %v, then %v", ends, c.Terminated(), running.Err(), later.Err())
	}
}

func TestSnapshot(t *testing.T) {
	var c activity.Current
	c.Connect("db", "psql")
	long := strings.Repeat("é", 100<<10)
	for _, x := range []struct {
		status byte
		want   string
	}{{'I', "idle"}, {'T', "idle in transaction"}, {'E', "idle in transaction (aborted)"}} {
		c.Begin(long, activity.Settings{Application: "app"})
		if s := c.Snapshot(); s.State() != "active" || s.Application != "app" || s.Database != "db" {
			t.Errorf("running: %s %s %s", s.State(), s.Application, s.Database)
		}
		c.End(x.status)
		s := c.Snapshot()
		if s.State() != x.want || len(s.Query) != 1022 || len(c.Query()) != 1022 {
			t.Errorf("%c: %s, %d and %d bytes of text", x.status, s.State(), len(s.Query), len(c.Query()))
		}
	}
}
