package generate

import (
	"fmt"
	"slices"
	"strings"
)

// expressionProduction writes expressions of a type; it returns "" where it does not fit.
type expressionProduction struct {
	name  string
	holds kind
	write func(g *Generator, s *Scope, typ string, depth int) string
}

// expressions lists the productions of expressions. The first, drawn as often as all the others,
// applies operators and functions.
func expressions() []expressionProduction {
	return []expressionProduction{
		{"operator", expression, (*Generator).operator},
		{"CASE", expression, (*Generator).caseWhen},
		{"COALESCE", expression, (*Generator).coalesce},
		{"scalar query", query, (*Generator).scalarQuery},
		{"EXISTS", query, (*Generator).exists},
		{"IN query", expression | query, (*Generator).inQuery},
		{"row IN query", expression | query, (*Generator).rowInQuery},
		{"quantified query", expression | query, (*Generator).quantified},
		{"quantified row query", expression | query, (*Generator).quantifiedRow},
		{"row of a query", expression | query, (*Generator).rowOfQuery},
		{"ARRAY query", query, (*Generator).arrayQuery},
		{"array", expression, (*Generator).arrayElement},
		{"row", expression, (*Generator).field},
		{"cast", expression, (*Generator).castThere},
		{"equal expressions", expression, (*Generator).equalExpressions},
		{"whole row", 0, (*Generator).wholeRow},
		{"aggregate", expression, (*Generator).aggregate},
		{"grouping", 0, (*Generator).groupingCall},
		{"window call", expression, (*Generator).windowCall},
		{"column", 0, func(g *Generator, s *Scope, typ string, _ int) string { return s.column(g.Rand, typ) }},
		{"outer column", 0, (*Generator).outerColumn},
		{"constant", 0, func(g *Generator, _ *Scope, typ string, _ int) string { return g.constant(typ) }},
	}
}

// Expr draws an expression of a type.
func (g *Generator) Expr(s *Scope, typ string, depth int) string {
	if depth > 0 && !g.OneIn(4) {
		for range 6 {
			if text := g.expression(g.drawExpression(), s, typ, depth-1); text != "" {
				return text
			}
		}
	}
	atoms := g.expressions[len(g.expressions)-3:]
	for _, i := range [][]int{{0, 1, 2}, {0, 1, 2}, {1, 0, 2}, {2}}[g.IntN(4)] {
		if text := g.expression(atoms[i], s, typ, 0); text != "" {
			return text
		}
	}
	return g.constant(typ)
}

func (g *Generator) expression(p expressionProduction, s *Scope, typ string, depth int) string {
	return g.in(p.name, func() string { return p.write(g, s, typ, depth) })
}

func (g *Generator) drawExpression() expressionProduction {
	if g.OneIn(3) {
		return g.expressions[0]
	}
	a, b := g.expressions[g.IntN(len(g.expressions))], g.expressions[g.IntN(len(g.expressions))]
	if g.seldom(a.name, b.name) {
		return a
	}
	return b
}

func (g *Generator) operator(s *Scope, typ string, depth int) string {
	list := g.formsOf(typ)
	if len(list) == 0 {
		return ""
	}
	return g.fill(s, g.Pick(list...), depth)
}

// fill replaces the braces of a form.
func (g *Generator) fill(s *Scope, form string, depth int) string {
	var b strings.Builder
	last := ""
	for {
		i := strings.IndexByte(form, '{')
		if i < 0 {
			b.WriteString(form)
			return "(" + b.String() + ")"
		}
		n := strings.IndexByte(form[i:], '}')
		word := form[i+1 : i+n]
		b.WriteString(form[:i])
		switch {
		case word == "=":
			b.WriteString(last)
		case small[word] != nil:
			last = g.Expr(s, word, depth)
			b.WriteString(last)
		default:
			b.WriteString(form[i : i+n+1])
		}
		form = form[i+n+1:]
	}
}

// untyped is a literal or NULL whose type the neighbours tell, or an expression.
func (g *Generator) untyped(s *Scope, typ string, depth int) string {
	switch {
	case g.OneIn(8):
		return "NULL"
	case g.OneIn(4) && typ != "bool":
		return g.SmallLiteral(typ)
	}
	return g.Expr(s, typ, depth)
}

func (g *Generator) caseWhen(s *Scope, typ string, depth int) string {
	if g.OneIn(3) {
		key := g.typ()
		if noOrder[key] {
			key = "int4"
		}
		return fmt.Sprintf("CASE %s WHEN %s THEN %s WHEN %s THEN %s END", g.Expr(s, key, depth), g.untyped(s, key, depth), g.Expr(s, typ, depth),
			g.Expr(s, key, depth), g.untyped(s, typ, depth))
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.Expr(s, "bool", depth), g.Expr(s, typ, depth), g.untyped(s, typ, depth))
}

func (g *Generator) coalesce(s *Scope, typ string, depth int) string {
	call := g.Pick("coalesce", "coalesce", "nullif", "greatest", "least")
	if call != "coalesce" && noOrder[typ] {
		call = "coalesce"
	}
	return fmt.Sprintf("%s(%s, %s)", call, g.Expr(s, typ, depth), g.untyped(s, typ, depth))
}

// scalarQuery is a query of one row at most. Values whose order is a database's own are taken
// through an aggregate that puts them in order as texts.
func (g *Generator) scalarQuery(s *Scope, typ string, depth int) string {
	q := g.Query(s.nested(), []string{typ}, depth)
	if noOrder[typ] {
		return fmt.Sprintf("(SELECT (array_agg(x ORDER BY x::text))[1] FROM (%s) s(x))", q)
	}
	return fmt.Sprintf("(SELECT x FROM (%s) s(x) ORDER BY 1%s LIMIT 1)", q, g.Pick("", " DESC", " NULLS FIRST"))
}

func (g *Generator) exists(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	return fmt.Sprintf("(%sEXISTS (%s))", g.Pick("", "NOT "), g.Query(s.nested(), []string{g.typ()}, depth))
}

// comparable draws a type that has an order all databases share.
func (g *Generator) comparable() string {
	for {
		if t := g.typ(); !noOrder[t] {
			return t
		}
	}
}

func (g *Generator) inQuery(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	t := g.comparable()
	return fmt.Sprintf("(%s %sIN (%s))", g.Expr(s, t, depth), g.Pick("", "", "NOT "), g.Query(s.nested(), []string{t}, depth))
}

// quantifiedRow compares a row with those of a query.
func (g *Generator) quantifiedRow(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	t, u := g.comparable(), g.comparable()
	return fmt.Sprintf("((%s, %s) %s %s (%s))", g.Expr(s, t, depth), g.Expr(s, u, depth), g.Pick("=", "<>", "<", ">="), g.Pick("ANY", "SOME", "ALL"), g.Query(s.nested(), []string{t, u}, depth))
}

// rowOfQuery compares a row with the only one of a query.
func (g *Generator) rowOfQuery(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	t, u := g.comparable(), g.comparable()
	return fmt.Sprintf("((%s, %s) %s (SELECT * FROM (%s) r ORDER BY 1, 2 LIMIT 1))", g.Expr(s, t, depth), g.Expr(s, u, depth), g.Pick("=", "<>", "<", "IS DISTINCT FROM"), g.Query(s.nested(), []string{t, u}, depth))
}

func (g *Generator) rowInQuery(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	t, u := g.comparable(), g.comparable()
	return fmt.Sprintf("((%s, %s) %sIN (%s))", g.Expr(s, t, depth), g.Expr(s, u, depth), g.Pick("", "", "NOT "), g.Query(s.nested(), []string{t, u}, depth))
}

func (g *Generator) quantified(s *Scope, typ string, depth int) string {
	if typ != "bool" {
		return ""
	}
	t := g.comparable()
	return fmt.Sprintf("(%s %s %s (%s))", g.Expr(s, t, depth), g.Pick("=", "<", ">=", "<>"), g.Pick("ANY", "ALL"), g.Query(s.nested(), []string{t}, depth))
}

func (g *Generator) arrayQuery(s *Scope, typ string, depth int) string {
	elem, ok := strings.CutPrefix(typ, "_")
	if !ok {
		return ""
	}
	return fmt.Sprintf("ARRAY(SELECT x FROM (%s) s(x) ORDER BY 1)", g.Query(s.nested(), []string{elem}, depth))
}

func (g *Generator) arrayElement(s *Scope, typ string, depth int) string {
	if strings.HasPrefix(typ, "_") {
		return ""
	}
	return fmt.Sprintf("(ARRAY[%s, %s])[%s]", g.Expr(s, typ, depth), g.Expr(s, typ, depth), g.Pick("1", "2", "3"))
}

// field is a field of a row that is made here.
func (g *Generator) field(s *Scope, typ string, depth int) string {
	switch typ {
	case "int4":
		return fmt.Sprintf("(ROW(%s, %s)::pair).a", g.Expr(s, "int4", depth), g.Expr(s, "text", depth))
	case "text":
		return fmt.Sprintf("(%s).b", g.Expr(s, "pair", depth))
	case "pair":
		if g.OneIn(4) {
			return fmt.Sprintf("(SELECT r.p FROM (SELECT %s AS p) r)", g.Expr(s, "pair", depth))
		}
		return fmt.Sprintf("ROW(%s, %s)::pair", g.untyped(s, "int4", depth), g.untyped(s, "text", depth))
	case "bool":
		t := g.comparable()
		return fmt.Sprintf("(ROW(%s, %s) %s ROW(%s, %s))", g.Expr(s, t, depth), g.Expr(s, "int4", depth), g.Pick("=", "<", "<>", "IS DISTINCT FROM"), g.Expr(s, t, depth), g.Expr(s, "int4", depth))
	}
	return ""
}

// castThere is a cast to a type's text and back.
func (g *Generator) castThere(s *Scope, typ string, depth int) string {
	return fmt.Sprintf("%s::text::%s", g.operand(s, typ, depth), TypeSQL(typ))
}

// operand is an expression that binds more than any operator.
func (g *Generator) operand(s *Scope, typ string, depth int) string {
	return "(" + g.Expr(s, typ, depth) + ")"
}

// equalExpressions computes one expression under several names.
func (g *Generator) equalExpressions(s *Scope, typ string, depth int) string {
	e := g.Expr(&Scope{Cols: s.nested().Cols, outer: s.outer}, typ, depth)
	p, q := g.name("p"), g.name("q")
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf("(SELECT e.%s FROM (SELECT %s AS %s, %s AS %s) e)", q, e, p, e, q)
	case 1:
		return fmt.Sprintf("(WITH e AS %s(SELECT %s AS %s, %s AS %s) SELECT (SELECT e.%s FROM e))", g.Pick("", "MATERIALIZED "), e, p, e, q, g.Pick(p, q))
	}
	return fmt.Sprintf("(SELECT e.%s FROM (SELECT %s, %s UNION ALL SELECT %s, NULL LIMIT 1) e(%s, %s))", p, e, e, e, p, q)
}

// wholeRow names a relation's row.
func (g *Generator) wholeRow(s *Scope, typ string, _ int) string {
	if len(s.rows) == 0 {
		return ""
	}
	row := g.Pick(s.rows...)
	switch typ {
	case "bool":
		return g.Pick("("+row+" IS NULL)", "("+row+" IS NOT NULL)", "("+row+".* IS DISTINCT FROM NULL)", "("+row+" = "+row+")")
	case "text":
		return row + "::text"
	case "jsonb":
		return "to_jsonb(" + row + ")"
	case "int8":
		return g.Pick("(SELECT count(r) FROM (SELECT "+row+".*) r)", "num_nonnulls("+row+".*)::int8", "(SELECT count(*) FROM (SELECT "+row+".*) r)")
	}
	return ""
}

func (g *Generator) outerColumn(s *Scope, typ string, _ int) string {
	for o := s.outer; o != nil; o = o.outer {
		if c := o.column(g.Rand, typ); c != "" {
			return c
		}
	}
	return ""
}

// aggregate is a call of an aggregate whose value does not depend on the order of rows.
func (g *Generator) aggregate(s *Scope, typ string, depth int) string {
	if s.grouped == nil {
		return ""
	}
	arguments := s.grouped
	if !g.OneIn(4) { // an aggregate of columns of the query around would be that query's
		arguments = &Scope{Cols: arguments.Cols, keys: arguments.keys, rows: arguments.rows}
	}
	var list []string
	list = append(list, aggregates[typ]...)
	if !noOrder[typ] {
		list = append(list, "(array_agg({"+typ+"} ORDER BY {=}))[1]")
	}
	if elem, ok := strings.CutPrefix(typ, "_"); ok {
		list = append(list, "array_agg({"+elem+"} ORDER BY {=})", "array_agg(DISTINCT {"+elem+"})")
	}
	if len(arguments.rows) > 0 && typ == "int8" {
		row := g.Pick(arguments.rows...)
		list = append(list, "count("+row+".*)", "count("+row+")", "count(DISTINCT "+row+"::text)")
	}
	if len(list) == 0 {
		return ""
	}
	call := g.fill(arguments, g.Pick(list...), depth)
	if g.OneIn(8) { // the aggregate of the query around
		return "(SELECT " + call + ")"
	}
	return call
}

func (g *Generator) groupingCall(s *Scope, typ string, _ int) string {
	if s.grouped == nil || len(s.Cols) == 0 || typ != "int4" {
		return ""
	}
	return "grouping(" + names(s.Cols) + ")"
}

// windowCall is a call over a window.
func (g *Generator) windowCall(s *Scope, typ string, depth int) string {
	if !s.windows || len(windows[typ]) == 0 {
		return ""
	}
	arguments := *s
	arguments.windows = false
	call := g.fill(&arguments, g.Pick(windows[typ]...), depth)
	call = call[1 : len(call)-1]
	if g.OneIn(3) && unorderedCall.MatchString(call) {
		return call + " OVER (" + g.rangeWindow(&arguments) + ")"
	}
	if g.OneIn(8) && (strings.HasPrefix(call, "sum") || strings.HasPrefix(call, "count")) {
		call += " FILTER (WHERE " + g.Expr(&arguments, "bool", 1) + ")"
	}
	if s.namedWindow != "" && g.OneIn(2) {
		return call + " OVER " + g.Pick(s.namedWindow, "("+s.namedWindow+")", "("+s.namedWindow+" ROWS 1 PRECEDING)", "("+s.namedWindow+" GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE CURRENT ROW)")
	}
	return call + " OVER (" + g.window(&arguments) + ")"
}

// typ draws a type, more often one of those that most expressions have.
func (g *Generator) typ() string {
	if g.OneIn(3) {
		return g.Pick("int4", "text", "numeric", "varchar(4)", "pair", "bool")
	}
	return g.Pick(Types...)
}

// types draws the types of a query's columns; some come twice.
func (g *Generator) types() []string {
	var list []string
	for range 1 + g.IntN(4) {
		if len(list) > 0 && g.OneIn(4) {
			list = append(list, list[0])
		} else {
			list = append(list, g.typ())
		}
	}
	return list
}

// ordered returns types of which databases share the order.
func ordered(types []string) bool {
	return !slices.ContainsFunc(types, func(t string) bool { return noOrder[t] })
}
