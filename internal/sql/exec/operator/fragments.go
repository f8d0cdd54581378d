package operator

import (
	"context"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Fragments has nodes run parts of plans where their rows are. It is safe for concurrent use.
type Fragments interface {
	// Self returns this node.
	Self() kvpb.NodeID
	// Divide groups spans by the node that reads them best for a transaction.
	Divide(ctx context.Context, txn *kvpb.TxnMeta, spans []kvpb.Span) ([]kvpb.NodeSpans, error)
	// Run has a node, which may be this one, answer a fragment.Request. An error says that there is no answer: the node can't be
	// reached, or does not know such requests.
	Run(ctx context.Context, node kvpb.NodeID, req []byte) ([]byte, error)
}
