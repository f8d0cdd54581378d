package workload

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestRetries: what the server asks to repeat is repeated and counted, and nothing
// else is.
func TestRetries(t *testing.T) {
	for _, tc := range []struct {
		code    string
		fail    int
		retries int64
		ok      bool
	}{
		{"40001", 3, 3, true}, {"40P01", 1, 1, true}, {"23505", 1, 0, false}, {"40001", MaxRetries + 1, MaxRetries, false},
	} {
		c, calls := &Conn{}, 0
		n, err := c.do(func() (int64, error) {
			if calls++; calls <= tc.fail {
				return 0, fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: tc.code})
			}
			return 7, nil
		})
		if (err == nil) != tc.ok || tc.ok && n != 7 {
			t.Errorf("%s %d times: %d, %v", tc.code, tc.fail, n, err)
		}
		if got := c.TakeRetries(); got != tc.retries || c.TakeRetries() != 0 {
			t.Errorf("%s %d times: %d retries, want %d", tc.code, tc.fail, got, tc.retries)
		}
	}
	if Retryable(errors.New("40001")) {
		t.Error("an error without a code is repeated")
	}
}

func TestTarget(t *testing.T) {
	c, err := Target{URL: "jdbc:postgresql://h:5/d?sslmode=disable", User: "u", Password: "p"}.Config()
	if err != nil || c.Host != "h" || c.Port != 5 || c.Database != "d" || c.User != "u" || c.Password != "p" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := (Target{URL: "postgresql://h:port/"}).Config(); err == nil {
		t.Error("a port that is no number")
	}
}

// TestPacer: threads keep the rate together, also after a slow operation, and stop
// waiting when the time is over.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := NewPacer(100, 4, 1, start) // one each 40 ms, the first after 10 ms
		for i := range 3 {
			p.Wait(t.Context())
			if got, want := time.Since(start), time.Duration(10+40*i)*time.Millisecond; got != want {
				t.Errorf("operation %d after %s, want %s", i, got, want)
			}
		}
		time.Sleep(100 * time.Millisecond) // 90 → 190 ms: two are overdue
		p.Wait(t.Context())
		p.Wait(t.Context())
		if got := time.Since(start); got != 190*time.Millisecond {
			t.Errorf("overdue operations waited until %s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.Wait(ctx)
		if got := time.Since(start); got != 190*time.Millisecond {
			t.Errorf("waited until %s after the end", got)
		}
		NewPacer(0, 1, 0, start).Wait(t.Context())
	})
}
