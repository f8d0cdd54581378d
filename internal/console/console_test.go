package console

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// TestLimits: logins and queries are limited, and logins end (5).
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x logins
		first := x.add(&login{user: "first", began: time.Now(), used: time.Now()})
		for range maxLogins {
			time.Sleep(time.Microsecond)
			if x.find(first, time.Now()) == nil {
				t.Fatal("the login in use gave way")
			}
			x.add(&login{user: "other", began: time.Now(), used: time.Now()})
		}
		if len(x.by) != maxLogins {
			t.Errorf("%d logins", len(x.by))
		}
		for range 23 {
			time.Sleep(time.Hour)
			if x.find(first, time.Now()) == nil {
				t.Fatal("the login in use has ended")
			}
		}
		if time.Sleep(2 * time.Hour); x.find(first, time.Now()) != nil {
			t.Error("a login lasts for ever")
		}
		x.add(&login{began: time.Now(), used: time.Now()})
		if len(x.by) != 1 {
			t.Errorf("%d logins that have ended are kept", len(x.by)-1)
		}
		c := &Console{queries: make(chan struct{}, 1)}
		release, err := c.place(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var full *Error
		if _, err := c.place(context.Background()); !errors.As(err, &full) || full.Status != http.StatusServiceUnavailable {
			t.Errorf("a query too many: %v", err)
		}
		release()
		if _, err := c.place(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestPages: pages come compressed, with a policy that lets no other scripts run, and from the browser's cache.
func TestPages(t *testing.T) {
	if readPages(fstest.MapFS{}) != nil {
		t.Error("there are pages where none were built")
	}
	long := strings.Repeat("abc ", 1000)
	p := readPages(fstest.MapFS{"index.html": {Data: []byte("<html>")}, "assets/x.js": {Data: []byte(long)}})
	get := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		p.serve(w, r)
		return w
	}
	index := get("/")
	policy := index.Header().Get("Content-Security-Policy")
	if index.Body.String() != "<html>" || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") || index.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the first page: %s, %v", index.Body, index.Header())
	}
	js := get("/assets/x.js", "Accept-Encoding", "br, gzip")
	if js.Header().Get("Content-Encoding") != "gzip" || js.Body.Len() > len(long)/10 || !strings.Contains(js.Header().Get("Cache-Control"), "immutable") || !strings.Contains(js.Header().Get("Content-Type"), "javascript") {
		t.Errorf("a script: %d bytes, %v", js.Body.Len(), js.Header())
	}
	if w := get("/assets/x.js"); w.Body.String() != long {
		t.Error("a script in clear is not what it was")
	}
	if w := get("/", "If-None-Match", index.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("a page that the browser has: %d", w.Code)
	}
	if w := get("/absent"); w.Code != http.StatusNotFound {
		t.Errorf("an absent page: %d", w.Code)
	}
}

// TestDescription: every endpoint is described, with its parameters (4).
func TestDescription(t *testing.T) {
	endpoints := allEndpoints()
	paths := describe(endpoints)["paths"].(map[string]object)
	for i := range endpoints {
		e := &endpoints[i]
		d, ok := paths[apiPrefix+e.path][strings.ToLower(e.method)].(object)
		if !ok {
			t.Errorf("%s %s is not described", e.method, e.path)
			continue
		}
		params, _ := d["parameters"].([]object)
		if n := strings.Count(e.path, "{"); len(params) < n {
			t.Errorf("%s %s: %d parameters of %d in the path are described", e.method, e.path, len(params), n)
		}
	}
}
