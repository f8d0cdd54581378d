package node

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/config"
)

// A node that waits for its cluster names the addresses that do not answer, not those of
// nodes that wait as well.
func TestUnanswered(t *testing.T) {
	n := &Node{cfg: config.Node{Join: []string{"a:1", "b:1", "c:1"}}}
	if got := n.Unanswered(); got != nil {
		t.Errorf("before it has asked: %q", got)
	}
	why := newReasons(slog.New(slog.DiscardHandler), "")
	n.unanswered.Store(why)
	why.note("c:1", errors.New("c:1: connection refused"))
	why.note("a:1", errNotInitialized)
	why.note("b:1", errors.New("no such host"))
	if got, want := n.Unanswered(), []string{"b:1: no such host", "c:1: connection refused"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
