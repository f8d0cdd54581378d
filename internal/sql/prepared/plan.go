package prepared

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// Limits of the plan cache of a node.
const (
	maxCachedPlans = 4096
	// maxCachedText is the longest statement text whose plan is kept.
	maxCachedText = 64 << 10
	// maxIdlePrograms bounds the compiled programs kept per plan.
	maxIdlePrograms = 32
)

// key is everything a plan depends on but the catalog.
type key struct {
	text       string
	params     string // oids the client declared
	database   uint64
	searchPath string
	user       privilege.Role
	settings   string
	escapes    bool // parser.Statement.Escapes
}

// Plan is a plan with the programs compiled from it. A program carries state and serves one
// execution at a time; Plan keeps it between executions.
type Plan struct {
	// Prep is the plan itself.
	Prep *plan.Prepared
	// Once says that it is for the parameters of one execution only.
	Once bool

	key key
	// generation is the catalog's generation under which the plan was last found
	// valid; sessions that share the plan raise it.
	generation atomic.Uint64
	size       int64  // estimated bytes, without programs
	access     uint64 // catalog.AccessGeneration under which its user was allowed to run it
	stats      uint64 // epoch of the table statistics it was made under

	// uses counts the executions of a plan that was weighed by their parameters; varies says
	// that the parameters of one wanted another.
	uses   atomic.Uint64
	varies atomic.Bool

	mu   sync.Mutex
	idle []*exec.Program

	indexes atomic.Pointer[[]IndexUse]
}

// IndexUse is where the executions of a plan count that they read an index.
type IndexUse struct {
	Counter *stmtstats.IndexUse
	Full    bool // all of the index is read
}

// Indexes returns where executions count which indexes they read; make says it for the first one.
func (c *Plan) Indexes(make func() []IndexUse) []IndexUse {
	p := c.indexes.Load()
	if p == nil {
		list := make()
		p = &list
		c.indexes.Store(p)
	}
	return *p
}

// Program returns a program that nobody else uses.
func (c *Plan) Program() (*exec.Program, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		p := c.idle[n-1]
		c.idle[n-1] = nil // it may come to hold large values
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return p, nil
	}
	c.mu.Unlock()
	return exec.Compile(c.Prep)
}

// Release gives a program back.
func (c *Plan) Release(p *exec.Program) {
	if !p.Reusable() {
		return
	}
	c.mu.Lock()
	if len(c.idle) < maxIdlePrograms {
		c.idle = append(c.idle, p)
	}
	c.mu.Unlock()
}

// Cache holds the plans of a node that were used last. It is safe for concurrent use.
type Cache struct {
	limit int64 // of size; 0 is none
	size  int64 // of the plans, in bytes
	mu    sync.Mutex
	byKey map[key]*list.Element // of *Plan
	order *list.List            // most recent first
}

// NewCache returns a cache of plans of limit bytes; 0 means that only their number is
// bounded.
func NewCache(limit int64) *Cache {
	return &Cache{limit: limit, byKey: map[key]*list.Element{}, order: list.New()}
}

func (c *Cache) get(k key) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*Plan)
}

func (c *Cache) put(p *Plan) {
	if len(p.key.text) > maxCachedText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[p.key]; e != nil {
		c.remove(e)
	}
	c.byKey[p.key] = c.order.PushFront(p)
	c.size += p.size
	for c.order.Len() > maxCachedPlans || c.limit > 0 && c.size > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	p := c.order.Remove(e).(*Plan)
	c.size -= p.size
	delete(c.byKey, p.key)
}
