package membership

import (
	"cmp"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// Members are the registrations at one moment.
type Members struct {
	All []Member // of other nodes, in the order of their ids
	// Left is when a gateway last went, or the time until which commits of its sessions may happen.
	Left hlc.Timestamp
}

// Find returns the registration of a node.
func (ms *Members) Find(n kvpb.NodeID) (Member, bool) {
	for _, r := range ms.All {
		if r.Node == n {
			return r, true
		}
	}
	return Member{}, false
}

// Members reads the registrations as they are now: those that were complete before
// the call are among them.
func (m *Membership) Members(ctx context.Context) (ms Members, err error) {
	err = m.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		ms = Members{}
		v, found, err := t.Get(ctx, leftKey())
		if err != nil {
			return err
		}
		if err := decode(v, found, &ms.Left.WallTime); err != nil {
			return err
		}
		err = kv.Each(ctx, t, keys.SystemSpan(sysMember), func(_, v []byte) (bool, error) {
			var r Member
			if err := decode(v, true, &r); err != nil {
				return false, err
			}
			if r.Node != m.Node {
				ms.All = append(ms.All, r)
			}
			return true, nil
		})
		for i := 0; err == nil && i < len(ms.All); i++ {
			ms.All[i].expires, err = expiration(ctx, t, ms.All[i].Node)
		}
		return err
	})
	slices.SortFunc(ms.All, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
	return ms, err
}

// expiration returns the end of a gateway's lease, 0 if it has none.
func expiration(ctx context.Context, t *kv.Txn, n kvpb.NodeID) (int64, error) {
	v, found, err := t.Get(ctx, leaseKey(n))
	if err != nil {
		return 0, err
	}
	var l lease
	err = decode(v, found, &l)
	return l.Expiration, err
}

// Expired reports whether a registration that was read has expired by this node's clock.
func (m *Membership) Expired(r Member) bool { return m.Clock.PhysicalNow() > r.expires }

// Gone is called when a member does not answer: it strikes the member off if its registration has
// expired, and reports whether it is registered no longer.
func (m *Membership) Gone(ctx context.Context, r Member) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, m.Timing.Deadline)
	defer cancel()
	if err := m.deregister(ctx, r.Node, r.Registration, true); err != nil {
		return false, err
	}
	ms, err := m.Members(ctx)
	if err != nil {
		return false, err
	}
	now, ok := ms.Find(r.Node)
	return !ok || now.Registration != r.Registration, nil
}

// deregister deletes the records of a registration. With expired it does so only
// if the registration, and with it the deadlines of its commits, has expired.
func (m *Membership) deregister(ctx context.Context, n kvpb.NodeID, reg int64, expired bool) error {
	unsettled := int64(0)
	if n == m.Node {
		unsettled = m.unsettled.Load()
	}
	return m.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		var l lease
		found, err := lockRecord(ctx, t, leaseKey(n), lock.Update, &l)
		if err != nil {
			return err
		}
		if !found || l.Registration != reg || expired && m.Clock.PhysicalNow() <= l.Expiration {
			return nil
		}
		// A change of the catalog that is being committed holds this lock.
		if _, err := t.Lock(ctx, memberKey(n), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		if err := m.noteLeft(ctx, t, unsettled); err != nil {
			return err
		}
		if err := t.Delete(leaseKey(n)); err != nil {
			return err
		}
		return t.Delete(memberKey(n))
	})
}

// noteLeft records that a gateway has left at the present time, taking with it the knowledge of what
// its sessions wrote last. Until unsettled, commits of theirs may happen yet.
func (m *Membership) noteLeft(ctx context.Context, t *kv.Txn, unsettled int64) error {
	return put(ctx, t, leftKey(), max(m.DB.Clock().Now().WallTime, unsettled))
}
