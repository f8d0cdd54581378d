package node

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// again runs a step of the start, again as long as its failure passes. It does not give up
// before ctx ends, which is when the node is stopped: the log says what is waited for.
func (n *Node) again(ctx context.Context, what string, step func(context.Context) error) error {
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

// passes reports whether what a starting node met passes without anybody's help: ranges that
// elect their leaders after a start of all nodes, transactions in its way, or nodes that have
// not learned of its new life and take its transactions for those of an earlier one.
func passes(err error) bool {
	var down *kvpb.UnavailableError
	return errors.As(err, &down) || kv.IsRetryable(err)
}
