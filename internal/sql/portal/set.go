package portal

import (
	"context"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// maxPortals bounds the open portals of a session, cursors among them.
	maxPortals = 10_000
	// portalBytes estimates what a portal takes without its parameters.
	portalBytes = 512
	// maxUncounted is the size below which the parameters of the unnamed portal do not count:
	// most statements are executed by it.
	maxUncounted = 8 << 10
)

// Set is the portals of a session. Those with names, and the unnamed one if its parameters are
// not small, count against the memory of the node.
type Set struct {
	mem     quota.Account
	named   map[string]*Portal
	unnamed *Portal
	number  int // of the newest portal with a name
}

// Init makes s ready; pool is where the memory comes from.
func (s *Set) Init(pool *quota.Pool) {
	s.mem.Init(pool)
	s.named = map[string]*Portal{}
}

// Bind makes a portal; "" is the unnamed one, which must be closed and is replaced. The set keeps
// params until the portal closes.
func (s *Set) Bind(name string, p *prepared.Statement, params []types.Datum, cols []plan.Column) (*Portal, error) {
	if name != "" {
		portal := &Portal{Name: name, statement: p, params: params, cols: cols}
		return portal, s.Add(portal)
	}
	if s.unnamed == nil {
		s.unnamed = &Portal{}
	}
	held := paramBytes(params)
	if held < maxUncounted {
		held = 0
	} else if err := s.mem.Grow(held); err != nil {
		return nil, errNoMemory(err)
	}
	*s.unnamed = Portal{statement: p, params: params, cols: cols, Connection: s.unnamed.Connection, held: held}
	return s.unnamed, nil
}

// Add adds a portal with a name; 42P03 if there is one of that name, 53400 if there are too many,
// 53200 if there is no memory for it.
func (s *Set) Add(p *Portal) error {
	switch {
	case s.named[p.Name] != nil:
		return pgerr.New(pgerr.DuplicateCursor, "cursor \"%s\" already exists", p.Name)
	case len(s.named) >= maxPortals:
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many open portals and cursors (limit %d)", maxPortals)
	}
	size := portalBytes + paramBytes(p.params)
	if err := s.mem.Grow(size); err != nil {
		return errNoMemory(err)
	}
	s.number++
	p.held, p.number, p.created = size, s.number, time.Now()
	s.named[p.Name] = p
	return nil
}

// paramBytes returns what parameters take. Large values count where they are made.
func paramBytes(params []types.Datum) int64 {
	size := int64(unsafe.Sizeof(types.Null)) * int64(len(params))
	for i := range params {
		if n := len(params[i].Str()); n < quota.LargeValue {
			size += int64(n)
		}
	}
	return size
}

func errNoMemory(cause error) error {
	e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", cause.Error()).
		WithHint("Close portals and cursors that are no longer needed, or raise --max-memory.")
	e.Cause = cause
	return e
}

// Find returns an open portal, "" being the unnamed one; 34000 if there is none.
func (s *Set) Find(name string) (*Portal, error) {
	p := s.named[name]
	if name == "" && s.unnamed != nil && s.unnamed.statement != nil {
		p = s.unnamed
	}
	if p == nil {
		return nil, pgerr.New(pgerr.InvalidCursorName, "portal \"%s\" does not exist", name)
	}
	return p, nil
}

// Named returns what a statement calls a cursor; 34000 if there is none.
func (s *Set) Named(name string) (*Portal, error) {
	if p := s.named[name]; p != nil {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "cursor \"%s\" does not exist", name)
}

// List returns all open portals.
func (s *Set) List() []*Portal {
	out := slices.Collect(maps.Values(s.named))
	if s.unnamed != nil && s.unnamed.statement != nil {
		out = append(out, s.unnamed)
	}
	return out
}

// Close closes a portal with a name; an absent one is no error.
func (s *Set) Close(name string) {
	if p := s.named[name]; p != nil {
		s.Drop(p)
	}
}

// Has reports whether a portal with a name is still there.
func (s *Set) Has(p *Portal) bool { return s.named[p.Name] == p }

// Drop closes a portal.
func (s *Set) Drop(p *Portal) {
	p.close()
	s.give(p)
	if s.named[p.Name] == p {
		delete(s.named, p.Name)
	}
}

// give returns the memory of a portal, and with the last one what was reserved ahead.
func (s *Set) give(p *Portal) {
	if p.held == 0 {
		return
	}
	if s.mem.Shrink(p.held); s.mem.Used() == 0 {
		s.mem.Close()
	}
	p.held = 0
}

// CloseUnnamed closes the unnamed portal; false if there never was one.
func (s *Set) CloseUnnamed() bool {
	if s.unnamed == nil {
		return false
	}
	s.unnamed.close()
	s.give(s.unnamed)
	s.unnamed.statement, s.unnamed.params = nil, nil
	return true
}

// CloseNamed closes the portals with names.
func (s *Set) CloseNamed() {
	for _, p := range s.named {
		s.Drop(p)
	}
}

// TxnEnded closes what runs in the transaction that ends: all but the cursors WITH HOLD of
// transactions that have committed.
func (s *Set) TxnEnded() {
	for _, p := range s.named {
		if p.cursor == nil || !p.cursor.held {
			s.Drop(p)
		}
	}
	if s.unnamed != nil && (s.unnamed.suspended != nil || s.unnamed.cursor != nil) {
		s.unnamed.close()
	}
}

// TxnFailed ends what runs in a transaction that has failed. The portals stay until it is rolled
// back.
func (s *Set) TxnFailed() {
	for _, p := range s.named {
		if p.cursor == nil || !p.cursor.held {
			p.close()
		}
	}
}

// BeforeCommit reads what is left of the cursors WITH HOLD.
func (s *Set) BeforeCommit(ctx context.Context, txn *kv.Txn) error {
	for _, p := range s.named {
		if c := p.cursor; c != nil && c.Hold && !c.held {
			if err := c.persist(ctx, txn); err != nil {
				return err
			}
		}
	}
	return nil
}

// TxnCommitted notes that the transaction has committed.
func (s *Set) TxnCommitted() {
	for _, p := range s.named {
		if c := p.cursor; c != nil {
			c.held = c.held || c.Hold
		}
	}
}

// Mark returns the present state, for RollbackTo.
func (s *Set) Mark() int { return s.number }

// RollbackTo closes the portals that are newer than a mark.
func (s *Set) RollbackTo(mark int) {
	for _, p := range s.named {
		if p.number > mark {
			s.Drop(p)
		}
	}
}
