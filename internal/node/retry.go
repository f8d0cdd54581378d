package node

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// retry runs a step of the start until it succeeds or fails for good. It gives up only when ctx
// ends, that is, when the node is stopped; the log shows the reason for the delay.
func (n *Node) retry(ctx context.Context, what string, step func(context.Context) error) error {
	for {
		err := step(ctx)
		if !passes(err) || ctx.Err() != nil {
			return err
		}
		n.log.Warn("the start of the node waits for "+what, "err", err)
		if sleep.For(ctx, rejoinInterval) != nil {
			return err
		}
	}
}

// passes reports whether a failure of a starting node passes by itself: ranges still elect leaders, other
// transactions hold locks, or other nodes do not know this node's new incarnation yet and take its
// transactions for those of an earlier one.
func passes(err error) bool {
	var down *kvpb.UnavailableError
	return errors.As(err, &down) || kv.IsRetryable(err)
}
