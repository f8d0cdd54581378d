package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// A gateway has two records, which are written and deleted together. The first says who it is; it changes
// only when the gateway registers or is struck off. The second says until when it may use what it has
// cached; each renewal writes it. The fields' names in JSON are those under which they were first stored.

// The names of the system keys of gateways; a node id follows the first two.
const (
	sysMember  = "gateway/"
	sysLease   = "gateway-lease/"
	sysLeft    = "gateway-left"
	sysCleaner = "cat/cleaner"
)

// member is the first record.
type member struct {
	Node        kvpb.NodeID
	Incarnation int64 `json:"Life"` // of the node
	// Registration tells the registrations of a node apart; an incarnation may have several.
	Registration int64 `json:"Incarnation"`

	expires int64 // of the lease
}

// memberLease is the second.
type memberLease struct {
	Registration int64 `json:"Incarnation"`
	// Expiration is a wall time in nanoseconds.
	Expiration int64
}

func memberKey(n kvpb.NodeID) []byte {
	return keys.SystemKey(sysMember + strconv.FormatUint(uint64(n), 10))
}

func leaseKey(n kvpb.NodeID) []byte {
	return keys.SystemKey(sysLease + strconv.FormatUint(uint64(n), 10))
}

func leftKey() []byte { return keys.SystemKey(sysLeft) }

func decodeRecord(b []byte, found bool, into any) error {
	if !found {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return pgerr.New(pgerr.DataCorrupted, "damaged gateway record: %v", err)
	}
	return nil
}

// decodeMember returns the zero member if there is none.
func decodeMember(b []byte, found bool) (m member, err error) {
	return m, decodeRecord(b, found, &m)
}

func putRecord(ctx context.Context, t *kv.Txn, key []byte, r any) error {
	b, err := json.Marshal(r)
	if err != nil {
		return pgerr.From(err)
	}
	if _, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		return err
	}
	return t.Put(key, b)
}

// noteLeft records that a gateway has left at the present time, taking with it the knowledge of what
// its sessions wrote last. Until unsettled, commits of theirs may happen yet.
func (g *gateway) noteLeft(ctx context.Context, t *kv.Txn, unsettled int64) error {
	return putRecord(ctx, t, leftKey(), max(g.s.db.Clock().Now().WallTime, unsettled))
}

// errStruckOff says that the registration is gone.
var errStruckOff = errors.New("catalog: the gateway is not registered any more")

// register writes the node's records, learns the locks that others hold, and
// loads the catalog. It returns when the node may serve.
func (g *gateway) register(ctx context.Context) error {
	reg := g.s.db.Clock().Now().WallTime
	expires := g.clock.PhysicalNow() + int64(g.validity)
	err := g.s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		// Commits under a former registration that has not expired may be on their way.
		res, err := t.Lock(ctx, leaseKey(g.node), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		var former memberLease
		if err := decodeRecord(res.Value, res.Found, &former); err != nil {
			return err
		}
		if err := putRecord(ctx, t, leaseKey(g.node), memberLease{reg, expires}); err != nil {
			return err
		}
		if err := putRecord(ctx, t, memberKey(g.node), member{Node: g.node, Incarnation: g.incarnation, Registration: reg}); err != nil {
			return err
		}
		return g.noteLeft(ctx, t, former.Expiration)
	})
	if err != nil {
		return err
	}
	if err := g.inherit(ctx); err != nil {
		return err
	}
	if err := g.loadAll(ctx); err != nil {
		return err
	}
	if g.epoch.Load() == 0 {
		g.epoch.Store(1)
	}
	g.registration.Store(reg)
	g.once.Do(func() { close(g.loaded) })
	// What was learnt above is true only if the registration lasted all the time.
	return g.renewOnce(ctx)
}

// keepAlive renews the registration, and registers again if it was taken away.
func (g *gateway) keepAlive(ctx context.Context) {
	defer g.done.Done()
	wait := g.renew
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		c, cancel := context.WithTimeout(ctx, g.validity)
		err := g.renewOnce(c)
		if errors.Is(err, errStruckOff) {
			g.lose()
			err = g.register(c)
		}
		cancel()
		wait = g.renew
		if err != nil {
			wait = g.backoff
		}
	}
}

// renewOnce prolongs the registration.
func (g *gateway) renewOnce(ctx context.Context) error {
	reg := g.registration.Load()
	var expires int64
	err := g.s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		res, err := t.Lock(ctx, leaseKey(g.node), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		var l memberLease
		if err := decodeRecord(res.Value, res.Found, &l); err != nil {
			return err
		}
		if reg == 0 || l.Registration != reg {
			return errStruckOff
		}
		expires = g.clock.PhysicalNow() + int64(g.validity)
		return putRecord(ctx, t, leaseKey(g.node), memberLease{reg, expires})
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && g.registration.Load() == reg { // else distrust came in between
		g.validUntil.Store(expires - int64(g.clock.MaxOffset()))
	}
	return err
}

// deregister deletes the records of a registration. With expired it does so only
// if the registration, and with it the deadlines of its commits, has expired.
func (g *gateway) deregister(ctx context.Context, n kvpb.NodeID, reg int64, expired bool) error {
	unsettled := int64(0)
	if n == g.node {
		unsettled = g.unsettled.Load()
	}
	return g.s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		res, err := t.Lock(ctx, leaseKey(n), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		var l memberLease
		if err := decodeRecord(res.Value, res.Found, &l); err != nil {
			return err
		}
		if !res.Found || l.Registration != reg || expired && g.clock.PhysicalNow() <= l.Expiration {
			return nil
		}
		// A change of the catalog that is being committed holds this lock.
		if _, err := t.Lock(ctx, memberKey(n), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		if err := g.noteLeft(ctx, t, unsettled); err != nil {
			return err
		}
		if err := t.Delete(leaseKey(n)); err != nil {
			return err
		}
		return t.Delete(memberKey(n))
	})
}

// members are the registrations at one moment.
type members struct {
	all  []member // of other nodes, in the order of their ids
	self member
	// left is when a gateway last went.
	left hlc.Timestamp
}

func (ms *members) find(n kvpb.NodeID) (member, bool) {
	for _, m := range ms.all {
		if m.Node == n {
			return m, true
		}
	}
	return member{}, false
}

// members reads the registrations as they are now: those that were complete before
// the call are among them.
func (g *gateway) members(ctx context.Context) (ms members, err error) {
	err = g.s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		ms = members{}
		v, found, err := t.Get(ctx, leftKey())
		if err != nil {
			return err
		}
		if err := decodeRecord(v, found, &ms.left.WallTime); err != nil {
			return err
		}
		err = scanSystem(ctx, t, sysMember, func(_, v []byte) error {
			m, err := decodeMember(v, true)
			if err == nil && m.Node == g.node {
				ms.self = m
			} else if err == nil {
				ms.all = append(ms.all, m)
			}
			return err
		})
		for i := range ms.all {
			var l memberLease
			v, found, gerr := t.Get(ctx, leaseKey(ms.all[i].Node))
			if err = errors.Join(err, gerr); err == nil {
				err = decodeRecord(v, found, &l)
			}
			ms.all[i].expires = l.Expiration
		}
		return err
	})
	slices.SortFunc(ms.all, func(a, b member) int { return cmp.Compare(a.Node, b.Node) })
	return ms, err
}

// gone is called when m does not answer: it strikes m off if its registration has
// expired, and reports whether m is registered no longer.
func (g *gateway) gone(ctx context.Context, m member) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, g.deadline)
	defer cancel()
	if err := g.deregister(ctx, m.Node, m.Registration, true); err != nil {
		return false, err
	}
	ms, err := g.members(ctx)
	if err != nil {
		return false, err
	}
	now, ok := ms.find(m.Node)
	return !ok || now.Registration != m.Registration, nil
}
