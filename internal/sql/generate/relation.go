package generate

import (
	"fmt"
	"slices"
	"strings"
)

// relationProduction writes an item of FROM and tells what it offers. Left is what stands before
// it, of which it may use columns; nil if there is nothing.
type relationProduction struct {
	name  string
	holds kind
	write func(g *Generator, left *Scope, outer *Scope, depth int) (string, *Scope)
}

func relations() []relationProduction {
	return []relationProduction{
		{"table", 0, (*Generator).tableItem},
		{"view", 0, (*Generator).viewItem},
		{"derived table", query, (*Generator).derived},
		{"LATERAL", query, (*Generator).lateral},
		{"name of WITH", 0, (*Generator).cteItem},
		{"VALUES in FROM", expression, (*Generator).valuesItem},
		{"function", expression, (*Generator).functionItem},
		{"function of rows", expression, (*Generator).rowFunctionItem},
		{"ROWS FROM", expression, (*Generator).rowsFrom},
		{"join", expression | relation, (*Generator).joinItem},
		{"join USING", 0, (*Generator).usingItem},
		{"fields of rows", expression | relation, (*Generator).fieldsItem},
	}
}

// From draws a FROM clause with what it offers.
func (g *Generator) From(outer *Scope, depth int) (string, *Scope) {
	text, s := g.relation(nil, outer, depth)
	for g.OneIn(5) && len(s.keys) < 3 {
		right, rs := g.relation(s, outer, depth-1)
		text, s = text+", "+right, s.beside(rs)
	}
	s.outer = outer
	return text, s
}

func (g *Generator) relation(left, outer *Scope, depth int) (text string, s *Scope) {
	write := func(p relationProduction, depth int) {
		g.in(p.name, func() string {
			text, s = p.write(g, left, outer, depth)
			return text
		})
	}
	if depth > 0 {
		for range 4 {
			a, b := g.relations[g.IntN(len(g.relations))], g.relations[g.IntN(len(g.relations))]
			if !g.seldom(a.name, b.name) {
				a = b
			}
			if write(a, depth-1); text != "" {
				return text, s
			}
		}
	}
	write(g.relations[0], 0)
	return text, s
}

// lateralScope is what an item may use: what stands before it, and what surrounds the query.
func lateralScope(left, outer *Scope) *Scope {
	if left == nil {
		return &Scope{outer: outer}
	}
	return &Scope{Cols: left.Cols, outer: outer}
}

func (g *Generator) tableItem(_, _ *Scope, _ int) (string, *Scope) {
	t := g.Schema.table(g.Rand)
	a := g.name("a")
	text := t.Name + " " + a
	switch g.IntN(20) {
	case 0:
		text = "ONLY " + text
	case 1: // all rows or none: which, no database shares
		text += " TABLESAMPLE " + g.Pick("BERNOULLI (100)", "SYSTEM (100) REPEATABLE (3)", "BERNOULLI (0)", "SYSTEM (50 - 50)")
	}
	return text, &Scope{Cols: qualified(t.Cols, a), keys: []string{a + ".id"}, rows: []string{a}}
}

func (g *Generator) viewItem(_, _ *Scope, _ int) (string, *Scope) {
	if len(g.Schema.Views) == 0 {
		return "", nil
	}
	v := g.Schema.Views[g.IntN(len(g.Schema.Views))]
	a := g.name("a")
	return v.Name + " " + a, &Scope{Cols: qualified(v.Cols, a), rows: []string{a}, repeats: true}
}

// columnsOf are fresh columns of types.
func columnsOf(types []string) []Column {
	var cols []Column
	for i, t := range types {
		cols = append(cols, Column{fmt.Sprintf("x%d", i), t})
	}
	return cols
}

// item is a relation of columns under an alias that lists them.
func (g *Generator) item(text string, cols []Column) (string, *Scope) {
	a := g.name("a")
	return fmt.Sprintf("%s %s(%s)", text, a, names(cols)), &Scope{Cols: qualified(cols, a), rows: []string{a}, repeats: true}
}

func (g *Generator) derived(_, outer *Scope, depth int) (string, *Scope) {
	types := append([]string{"int4"}, g.types()...)
	return g.item("("+g.Query(outer, types, depth)+")", columnsOf(types))
}

func (g *Generator) lateral(left, outer *Scope, depth int) (string, *Scope) {
	types := append([]string{"int4"}, g.types()...)
	return g.item("LATERAL ("+g.Query(lateralScope(left, outer), types, depth)+")", columnsOf(types))
}

func (g *Generator) cteItem(_, outer *Scope, _ int) (string, *Scope) {
	list := outer.visible()
	if len(list) == 0 {
		return "", nil
	}
	c := list[g.IntN(len(list))]
	a := g.name("a")
	return c.name + " " + a, &Scope{Cols: qualified(c.cols, a), rows: []string{a}, repeats: true}
}

func (g *Generator) valuesItem(left, outer *Scope, depth int) (string, *Scope) {
	types := append([]string{"int4"}, g.types()...)
	return g.item("("+g.values(&Scope{outer: outer}, types, depth)+")", columnsOf(types))
}

// functionItem is a function that returns values.
func (g *Generator) functionItem(left, outer *Scope, depth int) (string, *Scope) {
	s := lateralScope(left, outer)
	form, typ := "", "text"
	switch g.IntN(6) {
	case 0:
		form, typ = g.Pick("generate_series({int4} % 5, 4)", "generate_series(1, 3)", "generate_subscripts({_int4}, 1)"), "int4"
	case 1:
		form, typ = "unnest({_int4})", "int4"
	case 2:
		form = "unnest({_text})"
	case 3:
		form = g.Pick("jsonb_object_keys(CASE WHEN jsonb_typeof({jsonb}) = 'object' THEN {=} END)", "regexp_split_to_table({text}, 'a')", "string_to_table({text}, 'b')")
	case 4:
		form, typ = "unnest(enum_range(NULL::mood, {mood}))", "mood"
	default:
		form, typ = "jsonb_array_elements(CASE WHEN jsonb_typeof({jsonb}) = 'array' THEN {=} END)", "jsonb"
	}
	text := g.fill(s, form, depth)
	text, cols := g.Pick("", "", "LATERAL ")+text[1:len(text)-1], []Column{{"x0", typ}}
	if g.OneIn(2) {
		text, cols = text+" WITH ORDINALITY", append(cols, Column{"x1", "int8"})
	}
	return g.item(text, cols)
}

// rowFunctionItem is a function that returns rows.
func (g *Generator) rowFunctionItem(left, outer *Scope, depth int) (string, *Scope) {
	s := lateralScope(left, outer)
	if g.OneIn(3) {
		text := g.fill(s, g.Pick("jsonb_to_recordset(jsonb_build_array({jsonb}, {=}))", "jsonb_to_record(jsonb_build_object('a', {int4}, 'v', {text}))"), depth)
		a := g.name("a")
		return fmt.Sprintf("%s AS %s(a int, v text)", text[1:len(text)-1], a), &Scope{Cols: qualified([]Column{{"a", "int4"}, {"v", "text"}}, a), rows: []string{a}, repeats: true}
	}
	text := g.fill(s, g.Pick("unnest({_pair})", "unnest({_pair})", "jsonb_populate_recordset(NULL::pair, '[{\"a\": 1}, {\"b\": \"x\"}]')", "jsonb_populate_record({pair}, '{\"a\": 5}')"), depth)
	text, cols := text[1:len(text)-1], []Column{{"x0", "int4"}, {"x1", "text"}}
	if g.OneIn(3) {
		text, cols = text+" WITH ORDINALITY", append(cols, Column{"x2", "int8"})
	}
	return g.item(text, cols)
}

func (g *Generator) rowsFrom(left, outer *Scope, depth int) (string, *Scope) {
	s := lateralScope(left, outer)
	calls := g.fill(s, g.Pick("generate_series(1, 3), unnest({_text})", "unnest({_int4}), unnest({_text})", "jsonb_to_recordset(jsonb_build_array({jsonb}, {=})) AS (a int, b text)"), depth)
	return g.item("ROWS FROM "+calls, []Column{{"x0", "int4"}, {"x1", "text"}})
}

func (g *Generator) joinItem(left, outer *Scope, depth int) (string, *Scope) {
	kind := g.Pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT JOIN")
	l, ls := g.relation(left, outer, depth)
	before := ls
	if kind == "RIGHT JOIN" || kind == "FULL JOIN" {
		before = nil
	}
	r, rs := g.relation(before, outer, depth-1)
	if strings.Contains(r, " JOIN ") && !strings.HasPrefix(r, "(") && !strings.HasPrefix(r, "LATERAL") {
		r = "(" + r + ")"
	}
	both := ls.beside(rs)
	if kind == "CROSS JOIN" {
		return l + " CROSS JOIN " + r, both
	}
	both.outer = outer
	return fmt.Sprintf("%s %s %s ON %s", l, kind, r, g.joinCondition(kind, ls, rs, both, depth)), both
}

// joinCondition compares columns of both sides. PostgreSQL joins fully only by hash or merge.
func (g *Generator) joinCondition(kind string, left, right, both *Scope, depth int) string {
	typ := g.Pick("int4", "int4", "text", "varchar(4)")
	a, b := left.column(g.Rand, typ), right.column(g.Rand, typ)
	if a == "" || b == "" {
		a, b = left.column(g.Rand, "int4"), right.column(g.Rand, "int4")
	}
	if a == "" || b == "" {
		if kind == "FULL JOIN" {
			return "true"
		}
		return g.Expr(both, "bool", min(depth, 2))
	}
	on := a + " = " + b
	if kind != "FULL JOIN" && g.OneIn(3) {
		on += " AND " + g.operand(both, "bool", min(depth, 2))
	}
	return on
}

// usingItem joins two tables by columns of one name, which come first and once.
func (g *Generator) usingItem(_, _ *Scope, _ int) (string, *Scope) {
	l, r := g.Schema.table(g.Rand), g.Schema.table(g.Rand)
	merged := []Column{l.Cols[0]}
	for _, c := range l.Cols[1:] {
		if slices.Contains(r.Cols, c) && !noOrder[c.Type] && g.OneIn(3) {
			merged = append(merged, c)
		}
	}
	cols := slices.Clone(merged)
	for _, c := range slices.Concat(l.Cols, r.Cols) {
		if !slices.Contains(merged, c) {
			cols = append(cols, c)
		}
	}
	out := columnsOf(typesOf(cols))
	kind := g.Pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	query := fmt.Sprintf("(SELECT %s FROM %s l %s %s r USING (%s)%s)", names(qualifiedByUse(l, r, merged)), l.Name, kind, r.Name, names(merged), g.Pick("", "", " AS m"))
	switch {
	case len(merged) == commonNames(l, r) && g.OneIn(2):
		query = fmt.Sprintf("(SELECT %s FROM %s l NATURAL %s %s r)", names(qualifiedByUse(l, r, merged)), l.Name, kind, r.Name)
	case g.OneIn(4):
		query = fmt.Sprintf("(SELECT j.* FROM (%s l %s %s r USING (%s)) AS j(%s))", l.Name, kind, r.Name, names(merged), names(out))
	}
	return g.item(query, out)
}

// commonNames is how many names of columns two tables share.
func commonNames(l, r Table) int {
	n := 0
	for _, c := range l.Cols {
		if slices.ContainsFunc(r.Cols, func(d Column) bool { return d.Name == c.Name }) {
			n++
		}
	}
	return n
}

// fieldsItem spreads the fields of a row over columns.
func (g *Generator) fieldsItem(left, outer *Scope, depth int) (string, *Scope) {
	from, s := g.From(outer, depth)
	return g.item(fmt.Sprintf("(SELECT %s.* FROM %s%s)", g.operand(s, "pair", depth), from, g.where(s, depth)), []Column{{"x0", "int4"}, {"x1", "text"}})
}

// qualifiedByUse are the columns of a join by merged ones: those bare, the others qualified.
func qualifiedByUse(l, r Table, merged []Column) []Column {
	list := slices.Clone(merged)
	for _, side := range []struct {
		alias string
		cols  []Column
	}{{"l", l.Cols}, {"r", r.Cols}} {
		for _, c := range side.cols {
			if !slices.Contains(merged, c) {
				list = append(list, Column{side.alias + "." + c.Name, c.Type})
			}
		}
	}
	return list
}
