package sql

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/parser"
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

// So does the syntax tree of a statement that a client has prepared, which is parsed again
// from its text when the statement is next asked for.

// Estimates of what is kept, in bytes. They were fitted to the heap's growth under statements
// of several kinds, and are rather too high than too low.
const (
	statementBytes = int64(unsafe.Sizeof(Prepared{})) + 128 // with its entry and name
	treeBytes      = 16                                     // the syntax tree, for each byte of text
	planBytes      = 512                                    // a plan
	nodeBytes      = 512                                    // an operator
	columnBytes    = 96                                     // a column of an operator
	exprBytes      = 160                                    // a node of an expression
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
	trees int64 // and syntax trees that can be parsed again
}

// holdStatement accounts for a statement that gets a name, and returns what is to be kept of
// it; 53200 if there is no memory.
func (s *Session) holdStatement(p *Prepared) (*Prepared, error) {
	err := s.held.mem.Grow(p.size())
	if err != nil && s.held.plans+s.held.trees > s.held.mem.Used()/droppableShare {
		s.thin()
		err = s.held.mem.Grow(p.size())
	}
	if err != nil && p.rereadable() {
		if p = p.withoutTree(); s.held.mem.Grow(p.size()) == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, errHeld(err, "prepared statements")
	}
	p.held = p.size()
	s.held.trees += p.treeSize()
	s.keepPlan(p, p.plan)
	return p, nil
}

// size estimates the bytes that a statement takes, without its plan.
func (p *Prepared) size() int64 {
	size := statementBytes + int64(len(p.Name)) + int64(unsafe.Sizeof(plan.Column{}))*int64(len(p.cols)) + 8*int64(len(p.types))
	switch {
	case len(p.Text) >= longText: // accounted for by parse
		return size
	case !p.rereadable():
		return size + treeBytes*int64(len(p.Text))
	}
	return size + int64(len(p.Text)) + p.treeSize()
}

// treeSize estimates the bytes of a tree that can be parsed again, if it is there.
func (p *Prepared) treeSize() int64 {
	if !p.rereadable() || p.stmt.AST == nil {
		return 0
	}
	return treeBytes * int64(len(p.Text))
}

// rereadable reports whether the tree of a statement can be parsed again: Text is that of the
// statement.
func (p *Prepared) rereadable() bool { return p.reread && len(p.Text) < longText }

// withoutTree returns p without what can be made again from its text.
func (p *Prepared) withoutTree() *Prepared {
	thin := *p
	thin.stmt.AST, thin.Front, thin.plan, thin.planHeld, thin.held = nil, nil, nil, 0, 0
	thin.thin = true
	return &thin
}

// thin drops the plans of the statements with names, and the trees that can be parsed again.
// Portals keep what they run.
func (s *Session) thin() {
	for name, p := range s.statements {
		s.dropPlan(p)
		if p.treeSize() == 0 {
			continue
		}
		t := p.withoutTree()
		t.held = t.size()
		s.held.trees -= p.treeSize()
		s.held.mem.Shrink(p.held - t.held)
		p.held = 0
		s.statements[name] = t
	}
}

// whole returns a statement with its tree. If there is no memory to keep that, it serves one
// execution.
func (s *Session) whole(p *Prepared) (*Prepared, error) {
	if !p.thin {
		return p, nil
	}
	o := s.stringOptions()
	o.Escapes, o.Warn, o.RefuseQuotes = p.stmt.Escapes, false, false
	stmts, _, err := parser.ParseStrings(p.Text, o)
	if err != nil {
		return nil, err
	}
	w := *p
	w.thin, w.held = false, 0
	if w.stmt, err = rewriteShow(stmts[0]); err != nil {
		return nil, err
	}
	if s.held.mem.Grow(w.size()-p.held) == nil {
		w.held = w.size()
		s.held.trees += w.treeSize()
		s.statements[p.Name] = &w
	}
	return &w, nil
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

// forgetStatement removes a statement with a name.
func (s *Session) forgetStatement(p *Prepared) {
	last := p.plan // a portal may still run it
	s.dropPlan(p)
	s.held.trees -= p.treeSize()
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
