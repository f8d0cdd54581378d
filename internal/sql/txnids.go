package sql

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Transactions have a number in SQL once somebody asks for it: a tick of the clock above the bits of
// the node, so that numbers rise and no two nodes share one. What a snapshot (pg_current_snapshot)
// says of numbers follows from times: a transaction is visible at a time if it has committed by
// then. Each node knows its numbered transactions that go on, and for a while those that ended.

// maxEndedTxns bounds the ended transactions that a node remembers.
const maxEndedTxns = 100_000

// txnOutcome is how a transaction ended.
type txnOutcome uint8

const (
	txnAborted txnOutcome = iota
	txnCommitted
	txnUnknown // its commit may have happened, or may yet
)

// endedTxn is a numbered transaction that is over; at is when it committed.
type endedTxn struct {
	id      int64
	at      hlc.Timestamp
	outcome txnOutcome
}

// txnIDs are the numbered transactions of a node. It is safe for concurrent use.
type txnIDs struct {
	mu      sync.Mutex
	ticks   int64 // of the newest number
	open    map[int64]bool
	ended   []endedTxn    // in the order of their ends
	dropped hlc.Timestamp // the latest commit that was forgotten
}

// next numbers a transaction that begins at a time.
func (t *txnIDs) next(now time.Time, node kvpb.NodeID) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks+1, ticksOf(now))
	id := t.ticks<<builtin.UniqueIDNodeBits | int64(node)&(1<<builtin.UniqueIDNodeBits-1)
	if t.open == nil {
		t.open = map[int64]bool{}
	}
	t.open[id] = true
	return id
}

// end notes how a transaction ended.
func (t *txnIDs) end(e endedTxn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, e.id)
	if e.outcome == txnUnknown {
		e.at = hlc.Timestamp{WallTime: math.MaxInt64}
	}
	if t.ended = append(t.ended, e); len(t.ended) < 2*maxEndedTxns {
		return
	}
	for _, old := range t.ended[:maxEndedTxns] {
		if old.outcome == txnCommitted && t.dropped.Less(old.at) {
			t.dropped = old.at
		}
	}
	t.ended = slices.Clone(t.ended[maxEndedTxns:])
}

// floor returns the ticks of the next number, not below those of a time: no number below them is
// given any more.
func (t *txnIDs) floor(now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks, ticksOf(now)-1)
	return t.ticks + 1
}

// raise keeps numbers below the floor of another node from being given. It returns the
// ticks of the newest one.
func (t *txnIDs) raise(floor int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks, floor-1)
	return t.ticks
}

// unseen returns the numbers below a floor of transactions whose effects are not visible at a
// time; ok is false if too much was forgotten since.
func (t *txnIDs) unseen(at hlc.Timestamp, floor int64) (ids []int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.open {
		ids = append(ids, id)
	}
	for _, e := range t.ended {
		if e.outcome != txnAborted && at.Less(e.at) {
			ids = append(ids, e.id)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return id>>builtin.UniqueIDNodeBits >= floor }), !at.Less(t.dropped)
}

// status tells what became of a transaction of this node, "" if that is not known (any more).
func (t *txnIDs) status(id int64) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.open[id]:
		return "in progress", nil
	case id>>builtin.UniqueIDNodeBits > t.ticks:
		return "", errFutureTxn(uint64(id))
	}
	for i := len(t.ended) - 1; i >= 0; i-- {
		if t.ended[i].id == id {
			return [...]string{txnAborted: "aborted", txnCommitted: "committed", txnUnknown: ""}[t.ended[i].outcome], nil
		}
	}
	return "", nil
}

func errFutureTxn(id uint64) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "transaction ID %d is in the future", id)
}

// txnQuestion asks a node for the transactions that a snapshot of a time does not see, or for
// the status of one of its own.
type txnQuestion struct {
	At     hlc.Timestamp
	Floor  int64
	Status int64 `json:",omitempty"`
}

// txnAnswer answers it.
type txnAnswer struct {
	Unseen    []int64 `json:",omitempty"`
	Forgotten bool    `json:",omitempty"`
	Newest    int64   `json:",omitempty"` // the ticks of the newest number
	Status    string  `json:",omitempty"`
	Future    bool    `json:",omitempty"`
}

func (s *Server) answerTxns(q *txnQuestion) *txnAnswer {
	if q.Status != 0 {
		status, err := s.txnIDs.status(q.Status)
		return &txnAnswer{Status: status, Future: err != nil}
	}
	newest := s.txnIDs.raise(q.Floor)
	ids, ok := s.txnIDs.unseen(q.At, q.Floor)
	return &txnAnswer{Unseen: ids, Forgotten: !ok, Newest: newest}
}

// endID notes how the session's transaction ended, if it has a number.
func (s *Session) endID(outcome txnOutcome, at hlc.Timestamp) {
	if s.txn.id != 0 {
		s.srv.txnIDs.end(endedTxn{s.txn.id, at, outcome})
		s.txn.id = 0
	}
}

// TransactionID implements builtin.Session. It is not the id by which the key-value layers
// know the transaction.
func (f *sessionFuncs) TransactionID() int64 {
	if f.s.txn.id == 0 {
		f.s.txn.id = f.s.srv.txnIDs.next(time.Now(), f.s.srv.nodeID())
	}
	return f.s.txn.id
}

// AssignedTransactionID returns the number of a transaction that has one or has written.
func (f *sessionFuncs) AssignedTransactionID() (int64, bool) {
	if f.s.txn.id == 0 && !f.s.txn.txn.HasWrites() {
		return 0, false
	}
	return f.TransactionID(), true
}

// Snapshot returns what the current statement sees.
func (f *sessionFuncs) Snapshot() (v types.SnapshotValue, err error) {
	srv := f.s.srv
	q := txnQuestion{At: f.s.txn.txn.ReadTimestamp(), Floor: srv.txnIDs.floor(time.Now())}
	ids, ok, newest, err := f.unseen(&q)
	if err == nil && newest >= q.Floor { // the clock of a node is ahead
		srv.txnIDs.raise(newest + 1)
		q.Floor = srv.txnIDs.floor(time.Now())
		ids, ok, _, err = f.unseen(&q)
	}
	if err != nil {
		return v, err
	}
	if !ok {
		return v, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "which transactions the snapshot sees is not known any more").
			WithHint("Ask sooner after the transaction has begun.")
	}
	v.Xmax = uint64(q.Floor) << builtin.UniqueIDNodeBits
	v.Xmin = v.Xmax
	slices.Sort(ids)
	for _, id := range ids {
		v.Xmin = min(v.Xmin, uint64(id))
		v.Xip = append(v.Xip, uint64(id))
	}
	return v, nil
}

// unseen asks all nodes for the numbers below the floor of a question of transactions that a
// snapshot does not see; ok is false if one has forgotten too much. newest are the ticks of
// the newest number that one of the other nodes had given.
func (f *sessionFuncs) unseen(q *txnQuestion) (ids []int64, ok bool, newest int64, err error) {
	ids, ok = f.s.srv.txnIDs.unseen(q.At, q.Floor)
	answers, err := f.s.askAll(f.s.bctx.Ctx, &question{Txns: q})
	for _, a := range answers {
		ids, ok, newest = append(ids, a.Txns.Unseen...), ok && !a.Txns.Forgotten, max(newest, a.Txns.Newest)
	}
	return ids, ok, newest, err
}

// askAll asks all other nodes; one that does not answer is an error.
func (s *Session) askAll(ctx context.Context, q *question) ([]answer, error) {
	nodes := s.srv.cfg.Nodes
	if nodes == nil || nodes.Alone() {
		return nil, nil
	}
	others := nodes.Others()
	answers, errs := make([]answer, len(others)), make([]error, len(others))
	var wg sync.WaitGroup
	for i, n := range others {
		wg.Go(func() { answers[i], errs[i] = s.srv.ask(ctx, n, q) })
	}
	wg.Wait()
	for i, n := range others {
		if errs[i] != nil || answers[i].Txns == nil {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %d did not answer: which of its transactions go on is not known", n).
				WithHint("Try again when it is back or decommissioned.")
		}
	}
	return answers, nil
}

// firstTxnID is the first number that a transaction may have: PostgreSQL keeps those below.
const firstTxnID = 3

// TransactionStatus tells what became of a transaction, by its number; "" if that is not known.
func (f *sessionFuncs) TransactionStatus(id uint64) (string, error) {
	switch {
	case id > math.MaxInt64:
		return "", errFutureTxn(id)
	case id == 0:
		return "", nil
	case id < firstTxnID:
		return "committed", nil
	}
	srv, node := f.s.srv, kvpb.NodeID(id&(1<<builtin.UniqueIDNodeBits-1))
	if node == srv.nodeID() || srv.cfg.Nodes == nil || !slices.Contains(srv.cfg.Nodes.Others(), node) {
		return srv.txnIDs.status(int64(id))
	}
	a, err := srv.ask(f.s.bctx.Ctx, node, &question{Txns: &txnQuestion{Status: int64(id)}})
	switch {
	case err != nil || a.Txns == nil:
		return "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %d did not answer: what became of its transaction %d is not known", node, id)
	case a.Txns.Future:
		return "", errFutureTxn(id)
	}
	return a.Txns.Status, nil
}
