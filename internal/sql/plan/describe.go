package plan

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// describe returns an operator's title and its detail lines.
func (p *printer) describe(n Node) (title string, details []string) {
	switch n := n.(type) {
	case *Scan:
		return p.scan(n)
	case *IndexJoin:
		return p.indexJoin(n)
	case *VirtualScan:
		return "Seq Scan on " + tableName(n.Table.Name, n.Alias), p.filter(n.Filter)
	case *Join:
		return p.join(n)
	case *Values:
		if len(n.Cols) == 0 && len(n.RowExprs) == 1 {
			return "Result", nil
		}
		if len(n.RowExprs) == 1 {
			p.f.list(n.RowExprs[0]) // for its subplans
			return "Result", nil
		}
		for _, r := range n.RowExprs {
			p.f.list(r)
		}
		if len(n.RowExprs) == 0 {
			return "Result", []string{"One-Time Filter: false"}
		}
		return `Values Scan on "*VALUES*"`, nil
	case *Filter:
		return "Filter", p.filter(n.Cond)
	case *Barrier:
		return "Barrier", nil
	case *Gather:
		return "Gather from Nodes", p.nodes(n)
	case *Project:
		return "Project", p.projections(n)
	case *ProjectSet:
		return p.projectSet(n)
	case *GroupBy:
		return p.groupBy(n)
	case *Distinct:
		if n.Ordered || n.On {
			return "Unique", p.keyLine("Key", n.Keys)
		}
		return "HashAggregate", p.keyLine("Group Key", n.Keys)
	case *Sort:
		return p.sort(n)
	case *Limit:
		return "Limit", nil
	case *SetOp:
		return setOpTitle(n), nil
	case *Window:
		return "WindowAgg", nil
	case *With:
		return "With", nil
	case *TransitionScan:
		return "Named Tuplestore Scan", nil
	case *CTEScan:
		if n.Working {
			return "WorkTable Scan on " + quoteName(n.Name), nil
		}
		return "CTE Scan on " + quoteName(n.Name), nil
	case *LockRows:
		return "LockRows", nil
	}
	return p.statement(n)
}

func (p *printer) statement(n Node) (string, []string) {
	switch n := n.(type) {
	case *Insert:
		return "Insert on " + quoteName(n.Table.Name), p.conflict(n.OnConflict)
	case *Update:
		var set []string
		if p.opts.Internal {
			for _, s := range n.Set {
				set = append(set, quoteName(n.Table.Columns[s.Ord].Name)+" = "+p.f.expr(s.Value))
			}
			return "Update on " + tableName(n.Table.Name, n.Alias), []string{"Set: " + strings.Join(set, ", ")}
		}
		return "Update on " + tableName(n.Table.Name, n.Alias), nil
	case *Instead:
		return n.Verb() + " on " + tableName(n.Triggers.Table.Name, n.Alias), nil
	case *Delete:
		return "Delete on " + tableName(n.Table.Name, n.Alias), nil
	case *Merge:
		return "Merge on " + tableName(n.Table.Name, n.Alias), nil
	case *CopyRows:
		return "Copy Rows", nil
	case *Copy:
		return "Copy", nil
	case *DDL:
		return "Utility Statement", nil
	case *Utility:
		return "Utility Statement", nil
	case *Explain:
		return "Explain", nil
	}
	return fmt.Sprintf("%T", n), nil
}

func tableName(name, alias string) string {
	if alias == "" || alias == name {
		return quoteName(name)
	}
	return quoteName(name) + " " + quoteName(alias)
}

func (p *printer) filter(e Expr) []string {
	if e == nil {
		return nil
	}
	return []string{"Filter: " + p.f.expr(e)}
}

func (p *printer) keyLine(name string, ids []ColID) []string {
	if len(ids) == 0 {
		return nil
	}
	return []string{name + ": " + p.f.cols(ids)}
}

func (p *printer) scan(n *Scan) (string, []string) {
	table := tableName(n.Table.Name, n.Alias)
	dir := ""
	if n.Reverse {
		dir = " Backward"
	}
	var details []string
	title := ""
	switch {
	case n.Tokens != nil:
		title = "Index Scan using " + quoteName(n.Tokens.Index.Name) + " on " + table
		details = append(details, p.tokens(n))
	case n.Secondary() && !n.Virtual():
		title = "Index Only Scan" + dir + " using " + quoteName(n.Index.Name) + " on " + table
	case n.Spans == nil && !n.Ordered && !n.Reverse:
		title = "Seq Scan on " + table
	default:
		title = "Index Scan" + dir + " using " + quoteName(n.Index.Name) + " on " + table
	}
	if n.Cuts != nil {
		title = "Parallel " + title
	}
	details = append(details, p.spans(n)...)
	details = append(details, p.filter(n.Filter)...)
	return title, append(details, p.hints(n.Bound, n.Locking)...)
}

func (p *printer) indexJoin(n *IndexJoin) (string, []string) {
	dir := ""
	if n.Input.Reverse {
		dir = " Backward"
	}
	if p.opts.Internal {
		return "Index Join on " + tableName(n.Table.Name, n.Input.Alias), append(p.filter(n.Filter), p.hints(n.Bound, n.Locking)...)
	}
	details := p.spans(n.Input)
	if n.Input.Filter != nil {
		details = append(details, "Index Filter: "+p.f.expr(n.Input.Filter))
	}
	details = append(details, p.filter(n.Filter)...)
	return "Index Scan" + dir + " using " + quoteName(n.Input.Index.Name) + " on " + tableName(n.Table.Name, n.Input.Alias), details
}

// hints prints what only Lichen's own plans show.
func (p *printer) hints(b RowBound, l *Locking) []string {
	if !p.opts.Internal {
		return nil
	}
	var out []string
	if b.Count != nil {
		out = append(out, "Bound: "+p.f.expr(b.Count))
	}
	if l != nil {
		out = append(out, "Lock: "+l.Strength.String()+lockWaits[l.Wait])
	}
	return out
}

var lockWaits = [...]string{lock.WaitBlock: "", lock.WaitError: " nowait", lock.WaitSkip: " skip locked"}

// spans prints the key constraints of a scan as PostgreSQL's Index Cond.
func (p *printer) spans(n *Scan) []string {
	if n.Spans == nil {
		return nil
	}
	if len(n.Spans) == 0 {
		return []string{"Index Cond: false"}
	}
	var alts []string
	for i := range n.Spans {
		alts = append(alts, p.span(n, &n.Spans[i]))
	}
	if len(alts) == 1 {
		return []string{"Index Cond: " + alts[0]}
	}
	return []string{"Index Cond: (" + strings.Join(alts, " OR ") + ")"}
}

// indexColumn is a key column of an index as conditions show it.
func (p *printer) indexColumn(n *Scan, id catalog.ColumnID) string {
	c := &n.Table.Columns[n.Table.ColumnByID(id)]
	if c.IndexExpression() {
		return c.Name // an expression
	}
	for j, ord := range n.Ords {
		if n.Table.Columns[ord].ID == c.ID {
			return p.f.col(n.Cols[j].ID)
		}
	}
	return quoteName(c.Name)
}

// tokens prints the conditions that an inverted index answers.
func (p *printer) tokens(n *Scan) string {
	col := p.indexColumn(n, n.Tokens.Index.Columns[0].Column)
	all := make([]string, len(n.Tokens.Conds))
	for i, alts := range n.Tokens.Conds {
		list := make([]string, len(alts))
		for j, c := range alts {
			list[j] = "(" + col + " " + c.Op + " " + p.f.expr(c.Value) + ")"
		}
		if all[i] = strings.Join(list, " OR "); len(list) > 1 {
			all[i] = "(" + all[i] + ")"
		}
	}
	if len(all) > 1 {
		return "Index Cond: (" + strings.Join(all, " AND ") + ")"
	}
	return "Index Cond: " + all[0]
}

func (p *printer) span(n *Scan, s *Span) string {
	key := KeyColumns(n.Table, n.Index)
	col := func(i int) string { return p.indexColumn(n, key[i].Column) }
	var conds []string
	for i, eq := range s.Eq {
		switch {
		case eq.Null:
			conds = append(conds, "("+col(i)+" IS NULL)")
		case eq.Array != nil:
			conds = append(conds, "("+col(i)+" = ANY ("+p.f.expr(eq.Array)+"))")
		case len(eq.Values) == 1:
			conds = append(conds, "("+col(i)+" = "+p.f.expr(eq.Values[0])+")")
		default:
			conds = append(conds, "("+col(i)+" = ANY ("+p.f.arrayOf(eq.Values)+"))")
		}
	}
	bound := func(b *Bound, op string) {
		if b == nil {
			return
		}
		if b.Inclusive {
			op += "="
		}
		if len(b.Values) == 1 {
			conds = append(conds, "("+col(len(s.Eq))+" "+op+" "+p.f.expr(b.Values[0])+")")
			return
		}
		var cols []string
		for i := range b.Values {
			cols = append(cols, col(len(s.Eq)+i))
		}
		conds = append(conds, "(ROW("+strings.Join(cols, ", ")+") "+op+" ROW("+p.f.list(b.Values)+"))")
	}
	bound(s.Lo, ">")
	bound(s.Hi, "<")
	if s.NotNull {
		conds = append(conds, "("+col(len(s.Eq))+" IS NOT NULL)")
	}
	switch len(conds) {
	case 0:
		return "true"
	case 1:
		return conds[0]
	}
	return "(" + strings.Join(conds, " AND ") + ")"
}

var joinNames = [...]string{
	InnerJoin: "", LeftJoin: " Left", RightJoin: " Right", FullJoin: " Full", SemiJoin: " Semi", AntiJoin: " Anti",
}

func (p *printer) join(n *Join) (string, []string) {
	var details []string
	conds := make([]string, 0, len(n.LeftKeys))
	for i := range n.LeftKeys {
		conds = append(conds, "("+p.f.expr(n.LeftKeys[i])+" = "+p.f.expr(n.RightKeys[i])+")")
	}
	keys := strings.Join(conds, " AND ")
	if len(conds) > 1 {
		keys = "(" + keys + ")"
	}
	title := ""
	switch n.Algo {
	case HashJoin:
		title = "Hash" + joinNames[n.Kind] + " Join"
		details = append(details, "Hash Cond: "+keys)
	case MergeJoin:
		title = "Merge" + joinNames[n.Kind] + " Join"
		details = append(details, "Merge Cond: "+keys)
	default:
		title = "Nested Loop"
		if n.Kind != InnerJoin {
			title += joinNames[n.Kind] + " Join"
		}
		if p.opts.Internal && n.Algo == ApplyJoin {
			title += " (apply)"
		}
	}
	if n.On != nil {
		details = append(details, "Join Filter: "+p.f.expr(n.On))
	}
	return title, details
}

func (p *printer) projections(n *Project) []string {
	var out []string
	for i, e := range n.Exprs {
		if r, ok := e.(*ColRef); ok && r.Col == n.Cols[i].ID {
			out = append(out, p.f.expr(e))
			continue
		}
		out = append(out, p.f.expr(e)+" AS "+quoteName(n.Cols[i].Name))
	}
	return []string{"Exprs: " + strings.Join(out, ", ")}
}

func (p *printer) projectSet(n *ProjectSet) (string, []string) {
	for i := range n.Funcs {
		p.f.expr(n.Funcs[i].Call)
	}
	if v, ok := n.Input.(*Values); ok && len(v.Cols) == 0 && n.Alias != "" {
		return "Function Scan on " + tableName(n.Funcs[0].Call.Fn.Name, n.Alias), nil
	}
	return "ProjectSet", nil
}

func (p *printer) groupBy(n *GroupBy) (string, []string) {
	title := "HashAggregate"
	switch {
	case n.Scalar:
		title = "Aggregate"
	case n.Ordered && len(n.Aggs) == 0:
		title = "Group"
	case n.Ordered:
		title = "GroupAggregate"
	}
	switch n.Phase {
	case PartialGroups:
		title = "Partial " + title
	case FinalGroups:
		title = "Finalize " + title
	}
	details := p.keyLine("Group Key", n.Keys)
	if n.Sets != nil {
		title, details = p.groupingSets(n)
	}
	for i := range n.Aggs {
		s := p.f.agg(&n.Aggs[i])
		if p.opts.Internal {
			details = append(details, "Agg: "+s)
		}
	}
	return title, details
}

// groupingSets describes grouping by several sets: all are hashed.
func (p *printer) groupingSets(n *GroupBy) (title string, details []string) {
	title = "HashAggregate"
	for _, s := range n.Sets {
		if len(s) == 0 {
			title = "MixedAggregate"
			details = append(details, "Group Key: ()")
			continue
		}
		keys := make([]ColID, len(s))
		for i, k := range s {
			keys[i] = n.Keys[k]
		}
		details = append(details, p.keyLine("Hash Key", keys)...)
	}
	return title, details
}

func (p *printer) sort(n *Sort) (string, []string) {
	details := []string{"Sort Key: " + p.f.sortKeys(n.Keys)}
	title := "Sort"
	if n.Presorted > 0 {
		title = "Incremental Sort"
		details = append(details, "Presorted Key: "+p.f.sortKeys(n.Keys[:n.Presorted]))
	}
	if n.Bound.Count != nil && p.opts.Actual == nil { // of those that ran, see SortMethod
		details = append(details, "Sort Method: top-N heapsort")
	}
	return title, details
}

func setOpTitle(n *SetOp) string {
	title := ""
	switch n.Kind {
	case Union:
		if n.All {
			return "Append"
		}
		title = "HashSetOp Union"
	case Intersect:
		title = "HashSetOp Intersect"
	default:
		title = "HashSetOp Except"
	}
	if n.All {
		title += " All"
	}
	return title
}

func (p *printer) conflict(c *OnConflict) []string {
	if c == nil {
		return nil
	}
	out := []string{"Conflict Resolution: NOTHING"}
	if c.Update {
		out[0] = "Conflict Resolution: UPDATE"
	}
	var names []string
	for _, a := range c.Arbiters {
		names = append(names, quoteName(a.Name))
	}
	if len(names) > 0 {
		out = append(out, "Conflict Arbiter Indexes: "+strings.Join(names, ", "))
	}
	if c.Where != nil {
		out = append(out, "Conflict Filter: "+p.f.expr(c.Where))
	}
	return out
}
