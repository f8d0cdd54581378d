package gather

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/fragment"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Limits of a request.
const (
	// answerBytes is the size at which a node ends an answer, once it has handed on the page that it reads.
	answerBytes = 256 << 10
	// readBytes is what a node reads for one answer. It bounds what is lost with a node, and the partial groups of an
	// answer.
	readBytes = 16 << 20
	// window is how many answers of a node there may be at once.
	window = 2
	// maxSpans bounds the spans of a request.
	maxSpans = 1024
)

// delegator is a transaction that other nodes can read for.
type delegator interface {
	Meta() kvpb.TxnMeta
	Delegate(ctx context.Context, read func(context.Context, kvpb.TxnMeta, []kvpb.Observation) (kv.DelegatedRead, error)) *kv.Delegated
}

// gatherOp reads what nodes compute of their rows.
type gatherOp struct {
	run    *operator.Run
	node   *plan.Gather
	keys   *scan.Keys
	values map[plan.Expr]expr.Func // what fragments have the values of
	actual *plan.Actual            // nil: nothing is measured

	// local runs the fragment here, over the rows in given.
	local operator.VectorOperator
	given operator.Spans
	here  bool // local is open

	request   fragment.Request // what all requests of an execution have in common
	table     *catalog.Table   // that request has the descriptor of
	fragments operator.Fragments
	txn       delegator
	streams   []*stream
	turn      int
	left      []kvpb.Span // that no node answers for

	batches  string // of the answer at hand that were not handed up
	families []types.Family
	cols     []*vector.Vector
	acc      quota.Account
	reserved int64 // of acc, for answers under way
}

// Compile compiles a Gather.
func Compile(c *operator.Compiler, n *plan.Gather) (operator.VectorOperator, error) {
	s := n.Scan()
	g := &gatherOp{run: c.Run, node: n}
	var err error
	if g.keys, err = scan.NewKeys(c, s); err != nil {
		return nil, err
	}
	if err := g.compileValues(c); err != nil {
		return nil, err
	}
	for _, col := range n.Cols {
		g.families, g.cols = append(g.families, col.Type.Family), append(g.cols, &vector.Vector{})
	}
	if c.Actual != nil {
		g.actual = c.Actual(n)
	}
	c.Give(s, &g.given)
	g.local, err = c.Vectors(n.Input)
	return g, err
}

// compileValues compiles the expressions whose values the fragment needs.
func (g *gatherOp) compileValues(c *operator.Compiler) error {
	g.values = map[plan.Expr]expr.Func{}
	var failed error
	_, err := fragment.Encode(g.node.Input, func(e plan.Expr) (types.Datum, error) {
		f, err := c.Expr(e, nil)
		if err != nil {
			failed = err
		}
		g.values[e] = f
		return types.Null, nil
	})
	if err != nil {
		g.values = nil // it is run here
	}
	return failed
}

// Open implements VectorOperator.
func (g *gatherOp) Open() error {
	g.stop()
	g.acc.Init(g.run.Mem)
	spans, err := g.keys.Eval()
	if err != nil || len(spans) == 0 {
		return err
	}
	parts, err := g.divide(spans)
	if err != nil {
		return err
	}
	if len(parts) == 0 || !g.encode() || !g.reserve(len(parts)) {
		return g.readHere(spans)
	}
	for _, p := range parts {
		s := &stream{gather: g, node: p.Node, spans: p.Spans}
		g.streams = append(g.streams, s)
		s.ask()
	}
	if g.actual != nil {
		g.actual.Gather.Nodes = max(g.actual.Gather.Nodes, len(parts))
	}
	return nil
}

// divide returns which node is to read what; nothing if no other node can read for the statement.
func (g *gatherOp) divide(spans []kvpb.Span) ([]kvpb.NodeSpans, error) {
	var ok bool
	if g.txn, ok = g.run.Txn.(delegator); !ok || g.run.Env.Fragments == nil || g.values == nil {
		return nil, nil
	}
	g.fragments = g.run.Env.Fragments
	meta := g.txn.Meta()
	return g.fragments.Divide(g.run.Ctx, &meta, spans)
}

// encode makes the request that the nodes get; false if it can't be made for these parameters.
func (g *gatherOp) encode() bool {
	text, err := fragment.Encode(g.node.Input, func(e plan.Expr) (types.Datum, error) { return g.values[e](nil) })
	if err != nil {
		return false
	}
	q := fragment.Request{Table: g.node.Scan().Table, Descriptor: g.request.Descriptor, Plan: text}
	if q.Table != g.table {
		if q.Descriptor, err = catalog.EncodeTable(q.Table); err != nil {
			return false
		}
		g.table = q.Table
	}
	q.ReadBytes, q.AnswerBytes, q.WorkMem = readBytes, answerBytes, g.run.WorkMem
	if g.run.BatchRows < vector.BatchRows { // of tests, which want many small answers as well
		q.BatchRows, q.ReadBytes, q.AnswerBytes = g.run.BatchRows, 1, 1
	}
	g.request = q
	return true
}

// reserve takes memory for the answers of so many nodes; false if there is none.
func (g *gatherOp) reserve(nodes int) bool {
	n := int64(nodes) * window * answerBytes
	if g.acc.Grow(n) != nil {
		return false
	}
	g.reserved = n
	return true
}

// readHere runs the fragment over some spans on this node.
func (g *gatherOp) readHere(spans []kvpb.Span) error {
	g.here, g.given.List = true, spans
	if g.actual != nil {
		g.actual.Gather.Here = true
	}
	return g.local.Open()
}

// Close implements VectorOperator.
func (g *gatherOp) Close() {
	g.stop()
	g.local.Close()
	g.given.List = nil
	g.acc.Close()
	g.txn, g.fragments = nil, nil
}

// stop ends the requests that are under way.
func (g *gatherOp) stop() {
	for _, s := range g.streams {
		if s.call != nil {
			s.call.Abandon()
		}
	}
	g.streams, g.left, g.batches, g.here, g.turn = nil, nil, "", false, 0
	g.acc.Close()
}

// Next implements VectorOperator.
func (g *gatherOp) Next(b *vector.Batch) error {
	for {
		if err := g.run.Canceled(); err != nil {
			return err
		}
		switch {
		case g.here:
			return g.local.Next(b)
		case g.batches != "":
			return g.decode(b)
		}
		s := g.next()
		switch {
		case s != nil:
			if err := s.take(); err != nil {
				return err
			}
		case len(g.left) > 0:
			slices.SortFunc(g.left, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
			if err := g.readHere(g.left); err != nil {
				return err
			}
		default:
			*b = vector.Batch{}
			return nil
		}
	}
}

// next returns the stream whose answer comes next: they take turns. Nil if nothing is under way.
func (g *gatherOp) next() *stream {
	for range g.streams {
		s := g.streams[g.turn]
		g.turn = (g.turn + 1) % len(g.streams)
		if s.call != nil {
			return s
		}
	}
	return nil
}

var errDamaged = errors.New("gather: damaged rows")

// decode hands up the next batch of the answer at hand.
func (g *gatherOp) decode(b *vector.Batch) (err error) {
	if g.batches, err = vector.DecodeEncoded(g.batches, g.families, g.cols, b); err == nil && b.N == 0 {
		err = errDamaged
	}
	return err
}

// keep makes an answer the one at hand. Its memory was reserved, but for what is larger than it should be.
func (g *gatherOp) keep(batches []byte) error {
	g.acc.Shrink(g.acc.Used() - g.reserved)
	if more := int64(len(batches)) - answerBytes; more > 0 {
		if err := g.acc.Grow(more); err != nil {
			return expr.MemoryError(err)
		}
	}
	g.batches = string(batches)
	return nil
}
