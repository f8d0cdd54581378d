package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestClockFault: requests shift the clock, and take the shift back.
func TestClockFault(t *testing.T) {
	c := newClockFault()
	off := func() time.Duration {
		return time.Duration(c.read() - time.Now().UnixNano()).Round(100 * time.Millisecond)
	}
	for _, x := range []struct {
		method, query string
		code          int
		off           time.Duration
	}{
		{"POST", "jump=2s", http.StatusOK, 2 * time.Second},
		{"POST", "jump=-5s", http.StatusOK, -3 * time.Second},
		{"POST", "drift=0", http.StatusOK, -3 * time.Second},
		{"GET", "off=1", http.StatusMethodNotAllowed, -3 * time.Second},
		{"POST", "jump=2", http.StatusBadRequest, -3 * time.Second},
		{"POST", "jump=100h", http.StatusBadRequest, -3 * time.Second},
		{"POST", "drift=1000000", http.StatusBadRequest, -3 * time.Second},
		{"POST", "", http.StatusBadRequest, -3 * time.Second},
		{"POST", "off", http.StatusOK, 0},
	} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(x.method, "/_debug/fault/clock?"+x.query, nil))
		if w.Code != x.code || off() != x.off {
			t.Errorf("%s %s: %d %s, off by %v", x.method, x.query, w.Code, w.Body, off())
		}
	}
	s := shiftedClock{since: time.Now().Add(-time.Second), ppm: -100_000}
	if got := time.Duration(s.shift()).Round(10 * time.Millisecond); got != -100*time.Millisecond {
		t.Errorf("a second at -10 %% shifts by %v", got)
	}
}
