package rangeops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
)

// The methods by which nodes ask one another about ranges. Requests and answers are
// JSON.
const (
	methodOp    = rpc.MethodRangeOp    // Op → answer: asks the leader of a range to change it
	methodInfos = rpc.MethodRangeInfos // []kvpb.RangeID → []Info: asks about replicas
	methodSize  = rpc.MethodRangeSize  // sizeRequest → int64: the size of a part of a range
)

const (
	// leaderTimeout bounds the search for the leader of a range, leaderPoll is the interval
	// between two attempts. A range that is looked for by a key of its own may have been
	// merged away: after readdress the range that holds the key now is looked up.
	leaderTimeout = 10 * time.Second
	leaderPoll    = 50 * time.Millisecond
	readdress     = time.Second
	// maxDetours bounds how often an operation follows a range that changes meanwhile.
	maxDetours = 20
)

// Op is something that the leader of a range is to do.
type Op struct {
	Kind    Kind
	Range   kvpb.RangeID
	Changes []placement.Change
	Store   kvpb.StoreID
	// Key is where to split; Key and End bound what to clear.
	Key, End []byte
	// Left is the range that gave up merging this one, as of a generation.
	Left       kvpb.RangeID
	Generation uint64
}

// Kind says what an Op does.
type Kind uint8

// The kinds of operations.
const (
	ChangeReplicas Kind = 1 + iota
	TransferLeader
	Split
	Clear
	Merge
	unfreeze
)

// answer is what came of an Op.
type answer struct {
	// Elsewhere says that the node does not lead the range, Leader which one does
	// as far as it knows.
	Elsewhere bool
	Leader    kvpb.NodeID
	// Mismatch says that the range does not hold the keys.
	Mismatch bool
	Err      string
}

// Handle has the node answer others.
func (a *Admin) Handle() {
	a.o.Transport.Handle(methodOp, func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var op Op
		if err := json.Unmarshal(req, &op); err != nil {
			return nil, err
		}
		if !a.o.Ready() {
			return json.Marshal(&answer{Elsewhere: true})
		}
		ans := a.perform(ctx, &op)
		return json.Marshal(&ans)
	})
	a.o.Transport.Handle(methodInfos, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var ids []kvpb.RangeID
		if err := json.Unmarshal(req, &ids); err != nil {
			return nil, err
		}
		return json.Marshal(a.infosHere(ids))
	})
	a.o.Transport.Handle(methodSize, a.handleSize)
}

// perform carries op out if the range is led here.
func (a *Admin) perform(ctx context.Context, op *Op) answer {
	r, ok := a.o.Store.Replica(op.Range)
	if !ok || !r.Initialized() || !r.Leads() {
		return a.redirect(op.Range, r)
	}
	err := a.performHere(ctx, r, op)
	var ans answer
	var nl *kvpb.NotLeaderError
	var mm *kvpb.RangeMismatchError
	switch {
	case errors.As(err, &nl):
		ans.Elsewhere, ans.Leader = true, nl.Leader.Node
	case errors.As(err, &mm):
		ans.Mismatch, ans.Err = true, err.Error()
	case err != nil:
		ans.Err = err.Error()
	}
	return ans
}

// redirect answers for a range that is not led here; r is nil if it has no replica here.
func (a *Admin) redirect(id kvpb.RangeID, r *replica.Replica) answer {
	if _, merged := a.o.Store.MergedInto(id); merged {
		return answer{Mismatch: true}
	}
	ans := answer{Elsewhere: true}
	if r != nil {
		if l, known := r.Leader(); known {
			ans.Leader = l.Node
		}
	}
	return ans
}

// performHere carries out an operation on a range that is led here.
func (a *Admin) performHere(ctx context.Context, r *replica.Replica, op *Op) error {
	err := a.carryOut(ctx, r, op)
	if err == nil {
		a.done[op.Kind].Add(1)
	}
	return err
}

func (a *Admin) carryOut(ctx context.Context, r *replica.Replica, op *Op) error {
	if a.o.Alone && (op.Kind == ChangeReplicas || op.Kind == TransferLeader) {
		return errors.New("a node by itself has no other replicas")
	}
	switch op.Kind {
	case ChangeReplicas:
		return a.changeReplicas(ctx, r, op.Changes)
	case TransferLeader:
		return a.transferLeader(ctx, r, op.Store)
	case Split:
		return a.splitRange(ctx, r, op.Key)
	case Clear:
		return r.ClearWithin(ctx, op.Key, op.End)
	case Merge:
		return a.mergeRange(ctx, r)
	case unfreeze:
		return r.Unfreeze(op.Left, op.Generation)
	}
	return fmt.Errorf("request %d for range %d is not known to this version", op.Kind, op.Range)
}

// ErrNoLeader says that no leader of a range was found.
var ErrNoLeader = errors.New("no leader that can be reached")

// Do has the leader of a range carry op out, wherever it is. d is the range's descriptor, if it
// is at hand. A range that does not hold the keys is a kvpb.RangeMismatchError.
func (a *Admin) Do(ctx context.Context, op *Op, d *kvpb.RangeDescriptor) error {
	return a.seekLeader(ctx, op, d, leaderTimeout)
}

// seekLeader is Do with another limit of the search for the leader.
func (a *Admin) seekLeader(ctx context.Context, op *Op, d *kvpb.RangeDescriptor, timeout time.Duration) error {
	at := a.o.Node() // a local replica mostly knows more than any other node
	poll := time.NewTicker(leaderPoll)
	defer poll.Stop()
	began := time.Now()
	var cause error
	for try := 0; ; try++ {
		ans, err := a.ask(ctx, at, op)
		switch {
		case err != nil && (ctx.Err() != nil || !errors.Is(err, rpc.ErrNotSent)):
			return err
		case err != nil:
			cause = err
		case ans.Mismatch:
			return &kvpb.RangeMismatchError{Range: op.Range}
		case !ans.Elsewhere && ans.Err != "":
			return errors.New(ans.Err)
		case !ans.Elsewhere:
			return nil
		}
		if time.Since(began) > timeout {
			return errors.Join(fmt.Errorf("range %d has %w", op.Range, ErrNoLeader), cause)
		}
		next := ans.Leader
		if next == 0 || next == at {
			next = a.replicaNode(op.Range, d, try)
		}
		if next == at || try >= 2 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-poll.C:
			}
		}
		at = next
	}
}

// ask has one node carry op out if it leads the range.
func (a *Admin) ask(ctx context.Context, at kvpb.NodeID, op *Op) (ans answer, err error) {
	if at == a.o.Node() {
		return a.perform(ctx, op), nil
	}
	req, err := json.Marshal(op)
	if err != nil {
		return ans, err
	}
	p, err := a.o.Transport.Call(ctx, at, methodOp, req)
	if err != nil {
		return ans, err
	}
	return ans, json.Unmarshal(p, &ans)
}

// replicaNode returns one of the nodes that have a replica of a range, another one in each try,
// this one if none is known.
func (a *Admin) replicaNode(id kvpb.RangeID, d *kvpb.RangeDescriptor, try int) kvpb.NodeID {
	if r, ok := a.o.Store.Replica(id); ok && r.Initialized() {
		d = r.Desc()
	}
	if d == nil {
		for _, k := range a.o.Cached() {
			if k.RangeID == id {
				d = k
			}
		}
	}
	if d == nil || len(d.Replicas) == 0 {
		return a.o.Node()
	}
	return d.Replicas[try%len(d.Replicas)].Node
}

// EachRange has the leader of the range that holds key carry out what next says, unless that is
// nothing, and follows the range when it changes meanwhile.
func (a *Admin) EachRange(ctx context.Context, key []byte, next func(d *kvpb.RangeDescriptor) (*Op, bool)) error {
	begun := time.Now()
	for detours := 0; ; {
		d, err := a.rangeAt(ctx, key)
		if err != nil {
			return err
		}
		op, ok := next(d)
		if !ok {
			return nil
		}
		err = a.seekLeader(ctx, op, d, readdress)
		var mm *kvpb.RangeMismatchError
		switch {
		case errors.As(err, &mm) && detours < maxDetours:
			detours++
		case errors.Is(err, ErrNoLeader) && time.Since(begun) < leaderTimeout:
		default:
			return err
		}
	}
}
