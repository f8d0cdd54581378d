package console

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/diag"
)

// Diagnostic is a bundle about a statement that EXPLAIN ANALYZE (DEBUG) has run.
type Diagnostic struct {
	ID       string `json:"id"`
	Node     int64  `json:"node"`
	User     string `json:"user"`
	Database string `json:"database"`
	Query    string `json:"query"`
	At       int64  `json:"at"` // milliseconds since 1970
}

// Diagnostics are those of the nodes that live, the last one first.
type Diagnostics struct {
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// mayHave reports whether a login may have a bundle.
func (l *login) mayHave(b *diag.Bundle) bool { return l.super || l.user == b.User }

func getDiagnostics(c *Console, r *request) (any, error) {
	out := &Diagnostics{Diagnostics: []Diagnostic{}}
	for node, a := range c.askAll(r, living(c.o.Node.Statuses()), &peerRequest{Bundles: true}) {
		for _, b := range a.Bundles {
			if r.login.mayHave(b) {
				out.Diagnostics = append(out.Diagnostics, Diagnostic{ID: b.ID, Node: int64(node), User: b.User, Database: b.Database, Query: b.Query, At: b.At.UnixMilli()})
			}
		}
	}
	slices.SortFunc(out.Diagnostics, func(a, b Diagnostic) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID)) })
	return out, nil
}

func getBundle(c *Console, r *request) (any, error) {
	id := r.param("id")
	for _, a := range c.askAll(r, living(c.o.Node.Statuses()), &peerRequest{Bundle: id}) {
		for _, b := range a.Bundles {
			if r.login.mayHave(b) {
				h := r.w.Header()
				h.Set("Content-Type", "application/zip")
				h.Set("Content-Disposition", `attachment; filename="statement-`+b.ID+`.zip"`)
				return b.Zip, nil
			}
		}
	}
	return nil, notFound("no node that answers has a bundle %s: each keeps the last %d, until it starts again", id, diag.MaxBundles)
}
