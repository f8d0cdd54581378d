package ids

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin/sessionfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxEnded bounds the ended transactions that a node remembers.
const maxEnded = 100_000

// Outcome is how a transaction ended.
type Outcome uint8

// The outcomes of transactions.
const (
	Aborted Outcome = iota
	Committed
	Unknown // its commit may have happened, or may yet
)

// ended is a numbered transaction that is over; at is when it committed.
type ended struct {
	id      int64
	at      hlc.Timestamp
	outcome Outcome
}

// Txns are the transactions of a node that have a number: each gets one once somebody asks for
// it. A snapshot (pg_current_snapshot) follows from times: a transaction is visible at a time if
// it has committed by then. Txns knows the transactions that go on, and for a while those that
// have ended. It is safe for concurrent use.
type Txns struct {
	mu      sync.Mutex
	ticks   int64 // of the newest number
	open    map[int64]bool
	ended   []ended       // in the order of their ends
	dropped hlc.Timestamp // the latest commit that was forgotten
}

// Next numbers a transaction that begins at a time.
func (t *Txns) Next(now time.Time, node kvpb.NodeID) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks+1, ticksOf(now))
	id := number(t.ticks, node)
	if t.open == nil {
		t.open = map[int64]bool{}
	}
	t.open[id] = true
	return id
}

// End notes how a transaction ended; at is when it committed.
func (t *Txns) End(id int64, outcome Outcome, at hlc.Timestamp) {
	e := ended{id, at, outcome}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, e.id)
	if e.outcome == Unknown {
		e.at = hlc.Timestamp{WallTime: math.MaxInt64}
	}
	if t.ended = append(t.ended, e); len(t.ended) < 2*maxEnded {
		return
	}
	for _, old := range t.ended[:maxEnded] {
		if old.outcome == Committed && t.dropped.Less(old.at) {
			t.dropped = old.at
		}
	}
	t.ended = slices.Clone(t.ended[maxEnded:])
}

// floor returns the ticks of the next number, at least those of a time: Next gives no number below
// them any more.
func (t *Txns) floor(now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks, ticksOf(now)-1)
	return t.ticks + 1
}

// raise sees that no number below the floor of another node is given any more. It returns the
// ticks of the newest number.
func (t *Txns) raise(floor int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks = max(t.ticks, floor-1)
	return t.ticks
}

// unseen returns the numbers below a floor of transactions whose effects are not visible at a
// time; ok is false if too much was forgotten since.
func (t *Txns) unseen(at hlc.Timestamp, floor int64) (ids []int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.open {
		ids = append(ids, id)
	}
	for _, e := range t.ended {
		if e.outcome != Aborted && at.Less(e.at) {
			ids = append(ids, e.id)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return id>>sessionfuncs.UniqueIDNodeBits >= floor }), !at.Less(t.dropped)
}

// Status returns what became of a transaction of this node: "in progress", "committed" or
// "aborted", "" if that is not known (any more); 22023 if no such number was given.
func (t *Txns) Status(id int64) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.open[id]:
		return "in progress", nil
	case id>>sessionfuncs.UniqueIDNodeBits > t.ticks:
		return "", errFuture(uint64(id))
	}
	for i := len(t.ended) - 1; i >= 0; i-- {
		if t.ended[i].id == id {
			return [...]string{Aborted: "aborted", Committed: "committed", Unknown: ""}[t.ended[i].outcome], nil
		}
	}
	return "", nil
}

// errFuture says that a number was not given yet.
func errFuture(id uint64) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "transaction ID %d is in the future", id)
}

// Question asks a node for the transactions that a snapshot of a time does not see, or for the
// status of one of its own.
type Question struct {
	At     hlc.Timestamp
	Floor  int64
	Status int64 `json:",omitempty"`
}

// Answer answers it.
type Answer struct {
	Unseen    []int64 `json:",omitempty"`
	Forgotten bool    `json:",omitempty"`
	Newest    int64   `json:",omitempty"` // the ticks of the newest number
	Status    string  `json:",omitempty"`
	Future    bool    `json:",omitempty"`
}

// Answer answers the question of another node.
func (t *Txns) Answer(q *Question) *Answer {
	if q.Status != 0 {
		status, err := t.Status(q.Status)
		return &Answer{Status: status, Future: err != nil}
	}
	newest := t.raise(q.Floor)
	ids, ok := t.unseen(q.At, q.Floor)
	return &Answer{Unseen: ids, Forgotten: !ok, Newest: newest}
}

// firstID is the first number that a transaction may have: PostgreSQL keeps those below.
const firstID = 3

// Ask asks all other nodes, of which each answers or is an error.
type Ask func(*Question) ([]*Answer, error)

// Snapshot returns the snapshot of a statement that reads at a time; 55000 if a node does not
// answer or has forgotten too much.
func (t *Txns) Snapshot(at hlc.Timestamp, ask Ask) (v types.SnapshotValue, err error) {
	q := Question{At: at, Floor: t.floor(time.Now())}
	ids, ok, newest, err := t.unseenAnywhere(&q, ask)
	if err == nil && newest >= q.Floor { // the clock of a node is ahead
		t.raise(newest + 1)
		q.Floor = t.floor(time.Now())
		ids, ok, _, err = t.unseenAnywhere(&q, ask)
	}
	if err != nil {
		return v, err
	}
	if !ok {
		return v, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "which transactions the snapshot sees is not known any more").
			WithHint("Ask sooner after the transaction has begun.")
	}
	v.Xmax = uint64(q.Floor) << sessionfuncs.UniqueIDNodeBits
	v.Xmin = v.Xmax
	slices.Sort(ids)
	for _, id := range ids {
		v.Xmin = min(v.Xmin, uint64(id))
		v.Xip = append(v.Xip, uint64(id))
	}
	return v, nil
}

// unseenAnywhere is unseen for all nodes; ok is false if one has forgotten too much. newest are
// the ticks of the newest number that one of the other nodes had given.
func (t *Txns) unseenAnywhere(q *Question, ask Ask) (ids []int64, ok bool, newest int64, err error) {
	ids, ok = t.unseen(q.At, q.Floor)
	answers, err := ask(q)
	for _, a := range answers {
		ids, ok, newest = append(ids, a.Unseen...), ok && !a.Forgotten, max(newest, a.Newest)
	}
	return ids, ok, newest, err
}

// StatusOf is Status for a transaction of any node, which ask asks.
func (t *Txns) StatusOf(id uint64, elsewhere func(kvpb.NodeID) bool, ask func(kvpb.NodeID, *Question) (*Answer, error)) (string, error) {
	switch {
	case id > math.MaxInt64:
		return "", errFuture(id)
	case id == 0:
		return "", nil
	case id < firstID:
		return "committed", nil
	}
	node := Node(id)
	if !elsewhere(node) {
		return t.Status(int64(id))
	}
	a, err := ask(node, &Question{Status: int64(id)})
	switch {
	case err != nil || a == nil:
		return "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, "node %d did not answer: what became of its transaction %d is not known", node, id)
	case a.Future:
		return "", errFuture(id)
	}
	return a.Status, nil
}
