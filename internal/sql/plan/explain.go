package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// ExplainOptions say what Format shows.
type ExplainOptions struct {
	// Costs adds cost, rows and width estimates.
	Costs bool
	// Verbose adds output columns.
	Verbose bool
	// Internal shows projections, which PostgreSQL's plans have inside other
	// nodes.
	Internal bool
	// Actual, if set, returns what to append to an operator's line, such as
	// " (actual time=0.010..0.020 rows=1 loops=1)", and further detail lines.
	Actual func(Node) (suffix string, details []string)
}

// Format prints a plan as EXPLAIN's text format does, one line per element.
func Format(root Node, opts ExplainOptions) []string {
	p := &printer{opts: opts}
	p.f.names = map[ColID]string{}
	p.collect(root, p.countScans(root) > 1)
	p.node(root, 0, "")
	return p.lines
}

type printer struct {
	opts  ExplainOptions
	f     formatter
	lines []string
}

// countScans counts the relations, to decide whether names need a qualifier.
func (p *printer) countScans(root Node) int {
	n := 0
	p.everyNode(root, func(x Node) {
		switch x.(type) {
		case *Scan, *VirtualScan, *CTEScan:
			n++
		}
	})
	return n
}

// everyNode visits all operators, those of subqueries included.
func (p *printer) everyNode(root Node, f func(Node)) {
	Walk(root, func(n Node) bool {
		VisitExprs(n, func(e *Expr) {
			WalkExpr(*e, func(x Expr) bool {
				if s, ok := x.(*Subquery); ok {
					p.everyNode(s.Plan, f)
				}
				return true
			})
		})
		f(n)
		return true
	})
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
		for _, c := range n.Children() {
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

// node prints n; depth is the column where its own line starts.
func (p *printer) node(n Node, depth int, label string) {
	if pr, ok := n.(*Project); ok && !p.opts.Internal && !p.opts.Verbose {
		p.projectSubplans(pr, depth, label)
		return
	}
	title, details := p.describe(n)
	indent := strings.Repeat(" ", depth)
	line := indent + label + title
	props := n.Props()
	if p.opts.Costs {
		line += fmt.Sprintf("  (cost=%.2f..%.2f rows=%.0f width=%d)",
			props.Startup, props.Total, max(props.Rows, 1), Width(props.Cols))
	}
	var extra []string
	if p.opts.Actual != nil {
		var suffix string
		suffix, extra = p.opts.Actual(n)
		line += suffix
	}
	p.lines = append(p.lines, line)
	inner := depth + 2
	if label != "" {
		inner = depth + len(label) + 2
	}
	pad := strings.Repeat(" ", inner)
	if p.opts.Verbose && len(props.Cols) > 0 {
		p.lines = append(p.lines, pad+"Output: "+p.f.cols(IDs(props.Cols)))
	}
	for _, d := range append(details, extra...) {
		p.lines = append(p.lines, pad+d)
	}
	p.children(n, inner)
}

// projectSubplans prints a projection's input in its place, with the subplans
// of its expressions below.
func (p *printer) projectSubplans(n *Project, depth int, label string) {
	for _, e := range n.Exprs {
		p.f.expr(e)
	}
	subs := p.f.subplans
	p.f.subplans = nil
	p.node(n.Input, depth, label)
	inner := depth + 2
	if label != "" {
		inner = depth + len(label) + 2
	}
	p.printSubplans(subs, inner, p.f.nextPlan-len(subs))
}

func (p *printer) children(n Node, inner int) {
	subs := p.f.subplans
	first := p.f.nextPlan - len(subs)
	p.f.subplans = nil
	p.printSubplans(subs, inner, first)
	if w, ok := n.(*With); ok {
		for _, c := range w.CTEs {
			p.lines = append(p.lines, strings.Repeat(" ", inner)+"CTE "+quoteName(c.Name))
			p.node(c.Plan, inner+2, "->  ")
			if c.Recursive != nil {
				p.node(c.Recursive, inner+2, "->  ")
			}
		}
		p.node(w.Body, inner, "->  ")
		return
	}
	if ij, ok := n.(*IndexJoin); ok && !p.opts.Internal {
		_ = ij // the index scan is part of the node's own line
		return
	}
	for i, c := range n.Children() {
		if j, ok := n.(*Join); ok && i == 1 && j.Algo == HashJoin {
			pad := strings.Repeat(" ", inner)
			p.lines = append(p.lines, pad+"->  Hash")
			p.node(c, inner+6, "->  ")
			continue
		}
		p.node(c, inner, "->  ")
	}
}

func (p *printer) printSubplans(subs []*Subquery, inner, first int) {
	for i, s := range subs {
		kind := "SubPlan "
		if len(s.Outer) == 0 {
			kind = "InitPlan "
		}
		p.lines = append(p.lines, strings.Repeat(" ", inner)+kind+strconv.Itoa(first+i+1))
		p.node(s.Plan, inner+2, "->  ")
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
