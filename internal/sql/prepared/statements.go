package prepared

import (
	"iter"
	"maps"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

const (
	// maxStatements bounds the prepared statements of a session.
	maxStatements = 100_000
	// droppableShare is the part that the plans and trees must have of what a session keeps to be
	// dropped: each drop looks at all statements.
	droppableShare = 8
	// LongText is the size from which on a text is accounted for while it is parsed, and not
	// again.
	LongText = 64 << 10
	// maxUncounted is the size below which the unnamed statement does not count: clients that
	// prepare each statement replace it all the time.
	maxUncounted = 8 << 10
)

// Estimates of what is kept, in bytes. They were fitted to the heap's growth under statements
// of several kinds, and are rather too high than too low.
const (
	statementBytes = int64(unsafe.Sizeof(Statement{})) + 128 // with its entry and name
	treeBytes      = 16                                      // the syntax tree, for each byte of text
	planBytes      = 512                                     // a plan
	nodeBytes      = 512                                     // an operator
	columnBytes    = 96                                      // a column of an operator
	exprBytes      = 160                                     // a node of an expression
)

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

// Statements are the prepared statements of a session. Those with names, and the unnamed one if
// it is not small, count with their plans against the memory of the node. A plan can be made again, and so can the syntax tree of a
// statement that a client has prepared: they give way. A session that finds no memory for
// another statement drops both, and what finds no memory serves one execution.
type Statements struct {
	mem     quota.Account
	plans   int64 // bytes of mem that are plans
	trees   int64 // and syntax trees that can be parsed again
	named   map[string]*Statement
	unnamed *Statement
	counted int64 // bytes of mem that are the unnamed statement
	parse   Parse
}

// Parse parses the text of a statement again; escapes says that it was read with
// standard_conforming_strings off.
type Parse func(text string, escapes bool) (parser.Statement, error)

// Init makes l ready; pool is where the memory comes from.
func (l *Statements) Init(pool *quota.Pool, parse Parse) {
	l.mem.Init(pool)
	l.named, l.parse = map[string]*Statement{}, parse
}

// Admit returns an error if no statement can be prepared under a name: 42P05 if there is one of
// that name, 53400 if there are too many.
func (l *Statements) Admit(name string) error {
	if name != "" && l.named[name] != nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement \"%s\" already exists", name)
	}
	if len(l.named) >= maxStatements {
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many prepared statements (limit %d)", maxStatements)
	}
	return nil
}

// Keep makes p the statement of its name, "" being the unnamed one, which is replaced; 53200 if
// there is no memory.
func (l *Statements) Keep(p *Statement) error {
	if p.Name == "" {
		return l.keepUnnamed(p)
	}
	p.made = time.Now()
	kept, err := l.hold(p)
	if err == nil {
		l.named[p.Name] = kept
	}
	return err
}

func (l *Statements) keepUnnamed(p *Statement) error {
	l.closeUnnamed()
	size := p.size()
	if p.plan != nil && len(p.Text) < LongText {
		size += p.plan.size
	}
	if size >= maxUncounted {
		if err := l.grow(size); err != nil {
			return errNoMemory(err)
		}
		l.counted = size
	}
	l.unnamed = p
	return nil
}

func (l *Statements) closeUnnamed() {
	l.unnamed = nil
	if l.counted > 0 {
		l.give(l.counted)
		l.counted = 0
	}
}

// Find returns a prepared statement; 26000 if there is none of that name.
func (l *Statements) Find(name string) (*Statement, error) {
	p := l.unnamed
	if name != "" {
		p = l.named[name]
	}
	if p == nil {
		if name == "" {
			return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
		}
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement \"%s\" does not exist", name)
	}
	return l.whole(p)
}

// FindBytes is Find for a name that is not a string yet.
func (l *Statements) FindBytes(name []byte) (*Statement, error) {
	if p := l.named[string(name)]; p != nil && !p.thin {
		return p, nil
	}
	return l.Find(string(name))
}

// Columns returns the columns of a named statement; nil if there is none.
func (l *Statements) Columns(name string) []plan.Column {
	if p := l.named[name]; p != nil {
		return p.cols
	}
	return nil
}

// Named returns the statements with names.
func (l *Statements) Named() iter.Seq[*Statement] { return maps.Values(l.named) }

// Close forgets a statement; an absent one is no error.
func (l *Statements) Close(name string) {
	if name == "" {
		l.closeUnnamed()
		return
	}
	if p := l.named[name]; p != nil {
		l.forget(p)
	}
}

// CloseAll forgets all statements with names.
func (l *Statements) CloseAll() {
	for _, p := range l.named {
		l.forget(p)
	}
}

// hold accounts for a statement that gets a name, and returns what is to be kept of it.
func (l *Statements) hold(p *Statement) (*Statement, error) {
	err := l.grow(p.size())
	if err != nil && p.rereadable() {
		if p = p.withoutTree(); l.mem.Grow(p.size()) == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, errNoMemory(err)
	}
	p.held = p.size()
	l.trees += p.treeSize()
	l.KeepPlan(p, p.plan)
	return p, nil
}

// grow takes n bytes. What can be made again gives way.
func (l *Statements) grow(n int64) error {
	err := l.mem.Grow(n)
	if err != nil && l.plans+l.trees > l.mem.Used()/droppableShare {
		l.thin()
		err = l.mem.Grow(n)
	}
	return err
}

func errNoMemory(cause error) error {
	e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", cause.Error()).
		WithHint("Close prepared statements that are no longer needed, or raise --max-memory.")
	e.Cause = cause
	return e
}

// size estimates the bytes that a statement takes, without its plan.
func (p *Statement) size() int64 {
	size := statementBytes + int64(len(p.Name)) + int64(unsafe.Sizeof(plan.Column{}))*int64(len(p.cols)) + 8*int64(len(p.types))
	switch {
	case len(p.Text) >= LongText: // accounted for by parse
		return size
	case !p.rereadable():
		return size + treeBytes*int64(len(p.Text))
	}
	return size + int64(len(p.Text)) + p.treeSize()
}

// treeSize estimates the bytes of a tree that can be parsed again, if it is there.
func (p *Statement) treeSize() int64 {
	if !p.rereadable() || p.Stmt.AST == nil {
		return 0
	}
	return treeBytes * int64(len(p.Text))
}

// rereadable reports whether the tree of a statement can be parsed again: Text is that of the
// statement.
func (p *Statement) rereadable() bool { return p.Reread && len(p.Text) < LongText }

// withoutTree returns p without what can be made again from its text.
func (p *Statement) withoutTree() *Statement {
	thin := *p
	thin.Stmt.AST, thin.Connection, thin.plan, thin.planHeld, thin.held = nil, nil, nil, 0, 0
	thin.thin = true
	return &thin
}

// thin drops the plans of the statements with names, and the trees that can be parsed again.
// Portals keep what they run.
func (l *Statements) thin() {
	for name, p := range l.named {
		l.dropPlan(p)
		if p.treeSize() == 0 {
			continue
		}
		t := p.withoutTree()
		t.held = t.size()
		l.trees -= p.treeSize()
		l.mem.Shrink(p.held - t.held)
		p.held = 0
		l.named[name] = t
	}
}

// whole returns a statement with its tree. If there is no memory to keep that, it serves one
// execution.
func (l *Statements) whole(p *Statement) (*Statement, error) {
	if !p.thin {
		return p, nil
	}
	stmt, err := l.parse(p.Text, p.Stmt.Escapes)
	if err != nil {
		return nil, err
	}
	w := *p
	w.thin, w.held, w.Stmt = false, 0, stmt
	if l.mem.Grow(w.size()-p.held) == nil {
		w.held = w.size()
		l.trees += w.treeSize()
		l.named[p.Name] = &w
	}
	return &w, nil
}

// KeepPlan makes c the plan by which p is executed next, if there is memory for it.
func (l *Statements) KeepPlan(p *Statement, c *Plan) {
	if p.held == 0 {
		p.plan = c
		return
	}
	l.dropPlan(p)
	if c != nil && l.mem.Grow(c.size) == nil {
		p.plan, p.planHeld = c, c.size
		l.plans += c.size
	}
}

func (l *Statements) dropPlan(p *Statement) {
	l.mem.Shrink(p.planHeld)
	l.plans -= p.planHeld
	p.plan, p.planHeld = nil, 0
}

// forget removes a statement with a name.
func (l *Statements) forget(p *Statement) {
	last := p.plan // a portal may still run it
	l.dropPlan(p)
	l.trees -= p.treeSize()
	l.give(p.held)
	p.plan, p.held = last, 0
	delete(l.named, p.Name)
}

// give returns n bytes, and what was reserved ahead with the last of them.
func (l *Statements) give(n int64) {
	if l.mem.Shrink(n); l.mem.Used() == 0 {
		l.mem.Close()
	}
}
