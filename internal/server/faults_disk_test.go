package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// The debug hook makes the files fail that it is told to, until it is told to stop.
func TestDiskFaultHook(t *testing.T) {
	w := fs.NewWatch(fs.NewMem())
	h := newDiskFault(w)
	post := func(method, query string) int {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(method, "/_debug/fault/disk?"+query, nil))
		return rec.Code
	}
	create := func(name string) error {
		f, err := w.Create(name, fs.WriteUnspecified)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	for _, q := range []string{"", "delay=x", "delay=-1s", "fail=other"} {
		if code := post(http.MethodPost, q); code != http.StatusBadRequest {
			t.Errorf("%q: status %d", q, code)
		}
	}
	if code := post(http.MethodGet, "off=1"); code != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", code)
	}
	if code := post(http.MethodPost, "fail=enospc&path=bad"); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	if err := create("bad1"); !fs.IsDiskFull(err) {
		t.Errorf("a file on a full disk: %v", err)
	}
	if err := create("good"); err != nil {
		t.Errorf("a file that the fault does not concern: %v", err)
	}
	// A delay without end ends with the fault.
	if code := post(http.MethodPost, "delay=1h"); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	made := make(chan error, 1)
	go func() { made <- create("late") }()
	for w.Oldest() == 0 {
		select {
		case err := <-made:
			t.Fatalf("created at once: %v", err)
		default:
		}
	}
	if code := post(http.MethodPost, "off"); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
}
