package sql

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Limits of the plan cache of a node.
const (
	maxCachedPlans = 4096
	// maxCachedText is the longest statement text whose plan is kept.
	maxCachedText = 64 << 10
	// maxIdlePrograms bounds the compiled programs kept per plan.
	maxIdlePrograms = 32
)

// planKey is everything a plan depends on but the catalog.
type planKey struct {
	text       string
	params     string // oids the client declared
	database   uint64
	searchPath string
	user       string
	settings   string
	escapes    bool // parser.Statement.Escapes
}

// cachedPlan is a plan with programs compiled from it. Programs carry state and
// serve one execution at a time; between executions they rest here.
type cachedPlan struct {
	key  planKey
	prep *plan.Prepared
	// generation is the catalog's generation under which the plan was last found
	// valid; sessions that share the plan raise it.
	generation atomic.Uint64
	size       int64  // estimated bytes, without programs
	stats      uint64 // epoch of the table statistics it was made under

	// once says that it is for the parameters of one execution only.
	once bool
	// uses counts the executions of a plan that was weighed by their parameters; varies says
	// that the parameters of one wanted another.
	uses   atomic.Uint64
	varies atomic.Bool

	mu   sync.Mutex
	idle []*exec.Program
}

// program returns a program that nobody else uses.
func (c *cachedPlan) program() (*exec.Program, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		p := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return p, nil
	}
	c.mu.Unlock()
	return exec.Compile(c.prep)
}

func (c *cachedPlan) release(p *exec.Program) {
	if !p.Reusable() {
		return
	}
	c.mu.Lock()
	if len(c.idle) < maxIdlePrograms {
		c.idle = append(c.idle, p)
	}
	c.mu.Unlock()
}

// planCache holds the plans of a node, the most recently used ones.
type planCache struct {
	limit int64 // of size; 0 is none
	size  int64 // of the plans, in bytes
	mu    sync.Mutex
	byKey map[planKey]*list.Element // of *cachedPlan
	order *list.List                // most recent first
}

// newPlanCache returns a cache of plans of limit bytes; 0 means that only their number is
// bounded.
func newPlanCache(limit int64) *planCache {
	return &planCache{limit: limit, byKey: map[planKey]*list.Element{}, order: list.New()}
}

func (c *planCache) get(k planKey) *cachedPlan {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedPlan)
}

func (c *planCache) put(p *cachedPlan) {
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

func (c *planCache) remove(e *list.Element) {
	p := c.order.Remove(e).(*cachedPlan)
	c.size -= p.size
	delete(c.byKey, p.key)
}
