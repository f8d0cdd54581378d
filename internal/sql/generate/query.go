package generate

import (
	"fmt"
	"strings"
)

// queryProduction writes a query of columns of types; it returns "" where it does not fit.
type queryProduction struct {
	name  string
	holds kind
	write func(g *Generator, outer *Scope, types []string, depth int) string
}

func queries() []queryProduction {
	return []queryProduction{
		{"SELECT", expression | relation, (*Generator).plain},
		{"grouped", expression | relation, (*Generator).grouped},
		{"windowed", expression | relation, (*Generator).windowed},
		{"DISTINCT ON", expression | relation, (*Generator).distinctOn},
		{"set operation", query, (*Generator).setOperation},
		{"VALUES", expression, func(g *Generator, outer *Scope, types []string, depth int) string {
			return g.values(&Scope{outer: outer}, types, depth)
		}},
		{"WITH", query, (*Generator).with},
		{"WITH RECURSIVE", expression | query, (*Generator).recursive},
		{"SEARCH or CYCLE", query, (*Generator).searched},
		{"LIMIT", query, (*Generator).limited},
		{"sets in the select list", expression | relation, (*Generator).projectedSets},
		{"SELECT without FROM", expression, (*Generator).withoutFrom},
	}
}

// Query draws a query of columns of types.
func (g *Generator) Query(outer *Scope, types []string, depth int) (text string) {
	write := func(p queryProduction, depth int) {
		text = g.in(p.name, func() string { return p.write(g, outer, types, depth) })
	}
	if depth > 0 && !g.OneIn(4) {
		for range 4 {
			a, b := g.queries[g.IntN(len(g.queries))], g.queries[g.IntN(len(g.queries))]
			if !g.seldom(a.name, b.name) {
				a = b
			}
			if write(a, depth-1); text != "" {
				return text
			}
		}
	}
	write(g.queries[0], max(depth-1, 0))
	return text
}

// items is a select list. Outputs of one type are one expression at times.
func (g *Generator) items(types []string, expr func(typ string) string) string {
	var list, texts []string
	for i, t := range types {
		text := ""
		for j := range i {
			if types[j] == t && g.OneIn(2) {
				text = texts[j]
			}
		}
		if text == "" {
			text = expr(t)
		}
		texts = append(texts, text)
		if !g.OneIn(3) {
			text += fmt.Sprintf(" AS c%d", i)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func (g *Generator) where(s *Scope, depth int) string {
	if g.OneIn(3) {
		return ""
	}
	return " WHERE " + g.Expr(s, "bool", depth+1)
}

func (g *Generator) plain(outer *Scope, types []string, depth int) string {
	from, s := g.From(outer, depth)
	where := g.where(s, depth)
	items := g.items(types, func(t string) string { return g.Expr(s, t, depth) })
	distinct := ""
	if ordered(types) {
		distinct = g.Pick("", "", "", "", "DISTINCT ")
	}
	return fmt.Sprintf("SELECT %s%s FROM %s%s", distinct, items, from, where)
}

func (g *Generator) withoutFrom(outer *Scope, types []string, depth int) string {
	s := &Scope{outer: outer}
	return "SELECT " + g.items(types, func(t string) string { return g.Expr(s, t, depth) }) + g.Pick("", "", " WHERE "+g.Expr(s, "bool", depth))
}

// grouped is a query with GROUP BY: an output is made of grouping expressions and aggregates.
func (g *Generator) grouped(outer *Scope, types []string, depth int) string {
	from, s := g.From(outer, depth)
	where := g.where(s, depth)
	gs := &Scope{outer: outer, grouped: s}
	for range g.IntN(4) {
		typ := g.comparable()
		key := s.column(g.Rand, typ)
		if g.OneIn(3) && depth > 0 {
			if e := g.operand(&Scope{Cols: s.Cols, outer: outer}, typ, depth-1); mentions(e, s) {
				key = e
			}
		}
		if key != "" {
			gs.Cols = append(gs.Cols, Column{key, typ})
		}
	}
	if len(gs.Cols) > 0 && g.OneIn(6) { // the same twice
		gs.Cols = append(gs.Cols, gs.Cols[0])
	}
	sql := fmt.Sprintf("SELECT %s FROM %s%s", g.items(types, func(t string) string { return g.Expr(gs, t, depth+1) }), from, where)
	if list := names(gs.Cols); list != "" {
		sql += " GROUP BY " + g.Pick(list, list, "ROLLUP ("+list+")", "CUBE ("+list+")", "GROUPING SETS (("+list+"), ())", "GROUPING SETS ("+list+")",
			"GROUPING SETS (("+list+"), ROLLUP ("+list+"))", "GROUPING SETS (GROUPING SETS (("+list+"), ()), CUBE ("+gs.Cols[0].Name+"))", gs.Cols[0].Name+", GROUPING SETS (("+list+"), ())", "ROLLUP (("+list+"), "+gs.Cols[0].Name+")", "()", "DISTINCT CUBE ("+list+"), ROLLUP ("+gs.Cols[0].Name+")")
		if g.OneIn(3) {
			sql += " HAVING " + g.Expr(gs, "bool", depth)
		}
	} else {
		sql += " HAVING " + g.Pick("true", "count(*) >= 0", g.Expr(gs, "bool", depth))
	}
	return sql
}

// mentions reports whether an expression has a column of a scope.
func mentions(expr string, s *Scope) bool {
	for _, c := range s.Cols {
		if strings.Contains(expr, c.Name) {
			return true
		}
	}
	return false
}

// windowed is a query whose outputs are windows' or plain.
func (g *Generator) windowed(outer *Scope, types []string, depth int) string {
	from, s := g.From(outer, depth)
	if s.repeats || len(s.keys) == 0 {
		return ""
	}
	where := g.where(s, depth)
	s.windows = true
	named := ""
	if g.OneIn(3) {
		s.namedWindow = g.name("w")
		named = fmt.Sprintf(" WINDOW %s AS (%sORDER BY %s)", s.namedWindow, g.Pick("", "PARTITION BY "+s.Cols[0].Name+" "), strings.Join(s.keys, ", "))
	}
	return fmt.Sprintf("SELECT %s FROM %s%s%s", g.items(types, func(t string) string {
		if g.OneIn(2) {
			if call := g.expression(g.production("window call"), s, t, depth); call != "" {
				return call
			}
		}
		return g.Expr(s, t, depth)
	}), from, where, named)
}

// production finds one of the productions of expressions.
func (g *Generator) production(name string) expressionProduction {
	for _, p := range g.expressions {
		if p.name == name {
			return p
		}
	}
	panic("no production " + name)
}

// distinctOn takes the first row of each key in an order that leaves no choice.
func (g *Generator) distinctOn(outer *Scope, types []string, depth int) string {
	if !ordered(types) {
		return ""
	}
	from, s := g.From(outer, depth)
	key := g.operand(s, g.comparable(), depth)
	if !mentions(key, s) {
		key = "(" + s.Cols[0].Name + ")"
	}
	order := []string{key + g.Pick("", " DESC")}
	for i := range types {
		order = append(order, fmt.Sprint(i+1))
	}
	on := key
	if g.OneIn(3) {
		on = key + ", " + key
	}
	return fmt.Sprintf("(SELECT DISTINCT ON (%s) %s FROM %s%s ORDER BY %s)", on, g.items(types, func(t string) string { return g.Expr(s, t, depth) }), from, g.where(s, depth), strings.Join(order, ", "))
}

func (g *Generator) setOperation(outer *Scope, types []string, depth int) string {
	op := g.Pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
	if !ordered(types) {
		op = "UNION ALL"
	}
	left, right := g.Query(outer, types, depth), g.Query(outer, types, depth)
	if g.OneIn(3) { // literals that take their types from the other side
		s := &Scope{outer: outer}
		right = "SELECT " + g.items(types, func(t string) string { return g.untyped(s, t, depth) })
	}
	return fmt.Sprintf("(%s) %s (%s)", left, op, right)
}

func (g *Generator) values(s *Scope, types []string, depth int) string {
	var rows []string
	for i := range 1 + g.IntN(3) {
		var row []string
		for _, t := range types {
			if i == 0 {
				row = append(row, g.Expr(s, t, depth))
			} else {
				row = append(row, g.untyped(s, t, depth))
			}
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	return "VALUES " + strings.Join(rows, ", ")
}

// with names queries that the main one, or those nested in it, may use.
func (g *Generator) with(outer *Scope, types []string, depth int) string {
	s := &Scope{outer: outer}
	var list []string
	for range 1 + g.IntN(2) {
		c := cte{name: g.name("w"), cols: columnsOf(append([]string{"int4"}, g.types()...))}
		list = append(list, fmt.Sprintf("%s(%s) AS %s(%s)", c.name, names(c.cols), g.Pick("", "", "MATERIALIZED ", "NOT MATERIALIZED "), g.Query(s, typesOf(c.cols), depth)))
		s = &Scope{outer: outer, ctes: append(append([]cte{}, s.ctes...), c)}
	}
	return "WITH " + strings.Join(list, ", ") + " " + g.Query(s, types, depth)
}

func typesOf(cols []Column) []string {
	var list []string
	for _, c := range cols {
		list = append(list, c.Type)
	}
	return list
}

// recursive counts, with a column that the first term has twice.
func (g *Generator) recursive(outer *Scope, types []string, depth int) string {
	name := g.name("r")
	typ := g.comparable()
	first := g.Expr(&Scope{outer: outer}, typ, depth)
	self := &Scope{Cols: []Column{{name + ".n", "int4"}, {name + ".root", "int4"}, {name + ".v", typ}}, outer: outer}
	step := fmt.Sprintf("SELECT %s.n + 1, %s.root, %s FROM %s WHERE %s.n < %s", name, name, g.Expr(self, typ, depth), name, name, g.Pick("4", "6"))
	start := fmt.Sprintf("SELECT %s, %s", g.Pick("1, 1", "2, 2", "-1 + 2, -1 + 2"), first)
	s := &Scope{outer: outer, ctes: []cte{{name, []Column{{"n", "int4"}, {"root", "int4"}, {"v", typ}}}}}
	return fmt.Sprintf("WITH RECURSIVE %s(n, root, v) AS (%s %s %s) %s", name, start, g.Pick("UNION ALL", "UNION ALL", "UNION"), step, g.Query(s, types, depth))
}

// searched walks a graph of few edges, noting the order and the cycles.
func (g *Generator) searched(outer *Scope, types []string, depth int) string {
	name, edges := g.name("r"), g.Pick("(1, 2), (2, 3), (3, 1)", "(1, 2), (1, 3), (3, 4)", "(1, 1)")
	start := g.Pick("1", "2")
	clause, cols := " SEARCH "+g.Pick("DEPTH", "BREADTH")+" FIRST BY n SET ord", []Column{{"n", "int4"}}
	step := fmt.Sprintf("SELECT e.b, %s.d + 1 FROM %s JOIN (VALUES %s) e(a, b) ON e.a = %s.n WHERE %s.d < 4", name, name, edges, name, name)
	if g.OneIn(2) {
		clause, cols = " CYCLE n SET cyc"+g.Pick("", " TO 'y' DEFAULT 'n'")+" USING path", append(cols, Column{"cyc::text", "text"}, Column{"path::text", "text"})
	} else {
		cols = append(cols, Column{"ord::text", "text"})
	}
	cols = append(cols, Column{"d", "int4"})
	s := &Scope{outer: outer, ctes: []cte{{name + "x", columnsOf(typesOf(cols))}}}
	return fmt.Sprintf("WITH RECURSIVE %s(n, d) AS (SELECT %s, 0 UNION ALL %s)%s, %sx(%s) AS (SELECT %s FROM %s) %s", name, start, step, clause, name, names(columnsOf(typesOf(cols))), names(cols), name, g.Query(s, types, depth))
}

// limited cuts a query's rows off in an order that leaves no choice.
func (g *Generator) limited(outer *Scope, types []string, depth int) string {
	if !ordered(types) {
		return ""
	}
	q, order := g.Query(outer, types, depth), g.totalOrder(len(types))
	if g.OneIn(5) { // all rows that are alike in the first column
		return fmt.Sprintf("(SELECT * FROM (%s) %s ORDER BY 1%s FETCH FIRST %s ROWS WITH TIES)", q, g.name("l"), g.Pick("", " DESC", " NULLS FIRST"), g.Pick("1", "2", "(1 + 2)"))
	}
	return fmt.Sprintf("(SELECT * FROM (%s) %s ORDER BY %s%s)", q, g.name("l"), order, g.limit())
}

func (g *Generator) limit() string {
	return g.Pick(" LIMIT 3", " LIMIT 5 OFFSET 2", " OFFSET 1", " FETCH FIRST 2 ROWS WITH TIES", " FETCH FIRST ROW ONLY", " LIMIT 0", " LIMIT ALL", " LIMIT (SELECT 2)")
}

func (g *Generator) totalOrder(n int) string {
	var order []string
	for i := range n {
		order = append(order, fmt.Sprint(i+1)+g.Pick("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST", " USING <", " USING > NULLS LAST"))
	}
	return strings.Join(order, ", ")
}

// projectedSets has functions that return sets in the select list.
func (g *Generator) projectedSets(outer *Scope, types []string, depth int) string {
	from, s := g.From(outer, depth)
	where := g.where(s, depth)
	return fmt.Sprintf("SELECT %s FROM %s%s", g.items(types, func(t string) string {
		switch {
		case t == "int4" && g.OneIn(2):
			return g.Pick("generate_series(1, 2)", "generate_series(1, 3) * 2", "("+g.fill(s, "unnest({_int4})", depth)+")", "("+g.fill(s, "unnest({_pair})", depth)+").a")
		case small["_"+t] != nil:
			return g.fill(s, "unnest({_"+t+"})", depth)
		}
		return g.Expr(s, t, depth)
	}), from, where)
}
