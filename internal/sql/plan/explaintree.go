package plan

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Property is a named value of a structured EXPLAIN: a string, bool, Number, []string,
// Group or []Group.
type Property struct {
	Name  string
	Value any
}

// Group is a list of properties in the order in which they are shown.
type Group []Property

// Number is a number as it is printed.
type Number string

// fixed prints a number with so many digits after the point.
func fixed(v float64, digits int) Number { return Number(strconv.FormatFloat(v, 'f', digits, 64)) }

// Milliseconds is a property of a duration in milliseconds.
func Milliseconds(v float64) Number { return fixed(v, 3) }

// listDetail is a detail that is a list of expressions.
type listDetail struct {
	name string
	list []string
}

// listDetails returns the details of n that structured formats show as lists.
func (p *printer) listDetails(n Node) []listDetail {
	cols := func(ids []ColID) (out []string) {
		for _, id := range ids {
			out = append(out, p.f.col(id))
		}
		return out
	}
	keys := func(ks []SortKey) (out []string) {
		for i := range ks {
			out = append(out, p.f.sortKeys(ks[i:i+1]))
		}
		return out
	}
	switch n := n.(type) {
	case *Sort:
		return []listDetail{{"Sort Key", keys(n.Keys)}, {"Presorted Key", keys(n.Keys[:n.Presorted])}}
	case *GroupBy:
		return []listDetail{{"Group Key", cols(n.Keys)}}
	case *Distinct:
		return []listDetail{{"Group Key", cols(n.Keys)}, {"Key", cols(n.Keys)}}
	case *Insert:
		var names []string
		if n.OnConflict != nil {
			for _, a := range n.OnConflict.Arbiters {
				names = append(names, quoteName(a.Name))
			}
		}
		return []listDetail{{"Conflict Arbiter Indexes", names}}
	}
	return nil
}

// Tree returns a plan as EXPLAIN's structured formats have it.
func Tree(root Node, opts ExplainOptions) Group {
	p := newPrinter(root, opts)
	p.lists = true
	return p.group(p.build(root), "")
}

// group makes the properties of an operator; relationship is what it is to its parent.
func (p *printer) group(e *ExplainNode, relationship string) Group {
	var g Group
	add := func(name string, v any) { g = append(g, Property{name, v}) }
	typ, attrs := nodeType(e)
	add("Node Type", typ)
	strategy := 0
	for ; strategy < len(attrs) && beforeParent[attrs[strategy].Name]; strategy++ {
		g = append(g, attrs[strategy])
	}
	if relationship != "" {
		add("Parent Relationship", relationship)
	}
	if e.Header != "" {
		add("Subplan Name", e.Header)
	}
	add("Parallel Aware", false)
	add("Async Capable", false)
	g = append(g, attrs[strategy:]...)
	if e.Node != nil {
		g = append(g, p.figures(e)...)
	}
	if len(e.Output) > 0 {
		add("Output", e.Output)
	}
	g = append(g, details(e)...)
	if a := e.Actual; a != nil && a.Sort.Name != "" {
		add("Sort Method", a.Sort.Name)
		add("Sort Space Used", Number(strconv.FormatInt(a.Sort.kilobytes(), 10)))
		add("Sort Space Type", a.Sort.space())
	}
	if m := e.hashMethod(); m != nil {
		batches := "HashAgg Batches"
		if e.Node == nil {
			batches = "Hash Batches"
		}
		add(batches, Number(strconv.Itoa(m.Batches)))
		add("Peak Memory Usage", Number(strconv.FormatInt(kilobytes(m.Memory), 10)))
		add("Disk Usage", Number(strconv.FormatInt(kilobytes(m.Disk), 10)))
	}
	var plans []Group
	for i, c := range e.Children {
		plans = append(plans, p.group(c, relationOf(e, i)))
	}
	if plans != nil {
		add("Plans", plans)
	}
	return g
}

// beforeParent are the attributes that PostgreSQL shows right behind the type.
var beforeParent = map[string]bool{"Strategy": true, "Partial Mode": true, "Operation": true}

// figures are the estimates and what was measured.
func (p *printer) figures(e *ExplainNode) (g Group) {
	props := e.Node.Props()
	if p.opts.Costs {
		g = append(g, Property{"Startup Cost", fixed(props.Startup, 2)}, Property{"Total Cost", fixed(props.Total, 2)},
			Property{"Plan Rows", fixed(max(props.Rows, 1), 0)},
			Property{"Plan Width", Number(strconv.Itoa(Width(props.Cols)))})
	}
	if a := e.Actual; a != nil {
		startup, total, rows := a.perLoop()
		if a.Timing {
			g = append(g, Property{"Actual Startup Time", Milliseconds(startup)}, Property{"Actual Total Time", Milliseconds(total)})
		}
		g = append(g, Property{"Actual Rows", fixed(rows, 0)}, Property{"Actual Loops", Number(strconv.FormatInt(a.Loops, 10))})
	}
	return g
}

// details are the "Key: text" lines, lists as lists.
func details(e *ExplainNode) (g Group) {
next:
	for _, d := range e.Details {
		name, text, _ := strings.Cut(d, ": ")
		for _, l := range e.lists {
			if l.name == name {
				g = append(g, Property{name, l.list})
				continue next
			}
		}
		g = append(g, Property{name, text})
	}
	return g
}

// relationOf is what the i-th child is to its parent.
func relationOf(e *ExplainNode, i int) string {
	c := e.Children[i]
	switch {
	case strings.HasPrefix(c.Header, "SubPlan"):
		return "SubPlan"
	case c.Shifted:
		return "InitPlan"
	}
	switch e.Node.(type) {
	case *SetOp:
		return "Member"
	case *Join:
		if i == len(e.Children)-1 {
			return "Inner"
		}
	}
	return "Outer"
}

var joinTypes = [...]string{
	InnerJoin: "Inner", LeftJoin: "Left", RightJoin: "Right", FullJoin: "Full", SemiJoin: "Semi", AntiJoin: "Anti",
}

// partialMode is what PostgreSQL calls the phase of a grouping.
func partialMode(n Node) string {
	if g, ok := n.(*GroupBy); ok {
		return [...]string{WholeGroups: "Simple", PartialGroups: "Partial", FinalGroups: "Finalize"}[g.Phase]
	}
	return "Simple"
}

// nodeType is an operator's type and attributes as PostgreSQL calls them.
func nodeType(e *ExplainNode) (string, Group) {
	relation := func(name, alias string) Group {
		if alias == "" {
			alias = name
		}
		return Group{{"Relation Name", name}, {"Alias", alias}}
	}
	scan := func(typ string, s *Scan) (string, Group) {
		dir := "Forward"
		if s.Reverse {
			dir = "Backward"
		}
		return typ, append(Group{{"Scan Direction", dir}, {"Index Name", s.Index.Name}}, relation(s.Table.Name, s.Alias)...)
	}
	strategy := func(name string) Group { return Group{{"Strategy", name}, {"Partial Mode", partialMode(e.Node)}} }
	modify := func(op, table, alias string) (string, Group) {
		return "ModifyTable", append(Group{{"Operation", op}}, relation(table, alias)...)
	}
	switch n := e.Node.(type) {
	case *Scan:
		switch {
		case n.Tokens != nil:
			return "Index Scan", append(Group{{"Scan Direction", "Forward"}, {"Index Name", n.Tokens.Index.Name}}, relation(n.Table.Name, n.Alias)...)
		case n.Secondary() && !n.Virtual():
			return scan("Index Only Scan", n)
		case strings.HasPrefix(strings.TrimPrefix(e.Title, "Parallel "), "Seq Scan"):
			return "Seq Scan", relation(n.Table.Name, n.Alias)
		}
		return scan("Index Scan", n)
	case *IndexJoin:
		return scan("Index Scan", n.Input)
	case *VirtualScan:
		return "Seq Scan", relation(n.Table.Name, n.Alias)
	case *TransitionScan:
		return "Named Tuplestore Scan", Group{{"Tuplestore Name", n.Name}}
	case *CTEScan:
		if n.Working {
			return "WorkTable Scan", Group{{"CTE Name", n.Name}}
		}
		return "CTE Scan", Group{{"CTE Name", n.Name}}
	case *Join:
		typ := map[JoinAlgorithm]string{HashJoin: "Hash Join", MergeJoin: "Merge Join"}[n.Algo]
		if typ == "" {
			typ = "Nested Loop"
		}
		return typ, Group{{"Join Type", joinTypes[n.Kind]}}
	case *GroupBy:
		switch {
		case n.Scalar:
			return "Aggregate", strategy("Plain")
		case n.Ordered && len(n.Aggs) == 0:
			return "Group", nil
		case n.Ordered:
			return "Aggregate", strategy("Sorted")
		}
		return "Aggregate", strategy("Hashed")
	case *Distinct:
		if n.Ordered || n.On {
			return "Unique", nil
		}
		return "Aggregate", strategy("Hashed")
	case *Insert:
		return modify("Insert", n.Table.Name, "")
	case *Update:
		return modify("Update", n.Table.Name, n.Alias)
	case *Instead:
		return modify(n.Verb(), n.Triggers.Table.Name, n.Alias)
	case *Delete:
		return modify("Delete", n.Table.Name, n.Alias)
	}
	if name, _, ok := strings.Cut(e.Title, " on "); ok {
		return name, nil
	}
	return e.Title, nil
}

// FormatJSON prints groups as EXPLAIN (FORMAT JSON) does.
func FormatJSON(groups []Group) string {
	var b strings.Builder
	writeJSON(&b, groups, 0)
	return b.String()
}

func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can't fail
	return strings.TrimSuffix(b.String(), "\n")
}

func writeJSON(b *strings.Builder, v any, depth int) {
	pad := strings.Repeat("  ", depth)
	switch v := v.(type) {
	case []string:
		texts := make([]string, len(v))
		for i, s := range v {
			texts[i] = jsonText(s)
		}
		b.WriteString("[" + strings.Join(texts, ", ") + "]")
	case Group:
		b.WriteString("{")
		for i, p := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n" + pad + "  " + jsonText(p.Name) + ": ")
			writeJSON(b, p.Value, depth+1)
		}
		b.WriteString("\n" + pad + "}")
	case []Group:
		b.WriteByte('[')
		for i, g := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n" + pad + "  ")
			writeJSON(b, g, depth+1)
		}
		b.WriteString("\n" + pad + "]")
	default:
		b.WriteString(plainText(v))
	}
}

// plainText prints a value that is neither a list nor a group, as JSON and YAML have it.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return jsonText(v)
	case bool:
		return strconv.FormatBool(v)
	case Number:
		return string(v)
	}
	return ""
}

// FormatYAML prints groups as EXPLAIN (FORMAT YAML) does.
func FormatYAML(groups []Group) string {
	var b strings.Builder
	writeYAMLGroups(&b, groups, 0)
	return strings.TrimPrefix(b.String(), "\n")
}

func writeYAMLGroups(b *strings.Builder, groups []Group, depth int) {
	for _, g := range groups {
		b.WriteString("\n" + strings.Repeat("  ", depth) + "- ")
		writeYAMLGroup(b, g, depth+1, true)
	}
}

// writeYAMLGroup prints a group; the first property stands on the present line if
// begun says so.
func writeYAMLGroup(b *strings.Builder, g Group, depth int, begun bool) {
	pad := strings.Repeat("  ", depth)
	for i, p := range g {
		if i > 0 || !begun {
			b.WriteString("\n" + pad)
		}
		b.WriteString(p.Name + ": ")
		switch v := p.Value.(type) {
		case []string:
			for _, s := range v {
				b.WriteString("\n" + pad + "  - " + jsonText(s))
			}
		case Group:
			writeYAMLGroup(b, v, depth+1, false)
		case []Group:
			writeYAMLGroups(b, v, depth+1)
		default:
			b.WriteString(plainText(v))
		}
	}
}

// FormatXML prints groups as EXPLAIN (FORMAT XML) does.
func FormatXML(groups []Group) string {
	var b strings.Builder
	b.WriteString("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n")
	for _, g := range groups {
		writeXML(&b, "Query", g, 1)
	}
	b.WriteString("</explain>")
	return b.String()
}

func writeXML(b *strings.Builder, name string, v any, depth int) {
	pad := strings.Repeat("  ", depth)
	tag := strings.ReplaceAll(name, " ", "-")
	text := func(s string) { b.WriteString(pad + "<" + tag + ">" + s + "</" + tag + ">\n") }
	open := func() { b.WriteString(pad + "<" + tag + ">\n") }
	switch v := v.(type) {
	case string:
		text(xmlText(v))
		return
	case bool:
		text(strconv.FormatBool(v))
		return
	case Number:
		text(string(v))
		return
	case []string:
		open()
		for _, s := range v {
			writeXML(b, "Item", s, depth+1)
		}
	case Group:
		open()
		for _, p := range v {
			writeXML(b, p.Name, p.Value, depth+1)
		}
	case []Group:
		open()
		for _, g := range v {
			writeXML(b, strings.TrimSuffix(name, "s"), g, depth+1)
		}
	}
	b.WriteString(pad + "</" + tag + ">\n")
}

// xmlEscapes are those of PostgreSQL.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0d;")

func xmlText(s string) string { return xmlEscapes.Replace(s) }
