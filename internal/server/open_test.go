package server

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/config"
)

// openPaths returns the HTTP paths that docs/security.md says are open to everybody.
func openPaths(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## What is open to everybody\n")
	if !found {
		t.Fatal("docs/security.md does not say what is open to everybody")
	}
	open := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`(/[^`]*)`").FindAllStringSubmatch(cells[1], -1) {
			open[strings.TrimSuffix(m[1], "…")] = true
		}
	}
	return open
}

// routes notes the patterns that the node registers.
type routes map[string]http.HandlerFunc

func (r routes) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	r[pattern] = h
}

// TestOpenPathsAreListed: what a node with certificates answers without a login over HTTP is what docs/security.md lists, no more and
// no less.
func TestOpenPathsAreListed(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(cfg *config.Node) { cfg.FaultHooks = true })
		n.logDir = t.TempDir()
		defer secured(n)()
		open := openPaths(t)
		found := map[string]bool{}
		all := routes{}
		n.register(all)
		if len(all) < 10 {
			t.Errorf("only %d patterns: %v", len(all), slices.Collect(maps.Keys(all)))
		}
		h := n.httpHandler()
		for pattern := range all {
			method, path, ok := strings.Cut(pattern, " ")
			if !ok {
				method, path = http.MethodGet, pattern
			}
			path = strings.TrimSuffix(path, "{$}")
			if path == "/api/v2/" {
				continue // each of its endpoints, below
			}
			w := answer(h, method, path, nil)
			denied := w.Code == http.StatusForbidden || w.Code == http.StatusUnauthorized
			if denied == open[path] {
				t.Errorf("%s without a login: %d; docs/security.md lists it: %v", pattern, w.Code, open[path])
			}
			if denied && w.Body.Len() > 200 || strings.Contains(w.Body.String(), n.ClusterID()) {
				t.Errorf("%s without a login tells %s", pattern, w.Body)
			}
			found[path] = true
		}
		a := &api{t: t, n: n}
		a.eachEndpoint(func(method, path string, _ map[string]any) {
			found["/api/v2/"+path] = true
			code, _, _ := a.call(method, path, "{}")
			if path == "login" && method == http.MethodPost {
				return // which says whether a password is right
			}
			if denied := code == http.StatusUnauthorized; denied == open["/api/v2/"+path] {
				t.Errorf("%s /api/v2/%s without a login: %d; docs/security.md lists it: %v", method, path, code, open["/api/v2/"+path])
			}
		})
		for path := range open {
			if !found[path] && path != "/assets/" { // which is where the pages are built
				t.Errorf("docs/security.md lists %s, which there is not", path)
			}
		}
	})
}
