package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// watchEvery is how often a change under way is looked at.
	watchEvery = 10 * time.Millisecond
	// catchUpStall is how long a new replica may make no progress, a snapshot on its
	// way included, deadTimeout how long its node may be silent.
	catchUpStall = 2 * time.Minute
	deadTimeout  = 10 * time.Second
	// stepTimeout bounds one step of a membership change, transferTimeout the wait
	// for a new leader.
	stepTimeout     = 15 * time.Second
	transferTimeout = 3 * time.Second
	// maxTransferLag is how many log entries the next leader may lack.
	maxTransferLag = 1000
)

// changer implements balance.Changer: requests go to the leader of the range.
type changer struct{ n *Node }

// ChangeReplicas implements balance.Changer.
func (c changer) ChangeReplicas(ctx context.Context, id kvpb.RangeID, cs []placement.Change) error {
	return c.n.atLeader(ctx, &rangeOp{Kind: opReplicas, Range: id, Changes: cs}, nil)
}

// TransferLeader implements balance.Changer.
func (c changer) TransferLeader(ctx context.Context, id kvpb.RangeID, to kvpb.StoreID) error {
	return c.n.atLeader(ctx, &rangeOp{Kind: opLeader, Range: id, Store: to}, nil)
}

// Split implements balance.Changer. A key that may lie within a row, or begin no row, is
// moved to the next one.
func (c changer) Split(ctx context.Context, id kvpb.RangeID, key []byte) error {
	at, ok := rowStart(key)
	if r, here := c.n.store.Replica(id); !ok && here {
		next, err := c.n.firstRow(key, r.Desc())
		if err != nil {
			return err
		}
		if at = next; at == nil {
			return fmt.Errorf("range %d: no row begins at %s or behind it", id, keys.Pretty(key))
		}
	}
	return c.n.atLeader(ctx, &rangeOp{Kind: opSplit, Range: id, Key: at}, nil)
}

// Merge implements balance.Changer.
func (c changer) Merge(ctx context.Context, id kvpb.RangeID) error {
	return c.n.atLeader(ctx, &rangeOp{Kind: opMerge, Range: id}, nil)
}

// rowStart returns where the row begins whose first key this is, with the number of
// family 0 at its end. Rows may have more keys, with the numbers of other families: ok is
// false for those, which cannot be told from other places within a table.
func rowStart(key []byte) (start []byte, ok bool) {
	_, _, _, rest, table := keys.DecodeIndexPrefix(key)
	if !table || len(rest) == 0 {
		return key, true
	}
	family := keys.AppendFamily(nil, keys.DefaultFamily)
	if len(rest) > len(family) && string(rest[len(rest)-len(family):]) == string(family) {
		return key[:len(key)-len(family)], true
	}
	return key, false
}

// SplitKey implements balance.Changer. The middle of much data is found by the sizes of
// parts of the key space, which costs no reading of data.
func (c changer) SplitKey(_ context.Context, id kvpb.RangeID) ([]byte, bool, error) {
	n := c.n
	r, ok := n.store.Replica(id)
	if !ok {
		return nil, false, &kvpb.RangeMismatchError{Range: id}
	}
	d, e := r.Desc(), n.store.Of(r).Engine()
	total, err := e.ApproximateSize(d.StartKey, d.EndKey)
	if err != nil {
		return nil, false, err
	}
	var mid []byte
	if total > countedBytes {
		mid, err = middle(e, d, total)
	} else { // much of it may not be on disk yet
		_, mid, err = countRows(e, d.StartKey, d.EndKey, n.measured.of(r).size.Load()/2)
	}
	if err != nil || mid == nil {
		return nil, false, err
	}
	key, err := n.firstRow(mid, d)
	return key, key != nil, err
}

// maxBisect bounds the search for the middle of a range: each step halves what is
// left of the key space, which for keys that begin alike means a bit.
const maxBisect = 256

// between returns a key about in the middle of a and b, which are in order; nil if
// they are too near.
func between(a, b []byte) []byte {
	n := max(len(a), len(b)) + 1
	at := func(k []byte, i int) int {
		if i < len(k) {
			return int(k[i])
		}
		return 0
	}
	// (a + b) / 2 as fractions of base 256.
	sum := make([]int, n)
	carry := 0
	for i := n - 1; i >= 0; i-- {
		s := at(a, i) + at(b, i) + carry
		sum[i], carry = s&0xff, s>>8
	}
	mid := make([]byte, 0, n)
	rest := carry
	for i := range n {
		s := rest<<8 + sum[i]
		mid, rest = append(mid, byte(s>>1)), s&1
	}
	for len(mid) > 0 && mid[len(mid)-1] == 0 {
		mid = mid[:len(mid)-1]
	}
	if string(mid) <= string(a) || string(mid) >= string(b) || len(mid) > maxMidKey {
		return nil
	}
	return mid
}

// maxMidKey bounds the length of the keys that the search for the middle tries.
const maxMidKey = 256

// firstRow returns where the first row that begins after the start of a range and
// not before key begins, nil if there is none.
func (n *Node) firstRow(key []byte, d *kvpb.RangeDescriptor) ([]byte, error) {
	r, ok := n.store.Replica(d.RangeID)
	if !ok {
		return nil, &kvpb.RangeMismatchError{Range: d.RangeID}
	}
	it, err := n.store.Of(r).Engine().NewIter(storage.IterOptions{Lower: key, Upper: d.EndKey})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		k, _, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return nil, err
		}
		if k, ok := rowStart(k); ok && string(k) > string(d.StartKey) {
			return append([]byte(nil), k...), nil
		}
	}
	return nil, it.Error()
}

// changeReplicas changes the members of a range that is led here, when others have done so:
// placement would take the learner of a change under way for one that was left over.
func (n *Node) changeReplicas(ctx context.Context, r *replica.Replica, cs []placement.Change) error {
	m := n.measured.of(r)
	if err := m.takeTurn(ctx); err != nil {
		return err
	}
	defer m.changing.Store(false)
	if len(cs) == 0 {
		return n.leaveJoint(ctx, r)
	}
	last, added, err := planReplicas(r.Desc(), n.store.Of(r).Identity().Store, cs)
	if err != nil {
		return err
	}
	for _, c := range added {
		err := n.applyChanges(ctx, r, []replica.Change{{Kind: replica.AddLearner, Node: c.Node, Store: c.Store}})
		if err != nil {
			return fmt.Errorf("adding a learner on store %d: %w", c.Store, err)
		}
	}
	for _, c := range cs {
		if c.Kind == placement.AddVoter || c.Kind == placement.AddLearner {
			if err := n.awaitCaughtUp(ctx, r, c.Target); err != nil {
				return err
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	if err := n.applyChanges(ctx, r, last); err != nil {
		return err
	}
	return n.leaveJoint(ctx, r)
}

// takeTurn waits until nobody here changes the range's replicas.
func (m *measured) takeTurn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := watch(ctx, func() (bool, error) { return m.changing.CompareAndSwap(false, true), nil })
	if err != nil {
		return fmt.Errorf("range %d: another change of its replicas is under way: %w", m.RangeID(), err)
	}
	return nil
}

// planReplicas checks changes to a range that a store leads and sorts them into the
// learners that come first and the changes that take effect together at last.
func planReplicas(d *kvpb.RangeDescriptor, leader kvpb.StoreID, cs []placement.Change) (last []replica.Change, added []placement.Change, err error) {
	bad := func(c placement.Change, why string) error {
		return fmt.Errorf("range %d: %v on store %d: %s", d.RangeID, c.Kind, c.Store, why)
	}
	for _, c := range cs {
		rep, there := d.Replica(c.Store)
		switch c.Kind {
		case placement.AddVoter, placement.AddLearner:
			if there && (c.Kind == placement.AddLearner || rep.Type != kvpb.Learner) {
				return nil, nil, bad(c, "there is a replica already")
			}
			for _, o := range d.Replicas {
				if o.Node == c.Node && o.Store != c.Store && !removes(cs, o.Store) {
					return nil, nil, bad(c, "its node has a replica already")
				}
			}
			if !there {
				added = append(added, c)
			}
			if c.Kind == placement.AddVoter {
				last = append(last, replica.Change{Kind: replica.Promote, Node: c.Node, Store: c.Store})
			}
		case placement.RemoveVoter, placement.RemoveLearner:
			switch {
			case !there:
				return nil, nil, bad(c, "there is no replica")
			case c.Store == leader:
				return nil, nil, bad(c, "it leads the range")
			case (rep.Type == kvpb.Learner) != (c.Kind == placement.RemoveLearner):
				return nil, nil, bad(c, "the replica is of another type")
			}
			last = append(last, replica.Change{Kind: replica.Remove, Node: rep.Node, Store: c.Store})
		default:
			return nil, nil, bad(c, "this is no change of members")
		}
	}
	return last, added, nil
}

// removes reports whether changes end with no replica on a store: it moves to another
// disk of the node, perhaps.
func removes(cs []placement.Change, id kvpb.StoreID) bool {
	return slices.ContainsFunc(cs, func(c placement.Change) bool {
		return c.Store == id && (c.Kind == placement.RemoveVoter || c.Kind == placement.RemoveLearner)
	})
}

// applyChanges makes changes take effect together, waiting for what is in their way.
func (n *Node) applyChanges(ctx context.Context, r *replica.Replica, cs []replica.Change) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var last error
	var before uint64
	err := watch(ctx, func() (bool, error) {
		before = r.Desc().Generation
		last = r.ChangeReplicas(ctx, cs)
		if errors.Is(last, replica.ErrBusy) || errors.Is(last, replica.ErrBehind) {
			return false, nil
		}
		return true, last
	})
	if err != nil && last != nil && ctx.Err() != nil {
		return last // says more than that the time is over
	}
	if err != nil {
		return err
	}
	return described(ctx, r, before)
}

// described waits until a replica shows the change that it has just applied.
func described(ctx context.Context, r *replica.Replica, before uint64) error {
	return watch(ctx, func() (bool, error) { return r.Desc().Generation > before, nil })
}

// leaveJoint waits for the end of a joint configuration, which raft sees to.
func (n *Node) leaveJoint(ctx context.Context, r *replica.Replica) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := watch(ctx, func() (bool, error) {
		if r.Desc().Joint() {
			return false, stillLeads(r)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("range %d: leaving a joint configuration: %w", r.RangeID(), err)
	}
	return nil
}

// awaitCaughtUp waits until a new replica has the range's data and its log.
func (n *Node) awaitCaughtUp(ctx context.Context, r *replica.Replica, t placement.Target) error {
	m := n.measured.of(r)
	var match uint64
	moved := time.Now()
	return watch(ctx, func() (bool, error) {
		r.Progress(func(list []replica.FollowerProgress) { m.progress.Store(&list) })
		if list := m.progress.Load(); list != nil {
			for _, f := range *list {
				if f.Replica.Store != t.Store {
					continue
				}
				if f.Match > match {
					match, moved = f.Match, time.Now()
				}
				if f.Match > 0 && f.Behind <= maxTransferLag {
					return true, nil
				}
			}
		}
		_, member := r.Desc().Replica(t.Store)
		switch {
		case !member:
			return false, fmt.Errorf("range %d: the new replica on store %d was removed", r.RangeID(), t.Store)
		case time.Since(moved) > catchUpStall:
			return false, fmt.Errorf("range %d: the replica on store %d does not catch up", r.RangeID(), t.Store)
		case !n.live.Live(t.Node) && time.Since(n.live.LastHeard(t.Node)) > deadTimeout:
			return false, fmt.Errorf("range %d: node %d, which is to get a replica, does not answer", r.RangeID(), t.Node)
		}
		return false, stillLeads(r)
	})
}

func stillLeads(r *replica.Replica) error {
	if !r.Leads() {
		return fmt.Errorf("range %d: leadership was lost during the change", r.RangeID())
	}
	return nil
}

// watch calls done until it says so or fails.
func watch(ctx context.Context, done func() (bool, error)) error {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// transferLeader hands the leadership of a range to another store.
func (n *Node) transferLeader(ctx context.Context, r *replica.Replica, to kvpb.StoreID) error {
	if to == n.store.Of(r).Identity().Store {
		return nil
	}
	rep, ok := r.Desc().Replica(to)
	if !ok || rep.Type != kvpb.Voter {
		return fmt.Errorf("range %d: store %d has no voter that could lead", r.RangeID(), to)
	}
	if i, ok := n.live.Node(rep.Node); !ok || i.Draining || !n.live.Live(rep.Node) {
		return fmt.Errorf("range %d: node %d, which is to lead it, does not answer or is about to stop", r.RangeID(), rep.Node)
	}
	if err := n.awaitCaughtUp(ctx, r, placement.Target{Node: rep.Node, Store: to}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if n.store.Of(r).Disk().Slow {
		r.ResignTo(rep) // the requests under way may take too long to wait for
	} else {
		r.OfferLeader(rep.Replica) // no other move is worth the transactions of its row locks
	}
	err := watch(ctx, func() (bool, error) {
		now, ok := r.Leader()
		return ok && now.Store == to && !r.Leads(), nil
	})
	if err != nil {
		r.Reclaim()
		return fmt.Errorf("range %d: store %d did not take over leadership: %w", r.RangeID(), to, err)
	}
	return nil
}

// splitRange makes a range that is led here end at key, where a new one begins. If it
// begins there itself it does so from now on, whatever merge was on its way.
func (n *Node) splitRange(ctx context.Context, r *replica.Replica, key []byte) error {
	d := r.Desc()
	switch {
	case string(d.StartKey) == string(key):
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		defer cancel()
		return watch(ctx, func() (bool, error) {
			if err := r.Renew(ctx); !errors.Is(err, replica.ErrBusy) {
				return true, err
			}
			return false, nil
		})
	case !d.ContainsKey(key):
		return &kvpb.RangeMismatchError{Range: d.RangeID, Known: []kvpb.RangeDescriptor{*d}}
	case d.RangeID == firstRange && !n.cfg.SingleNode && string(key) != string(keys.MetaSpan().End):
		return errors.New("the range of the meta records can't be split")
	}
	id, err := n.newRangeID(ctx)
	if err != nil {
		return fmt.Errorf("an id for a new range: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err = watch(ctx, func() (bool, error) {
		if err := r.Split(ctx, key, id); !errors.Is(err, replica.ErrBusy) {
			return true, err
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	n.measured.of(r).load.Reset()
	if n.cfg.SingleNode {
		return nil
	}
	if err := described(ctx, r, d.Generation); err != nil {
		return nil // it was split all the same
	}
	n.addressSplit(ctx, r, id)
	return nil
}

// addressSplit writes the addresses of the halves of a range, so that those who look
// next find the new one. The publisher goes on if it fails.
func (n *Node) addressSplit(ctx context.Context, left *replica.Replica, right kvpb.RangeID) {
	descs := []*kvpb.RangeDescriptor{left.Desc()}
	err := watch(ctx, func() (bool, error) {
		r, ok := n.store.Replica(right)
		if ok = ok && r.Initialized(); ok {
			descs = append(descs, r.Desc())
		}
		return ok, nil
	})
	if err == nil {
		err = n.writeAddress(ctx, descs...)
	}
	if err != nil {
		n.log.Warn("addresses after a split", "range", left.RangeID(), "new", right, "err", err)
	}
}

// splitFirstRange leaves only the meta records in the first range, which never
// splits later: at the founding of a cluster it holds everything.
func (n *Node) splitFirstRange(ctx context.Context) error {
	r, ok := n.store.Replica(firstRange)
	end := keys.MetaSpan().End
	if !ok || !r.Leads() || string(r.Desc().EndKey) <= string(end) {
		return nil
	}
	return n.splitRange(ctx, r, end)
}
