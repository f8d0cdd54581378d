package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
)

// ExplainOptions say what Format shows.
type ExplainOptions struct {
	// Costs adds cost, rows and width estimates.
	Costs bool
	// Verbose adds output columns.
	Verbose bool
	// NoConstants shows "_" for each constant.
	NoConstants bool
	// Internal shows projections, which PostgreSQL's plans have inside other
	// nodes.
	Internal bool
	// Actual, if set, returns what was measured of an operator, nil if nothing was.
	Actual func(Node) *Actual
	// Nodes, if set, returns which nodes would run the input of a Gather, as detail lines.
	Nodes func(*Gather) []string
}

// Actual is what was measured of an operator in all its runs together.
type Actual struct {
	Loops, Rows int64
	// Startup is the time until the first rows, Total that until the end, both with
	// what the operator's inputs took.
	Startup, Total time.Duration
	Timing         bool // the times were measured
	Sort           SortMethod
	Hash           HashMethod
	Gather         GatherMethod
}

// GatherMethod says what a Gather moved between nodes, as EXPLAIN ANALYZE shows it.
type GatherMethod struct {
	Nodes          int   // that ran a part, this one among them
	Calls          int   // to them
	Sent, Received int64 // bytes, from and to other nodes only
	Here           bool  // some rows, or all, were read by the gateway itself
}

// nodes are the details of a Gather: which nodes run it, and what they moved.
func (p *printer) nodes(n *Gather) (out []string) {
	if p.opts.Nodes != nil {
		out = p.opts.Nodes(n)
	}
	if p.opts.Actual == nil {
		return out
	}
	if a := p.opts.Actual(n); a != nil && a.Loops > 0 {
		m := a.Gather
		out = append(out, fmt.Sprintf("Nodes: %d  Calls: %d  Sent: %d bytes  Received: %d bytes", m.Nodes, m.Calls, m.Sent, m.Received))
		if m.Here {
			out = append(out, "Read by Gateway: true")
		}
	}
	return out
}

// HashMethod says how a hash table went through temporary files, as EXPLAIN ANALYZE shows it. Without
// batches it stayed in memory.
type HashMethod struct {
	Batches      int   // parts that were worked off one after the other
	Memory, Disk int64 // bytes at most
}

// SortMethod says how a sort went, as EXPLAIN ANALYZE shows it. Without a name there was none.
type SortMethod struct {
	Name  string
	Bytes int64
	Disk  bool // the bytes are on disk
}

// kilobytes is the space rounded up, as PostgreSQL shows it.
func (m *SortMethod) kilobytes() int64 { return kilobytes(m.Bytes) }

func kilobytes(bytes int64) int64 { return (bytes + 1023) / 1024 }

// space says where the rows were.
func (m *SortMethod) space() string {
	if m.Disk {
		return "Disk"
	}
	return "Memory"
}

// perLoop returns the averages that EXPLAIN shows: milliseconds and rows.
func (a *Actual) perLoop() (startup, total, rows float64) {
	if a.Loops == 0 {
		return 0, 0, 0
	}
	n := float64(a.Loops)
	return a.Startup.Seconds() * 1000 / n, a.Total.Seconds() * 1000 / n, float64(a.Rows) / n
}

// suffix is what an operator's line says of it.
func (a *Actual) suffix() string {
	switch {
	case a == nil:
		return ""
	case a.Loops == 0:
		return " (never executed)"
	}
	startup, total, rows := a.perLoop()
	if a.Timing {
		return fmt.Sprintf(" (actual time=%.3f..%.3f rows=%.0f loops=%d)", startup, total, rows, a.Loops)
	}
	return fmt.Sprintf(" (actual rows=%.0f loops=%d)", rows, a.Loops)
}

// Format prints a plan as EXPLAIN's text format does, one line per element.
func Format(root Node, opts ExplainOptions) []string {
	p := newPrinter(root, opts)
	p.print(p.build(root), 0, "")
	return p.lines
}

func newPrinter(root Node, opts ExplainOptions) *printer {
	p := &printer{opts: opts}
	p.f.names, p.f.noConsts = map[ColID]string{}, opts.NoConstants
	p.collect(root, p.countScans(root) > 1)
	return p
}

type printer struct {
	opts  ExplainOptions
	f     formatter
	lines []string
	lists bool // details that are lists are kept as such
}

// countScans counts the relations, to decide whether names need a qualifier.
func (p *printer) countScans(root Node) int {
	n := 0
	EveryNode(root, func(x Node) {
		switch x.(type) {
		case *Scan, *VirtualScan, *CTEScan, *TransitionScan:
			n++
		}
	})
	return n
}

// collect learns the names of columns, inputs first.
func (p *printer) collect(root Node, qualify bool) {
	name := func(alias string, c Column) {
		s := quoteName(c.Name)
		if qualify && alias != "" {
			s = quoteName(alias) + "." + s
		}
		p.f.names[c.ID] = s
	}
	var visit func(n Node)
	visit = func(n Node) {
		for _, c := range Children(n) {
			visit(c)
		}
		VisitExprs(n, func(e *Expr) {
			WalkExpr(*e, func(x Expr) bool {
				if s, ok := x.(*Subquery); ok {
					visit(s.Plan)
				}
				return true
			})
		})
		p.collectNode(n, name)
	}
	visit(root)
}

func (p *printer) collectNode(n Node, name func(alias string, c Column)) {
	switch n := n.(type) {
	case *Scan:
		for _, c := range n.Cols {
			name(n.Alias, c)
		}
	case *IndexJoin:
		for _, c := range n.Cols {
			name(n.Input.Alias, c)
		}
	case *VirtualScan:
		for _, c := range n.Cols {
			name(n.Alias, c)
		}
	case *CTEScan:
		for _, c := range n.Cols {
			name(n.Name, c)
		}
	case *TransitionScan:
		for _, c := range n.Cols {
			name(n.Alias, c)
		}
	case *Project:
		for i, e := range n.Exprs {
			if _, seen := p.f.names[n.Cols[i].ID]; !seen {
				p.f.names[n.Cols[i].ID] = p.f.expr(e)
			}
		}
	case *GroupBy:
		for i := range n.Aggs {
			p.f.names[n.Aggs[i].Out.ID] = "(" + p.f.agg(&n.Aggs[i]) + ")"
		}
	case *SetOp:
		for i, c := range n.Cols {
			p.f.names[c.ID] = p.f.col(n.LeftCols[i])
		}
	case *Insert:
		p.collectInsert(n)
	}
	for _, c := range n.Props().Cols {
		if _, seen := p.f.names[c.ID]; !seen {
			p.f.names[c.ID] = quoteName(c.Name)
		}
	}
	p.f.subplans, p.f.nextPlan = nil, 0
}

func (p *printer) collectInsert(n *Insert) {
	for i := range n.Table.Columns {
		c := &n.Table.Columns[i]
		p.f.names[n.New[i]] = c.Name
		if n.OnConflict != nil && n.OnConflict.Update {
			p.f.names[n.OnConflict.Old[i]] = n.Table.Name + "." + c.Name
			p.f.names[n.Input.Props().Cols[i].ID] = "excluded." + c.Name
		}
	}
}

// ExplainNode is an operator as EXPLAIN shows it.
type ExplainNode struct {
	Node  Node // nil for the Hash above the inner side of a hash join
	Title string
	// Header stands above the operator ("InitPlan 1", "CTE x"); Shifted says that it
	// belongs below a header.
	Header  string
	Shifted bool
	// Output are the columns, if asked for; Details are "Key: text".
	Output   []string
	Details  []string
	Actual   *Actual
	Children []*ExplainNode

	lists []listDetail // details that are lists
}

// build makes the tree of what is shown of n.
func (p *printer) build(n Node) *ExplainNode {
	if pr, ok := n.(*Project); ok && !p.opts.Internal && !p.opts.Verbose {
		return p.projectSubplans(pr)
	}
	e := &ExplainNode{Node: n}
	e.Title, e.Details = p.describe(n)
	if p.opts.Actual != nil {
		e.Actual = p.opts.Actual(n)
	}
	if cols := n.Props().Cols; p.opts.Verbose && len(cols) > 0 {
		for _, c := range cols {
			e.Output = append(e.Output, p.f.col(c.ID))
		}
	}
	if p.lists {
		e.lists = p.listDetails(n)
	}
	p.children(n, e)
	return e
}

// projectSubplans shows a projection's input in its place, with the subplans of its
// expressions below.
func (p *printer) projectSubplans(n *Project) *ExplainNode {
	for _, e := range n.Exprs {
		p.f.expr(e)
	}
	subs := p.f.subplans
	p.f.subplans = nil
	e := p.build(n.Input)
	p.subplans(e, subs, p.f.nextPlan-len(subs))
	return e
}

func (p *printer) children(n Node, e *ExplainNode) {
	subs := p.f.subplans
	first := p.f.nextPlan - len(subs)
	p.f.subplans = nil
	p.subplans(e, subs, first)
	if w, ok := n.(*With); ok {
		for _, c := range w.CTEs {
			x := p.build(c.Plan)
			x.Header, x.Shifted = "CTE "+quoteName(c.Name), true
			e.Children = append(e.Children, x)
			if c.Recursive != nil {
				x := p.build(c.Recursive)
				x.Shifted = true
				e.Children = append(e.Children, x)
			}
		}
		e.Children = append(e.Children, p.build(w.Body))
		return
	}
	if _, ok := n.(*IndexJoin); ok && !p.opts.Internal {
		return // the index scan is part of the node's own line
	}
	for i, c := range Children(n) {
		x := p.build(c)
		if j, ok := n.(*Join); ok && i == 1 && j.Algo == HashJoin {
			x = &ExplainNode{Title: "Hash", Actual: e.Actual, Children: []*ExplainNode{x}}
		}
		e.Children = append(e.Children, x)
	}
}

func (p *printer) subplans(e *ExplainNode, subs []*Subquery, first int) {
	for i, s := range subs {
		kind := "SubPlan "
		if len(s.Outer) == 0 {
			kind = "InitPlan "
		}
		x := p.build(s.Plan)
		x.Header, x.Shifted = kind+strconv.Itoa(first+i+1), true
		e.Children = append(e.Children, x)
	}
}

// hashMethod returns how the hash table of a grouping, or of the Hash below a join, went through temporary
// files; nil if it did not.
func (e *ExplainNode) hashMethod() *HashMethod {
	if _, joins := e.Node.(*Join); joins || e.Actual == nil || e.Actual.Hash.Batches == 0 {
		return nil
	}
	return &e.Actual.Hash
}

// print appends e's lines; depth is the column where its own line starts.
func (p *printer) print(e *ExplainNode, depth int, label string) {
	line := strings.Repeat(" ", depth) + label + e.Title
	if e.Node != nil {
		if p.opts.Costs {
			props := e.Node.Props()
			line += fmt.Sprintf("  (cost=%.2f..%.2f rows=%.0f width=%d)",
				props.Startup, props.Total, max(props.Rows, 1), Width(props.Cols))
		}
		line += e.Actual.suffix()
	}
	p.lines = append(p.lines, line)
	inner := depth + 2
	if label != "" {
		inner = depth + len(label) + 2
	}
	pad := strings.Repeat(" ", inner)
	if len(e.Output) > 0 {
		p.lines = append(p.lines, pad+"Output: "+strings.Join(e.Output, ", "))
	}
	for _, d := range e.Details {
		p.lines = append(p.lines, pad+d)
	}
	if a := e.Actual; a != nil && a.Sort.Name != "" {
		p.lines = append(p.lines, fmt.Sprintf("%sSort Method: %s  %s: %dkB", pad, a.Sort.Name, a.Sort.space(), a.Sort.kilobytes()))
	}
	if m := e.hashMethod(); m != nil {
		p.lines = append(p.lines, fmt.Sprintf("%sBatches: %d  Memory Usage: %dkB  Disk Usage: %dkB", pad, m.Batches, kilobytes(m.Memory), kilobytes(m.Disk)))
	}
	for _, c := range e.Children {
		if c.Header != "" {
			p.lines = append(p.lines, pad+c.Header)
		}
		in := inner
		if c.Shifted {
			in += 2
		}
		p.print(c, in, "->  ")
	}
}

// Width estimates the bytes of a row as PostgreSQL does.
func Width(cols []Column) int {
	w := 0
	for _, c := range cols {
		w += typeWidth(c.Type)
	}
	return w
}

func typeWidth(t *types.T) int {
	if n := t.Len(); n > 0 {
		return int(n)
	}
	if n, ok := t.CharLength(); ok && n < 32 {
		return n + 4
	}
	return 32
}

func quoteName(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '_' || 'a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '$') {
			continue
		}
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
