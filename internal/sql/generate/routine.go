package generate

import (
	"fmt"
	"strings"
)

// routineTypes are the types of variables and parameters of routines.
var routineTypes = []string{"int4", "int4", "int4", "text", "text", "bool", "numeric", "_int4", "jsonb", "date", "pair", "_text", "mood"}

// routineCase makes a function, a procedure or an anonymous block, and runs it. What it notices is compared, too.
func (g *Generator) routineCase() Case {
	list := steps("SET LOCAL client_min_messages TO notice")
	switch g.IntN(6) {
	case 0:
		list = append(list, steps("DO $do$"+g.anonymous()+"$do$")...)
	case 1:
		list = append(list, g.procedure()...)
	case 2:
		list = append(list, g.sqlFunction()...)
	default:
		list = append(list, g.plpgsqlFunction()...)
	}
	for _, t := range g.Schema.Tables {
		list = append(list, Step{SQL: "SELECT * FROM " + t.Name})
	}
	return Case{Key: "routine", Steps: list}
}

// parameters are those of a routine: the list of its declaration, and what expressions of its body may use.
type parameters struct {
	list []string
	vars []Column
	in   []string // types of the arguments of a call
	out  []Column
}

// parameters draws up to three parameters; modes are those that they may have.
func (g *Generator) parameters(modes ...string) (p parameters) {
	optional := false
	for i := range g.IntN(4) {
		c := Column{fmt.Sprintf("a%d", i), g.Pick(routineTypes...)}
		mode, def := g.Pick(modes...), ""
		if mode != "OUT " && (optional || g.OneIn(5)) {
			optional, def = true, g.Pick(" DEFAULT ", " = ")+g.SmallLiteral(c.Type)
		}
		p.list = append(p.list, mode+c.Name+" "+TypeSQL(c.Type)+def)
		p.vars = append(p.vars, c)
		if mode != "OUT " {
			p.in = append(p.in, c.Type)
		}
		if strings.Contains(mode, "OUT") {
			p.out = append(p.out, c)
		}
	}
	return p
}

// arguments are those of a call, by expressions over a scope; some are named, and those at the end may be left to their defaults.
func (g *Generator) arguments(p parameters, s *Scope) string {
	var args []string
	for i, typ := range p.in {
		if i == len(p.in)-1 && g.OneIn(8) {
			break
		}
		arg := g.Expr(s, typ, 1)
		if g.OneIn(3) {
			arg = g.SmallLiteral(typ)
		}
		args = append(args, arg)
	}
	return strings.Join(args, ", ")
}

// attributes are what CREATE FUNCTION says of a function beside its body.
func (g *Generator) attributes() string {
	return g.Pick("", "", "", " STRICT", " CALLED ON NULL INPUT", " STABLE", " VOLATILE", " SECURITY INVOKER", " COST 10", " SET search_path FROM CURRENT", " PARALLEL SAFE LEAKPROOF", " RETURNS NULL ON NULL INPUT")
}

// plpgsqlFunction makes a function in PL/pgSQL and calls it.
func (g *Generator) plpgsqlFunction() []Step {
	p := g.parameters("", "", "IN ")
	b := g.body(p.vars)
	returns, calls := "", []string{"SELECT f(%s)", "SELECT f(%s) IS NULL, f(%[1]s)"}
	switch g.IntN(5) {
	case 0:
		p = g.parameters("", "IN ", "OUT ", "INOUT ")
		b = g.body(p.vars)
		calls = append(calls, "SELECT * FROM f(%s)")
		if len(p.out) == 0 {
			returns = " RETURNS void"
		}
	case 1:
		b.set = []Column{{"", g.Pick(routineTypes...)}}
		returns = " RETURNS SETOF " + TypeSQL(b.set[0].Type)
		calls = []string{"SELECT * FROM f(%s)", "SELECT f(%s)", "SELECT count(*) FROM f(%s)", "SELECT * FROM f(%s) WITH ORDINALITY"}
	case 2:
		b.set = []Column{{"x", g.Pick(routineTypes...)}, {"y", g.Pick(routineTypes...)}}
		b.vars = append(b.vars, b.set...)
		returns = fmt.Sprintf(" RETURNS TABLE (x %s, y %s)", TypeSQL(b.set[0].Type), TypeSQL(b.set[1].Type))
		calls = []string{"SELECT * FROM f(%s)", "SELECT (f(%s)).x", "SELECT y, x FROM f(%s) LIMIT 1", "SELECT f(%s)"}
	default:
		b.result = g.Pick(routineTypes...)
		returns = " RETURNS " + TypeSQL(b.result)
	}
	list := steps(fmt.Sprintf("CREATE FUNCTION f(%s)%s LANGUAGE plpgsql%s AS $f$%s$f$", strings.Join(p.list, ", "), returns, g.attributes(), b.text()), describeRoutine)
	return append(list, g.calls(p, calls)...)
}

// describeRoutine tells what the catalog knows of the functions f and g.
const describeRoutine = "SELECT proname, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid), prokind, provolatile, proisstrict, proretset, pronargs, pronargdefaults FROM pg_proc WHERE proname IN ('f', 'g')"

// calls calls f in some of the ways given, and for the rows of a table.
func (g *Generator) calls(p parameters, ways []string) (list []Step) {
	for range 1 + g.IntN(3) {
		list = append(list, Step{SQL: fmt.Sprintf(g.Pick(ways...), g.arguments(p, &Scope{}))})
	}
	t := g.Schema.table(g.Rand)
	if call := fmt.Sprintf("f(%s)", g.arguments(p, t.scope("t"))); g.OneIn(2) {
		list = append(list, Step{SQL: fmt.Sprintf("SELECT t.id, %s FROM (SELECT * FROM %s ORDER BY id) t", call, t.Name)})
	}
	return list
}

// sqlFunction makes a function in SQL and calls it.
func (g *Generator) sqlFunction() []Step {
	p := g.parameters("", "IN ")
	s := &Scope{Cols: p.vars}
	typ := g.comparable()
	returns, calls := TypeSQL(typ), []string{"SELECT f(%s)"}
	var body []string
	if g.OneIn(3) {
		t := g.Schema.table(g.Rand)
		body = append(body, g.Pick(g.insertion(t), "DELETE FROM "+t.Name+" WHERE id = "+g.constant("int4"), fmt.Sprintf("UPDATE %s SET %s WHERE id < 3", t.Name, g.assignments(t, t.scope(t.Name), 1))))
	}
	last := fmt.Sprintf("SELECT x FROM (%s) s(x) ORDER BY 1 LIMIT 1", g.Query(s, []string{typ}, 2))
	switch g.IntN(4) {
	case 0:
		returns, calls = "SETOF "+TypeSQL(typ), []string{"SELECT * FROM f(%s)", "SELECT f(%s)", "SELECT count(*) FROM f(%s) x WHERE x IS NOT NULL"}
		last = g.Query(s, []string{typ}, 2)
	case 1:
		last = "SELECT " + g.Expr(s, typ, 2)
	}
	body = append(body, last)
	text := " LANGUAGE sql" + g.attributes() + " AS $f$" + strings.Join(body, "; ") + "$f$"
	if g.OneIn(4) && len(body) == 1 && !strings.HasPrefix(returns, "SETOF") {
		text = g.attributes() + " RETURN " + g.Expr(s, typ, 2)
	}
	list := steps(fmt.Sprintf("CREATE FUNCTION f(%s) RETURNS %s%s", strings.Join(p.list, ", "), returns, text), describeRoutine)
	return append(list, g.calls(p, calls)...)
}

// procedure makes a procedure in PL/pgSQL and calls it.
func (g *Generator) procedure() []Step {
	p := g.parameters("", "IN ", "INOUT ", "INOUT ", "OUT ")
	b := g.body(p.vars)
	b.void = true
	list := steps(fmt.Sprintf("CREATE PROCEDURE g(%s) LANGUAGE plpgsql AS $g$%s$g$", strings.Join(p.list, ", "), b.text()), describeRoutine)
	all := parameters{} // CALL wants something for OUT parameters, too
	for _, c := range p.vars {
		all.in = append(all.in, c.Type)
	}
	for range 1 + g.IntN(2) {
		var args []string // which hold no queries in PostgreSQL
		for _, typ := range all.in {
			args = append(args, g.constant(typ))
		}
		list = append(list, Step{SQL: "CALL g(" + strings.Join(args, ", ") + ")"})
	}
	return list
}

// anonymous is the body of DO.
func (g *Generator) anonymous() string {
	b := g.body(nil)
	b.void = true
	return b.text()
}
