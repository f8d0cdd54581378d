package sql

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// What sessions keep between statements counts against a share of the node's memory: named
// prepared statements with their plans, and portals with their parameters.
//
// A plan can be made again, so it gives way: a session that finds no memory for another
// statement drops its plans, and a plan for which there is no memory serves one execution.

const (
	// heldShare is which part of the node's memory sessions may keep, all of them together.
	heldShare = 2
	// cachedShare is which part of the node's memory the cached plans may take.
	cachedShare = 8
	// droppableShare is which part of what a session holds its plans must be to be dropped:
	// each drop looks at all statements.
	droppableShare = 8
)

// Estimates of what is kept, in bytes. They were fitted to the heap's growth under statements
// of several kinds, and are rather too high than too low.
const (
	statementBytes = 768 // a Prepared and its entry
	treeBytes      = 16  // the syntax tree, for each byte of text
	planBytes      = 512 // a plan
	nodeBytes      = 512 // an operator
	columnBytes    = 96  // a column of an operator
	exprBytes      = 160 // a node of an expression
	portalBytes    = 512
)

// heldPool returns the pool of what sessions keep between statements.
func heldPool(mem *quota.Pool) *quota.Pool {
	if mem == nil {
		return nil
	}
	return mem.Child("prepared statements and portals", mem.Limit()/heldShare)
}

// planSize estimates the bytes that a plan takes.
func planSize(root plan.Node) int64 {
	size := int64(planBytes)
	countExpr := func(e plan.Expr) bool {
		size += exprBytes
		if sub, ok := e.(*plan.Subquery); ok {
			size += planSize(sub.Plan)
		}
		return true
	}
	plan.Walk(root, func(n plan.Node) bool {
		size += nodeBytes + columnBytes*int64(len(n.Props().Cols))
		plan.VisitExprs(n, func(e *plan.Expr) { plan.WalkExpr(*e, countExpr) })
		return true
	})
	return size
}

// held is what a session keeps between statements.
type held struct {
	mem   quota.Account
	plans int64 // bytes of mem that are plans
}

// holdStatement accounts for a statement that gets a name; 53200 if there is no memory for it.
func (s *Session) holdStatement(p *Prepared) error {
	size := int64(statementBytes)
	if len(p.Text) < longText { // a longer one is accounted for by parse
		size += treeBytes * int64(len(p.Text))
	}
	err := s.held.mem.Grow(size)
	if err != nil && s.held.plans > s.held.mem.Used()/droppableShare {
		s.dropPlans()
		err = s.held.mem.Grow(size)
	}
	if err != nil {
		return errHeld(err, "prepared statements")
	}
	p.held = size
	s.keepPlan(p, p.plan)
	return nil
}

// keepPlan makes a plan the one by which p is executed next, if there is memory for it.
func (s *Session) keepPlan(p *Prepared, c *cachedPlan) {
	if p.held == 0 {
		p.plan = c
		return
	}
	s.dropPlan(p)
	if c != nil && s.held.mem.Grow(c.size) == nil {
		p.plan, p.planHeld = c, c.size
		s.held.plans += c.size
	}
}

func (s *Session) dropPlan(p *Prepared) {
	s.held.mem.Shrink(p.planHeld)
	s.held.plans -= p.planHeld
	p.plan, p.planHeld = nil, 0
}

// dropPlans drops the plans of the statements with names.
func (s *Session) dropPlans() {
	for _, p := range s.statements {
		s.dropPlan(p)
	}
}

// forgetStatement removes a statement with a name.
func (s *Session) forgetStatement(p *Prepared) {
	last := p.plan // a portal may still run it
	s.dropPlan(p)
	s.held.give(p.held)
	p.plan, p.held = last, 0
	delete(s.statements, p.Name)
}

// forgetStatements removes all statements with names.
func (s *Session) forgetStatements() {
	for _, p := range s.statements {
		s.forgetStatement(p)
	}
}

// holdPortal accounts for a portal that gets a name; 53200 if there is no memory for it.
func (s *Session) holdPortal(p *Portal) error {
	size := int64(portalBytes)
	for _, d := range p.params {
		size += int64(unsafe.Sizeof(d)) + int64(len(d.Str()))
	}
	if err := s.held.mem.Grow(size); err != nil {
		return errHeld(err, "portals and cursors")
	}
	p.held = size
	return nil
}

// forgetPortal removes a portal with a name.
func (s *Session) forgetPortal(p *Portal) {
	s.held.give(p.held)
	p.held = 0
	delete(s.portals, p.Name)
}

// give returns n bytes, and what was reserved ahead with the last of them.
func (h *held) give(n int64) {
	if h.mem.Shrink(n); h.mem.Used() == 0 {
		h.mem.Close()
	}
}

func errHeld(cause error, what string) error {
	e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", cause.Error()).
		WithHint("Close %s that are no longer needed, or raise --max-memory.", what)
	e.Cause = cause
	return e
}
