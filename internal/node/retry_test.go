package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/lichendb/lichen/internal/kvpb"
)

// A step of the start is tried again as long as its failure passes, and ends with the node.
func TestStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{log: slog.New(slog.DiscardHandler)}
		broken := errors.New("broken")
		for _, x := range []struct {
			answers []error
			want    error
		}{
			{[]error{nil}, nil},
			{[]error{
				&kvpb.UnavailableError{Reason: "no leader"},
				fmt.Errorf("schema: %w", &kvpb.RetryError{Reason: "the transaction's gateway has ended"}), nil,
			}, nil},
			{[]error{&kvpb.RetryError{}, broken}, broken},
		} {
			calls := 0
			err := n.retry(t.Context(), "a test", func(context.Context) error { calls++; return x.answers[calls-1] })
			if !errors.Is(err, x.want) || calls != len(x.answers) {
				t.Errorf("%v: %v after %d calls", x.answers, err, calls)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var down *kvpb.UnavailableError
		err := n.retry(ctx, "a test", func(context.Context) error { stop(); return &kvpb.UnavailableError{} })
		if !errors.As(err, &down) {
			t.Errorf("of a node that stops: %v", err)
		}
	})
}
