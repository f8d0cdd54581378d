package deparse

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	builtincall "github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// resolveOp is resolve for operators and what is like them.
func (d *deparser) resolveOp(e ast.Expr) *node {
	switch e := e.(type) {
	case *ast.BinaryOp:
		if e.Op.Schema != "" && e.Op.Schema != "pg_catalog" {
			return d.ownOperator(e.Op, d.resolve(e.L), d.resolve(e.R))
		}
		return d.binary(e.Op.Name, e.L, e.R)
	case *ast.UnaryOp:
		if e.Op.Schema != "" && e.Op.Schema != "pg_catalog" {
			return d.ownOperator(e.Op, d.resolve(e.X))
		}
		return d.operator(e.Op.Name, d.resolve(e.X))
	case *ast.And:
		return d.boolean(and, e.Args...)
	case *ast.Or:
		return d.boolean(or, e.Args...)
	case *ast.Not:
		return d.boolean(not, e.X)
	case *ast.IsNull:
		return d.nullTest(d.resolve(e.X), e.Not)
	case *ast.IsTruth:
		return d.truthTest(e)
	case *ast.IsDistinct:
		return d.isDistinct(e)
	case *ast.Between:
		return d.between(e)
	case *ast.In:
		return d.in(e)
	case *ast.Like:
		return d.like(e)
	case *ast.Quantified:
		return d.quantified(e)
	case *ast.Case:
		return d.caseExpr(e)
	case *ast.Coalesce:
		return d.alternatives("COALESCE(", "COALESCE", e.Args)
	case *ast.MinMax:
		if e.Least {
			return d.alternatives("LEAST(", "LEAST", e.Args)
		}
		return d.alternatives("GREATEST(", "GREATEST", e.Args)
	case *ast.NullIf:
		eq := d.binary("=", e.L, e.R)
		return &node{kind: special, text: "NULLIF(", typ: d.typeOf(e), args: eq.args}
	}
	d.unsupported(e)
	return &node{kind: constant, typ: types.Text, null: true}
}

func (d *deparser) alternatives(text, what string, list []ast.Expr) *node {
	n := &node{kind: special, text: text, args: d.list(list)}
	n.typ = d.common(n.args, what)
	return n
}

func (d *deparser) boolean(k kind, args ...ast.Expr) *node {
	n := &node{kind: k, typ: types.Bool, args: d.list(args)}
	d.coerceAll(n.args, types.Bool)
	return n
}

func bools(k kind, args ...*node) *node { return &node{kind: k, typ: types.Bool, args: args} }

// operator finds an operator for its operands.
func (d *deparser) operator(name string, args ...*node) *node {
	if name == "!=" {
		name = "<>"
	}
	n := &node{kind: operator, typ: types.Bool, text: name, args: args}
	ts := make([]*types.T, len(args))
	for i, a := range args {
		ts[i] = a.typ.BaseType()
	}
	fn, err := d.operatorFor(name, ts)
	if err != nil {
		d.fail(err)
		return n
	}
	params, ret, err := fn.Signature(ts)
	if err != nil {
		d.fail(err)
		return n
	}
	for i := range args {
		args[i] = d.coerce(args[i], params[i])
	}
	n.typ, n.text = ret, d.operatorName(fn)
	return n
}

// operatorFor finds an operator for the types of its operands, among those of extensions too.
func (d *deparser) operatorFor(name string, ts []*types.T) (*builtincall.Overload, error) {
	f, ok := d.env.Planner.Catalog.(catalog.ExtensionFinder)
	return builtin.ResolveOperatorSeeing(name, ts, func(extension string) bool { return ok && f.HasExtension(d.ctx, extension) })
}

// operatorName is how an operator is printed: with its schema where the search path does not lead to it.
func (d *deparser) operatorName(fn *builtincall.Overload) string {
	f, ok := d.env.Planner.Catalog.(catalog.ExtensionFinder)
	if !ok || fn.Extension == "" {
		return fn.Name
	}
	in, visible := f.PeekExtensionSchema(d.ctx, fn.Extension)
	if in == nil || visible {
		return fn.Name
	}
	return "OPERATOR(" + ast.QuoteIdent(in.Name) + "." + fn.Name + ")"
}

// binary is l op r, which may be rows.
func (d *deparser) binary(op string, l, r ast.Expr) *node {
	lr, lok := l.(*ast.Row)
	rr, rok := r.(*ast.Row)
	if lok && rok {
		return d.rowOperator(op, d.rowFields(lr), d.rowFields(rr))
	}
	if sub, ok := r.(*ast.Subquery); ok && lok && sub.Kind == ast.SubqueryScalar {
		if op == "!=" {
			op = "<>"
		}
		link := &sublink{query: sub.Query, mid: " " + op + " ", paren: true}
		d.sublinkLeft(link, l, op, sub.Query)
		return &node{kind: subquery, typ: types.Bool, sub: link}
	}
	return d.operator(op, d.resolve(l), d.resolve(r))
}

// rowOperator compares rows: equality is that of all fields.
func (d *deparser) rowOperator(op string, l, r []*node) *node {
	if len(l) != len(r) || len(l) == 0 {
		d.unsupported(op)
		return &node{kind: constant, typ: types.Bool, null: true}
	}
	if len(l) == 1 {
		return d.operator(op, l[0], r[0])
	}
	var eqs []*node
	for i := range l {
		eqs = append(eqs, d.operator(op, l[i], r[i]))
	}
	switch op {
	case "=":
		return bools(and, eqs...)
	case "<>", "!=":
		return bools(or, eqs...)
	}
	n := &node{kind: rowCompare, typ: types.Bool, text: op}
	left, right := &node{kind: special, text: "ROW(", typ: types.Record}, &node{kind: special, text: "ROW(", typ: types.Record}
	for _, eq := range eqs {
		left.args, right.args = append(left.args, eq.args[0]), append(right.args, eq.args[1])
	}
	n.args = []*node{left, right}
	return n
}

// nullTest leaves a literal without a type, as PostgreSQL does.
func (d *deparser) nullTest(x *node, isNot bool) *node {
	if x.kind != constant {
		x = d.settle(x)
	}
	text := " IS NULL"
	if isNot {
		text = " IS NOT NULL"
	}
	return &node{kind: test, typ: types.Bool, text: text, args: []*node{x}}
}

func (d *deparser) truthTest(e *ast.IsTruth) *node {
	text := " IS "
	if e.Not {
		text += "NOT "
	}
	text += [...]string{ast.TruthTrue: "TRUE", ast.TruthFalse: "FALSE", ast.TruthUnknown: "UNKNOWN"}[e.Test]
	return &node{kind: test, typ: types.Bool, text: text, args: []*node{d.coerce(d.resolve(e.X), types.Bool)}}
}

func (d *deparser) isDistinct(e *ast.IsDistinct) *node {
	l, r := d.resolve(e.L), d.resolve(e.R)
	switch {
	case l.writtenRow() && r.writtenRow() && len(l.args) == len(r.args):
		return d.rowsDistinct(l, r, e.Not)
	case r.null && r.unknown():
		return d.distinctFromNull(l, e.Not)
	case l.null && l.unknown():
		return d.distinctFromNull(r, e.Not)
	}
	n := d.distinct(l, r)
	if e.Not {
		return bools(not, n)
	}
	return n
}

// distinct compares two values.
func (d *deparser) distinct(l, r *node) *node {
	return &node{kind: distinct, typ: types.Bool, text: " IS DISTINCT FROM ", args: d.operator("=", l, r).args}
}

// distinctFromNull is a test for NULL, which of a record is another than IS NULL is.
func (d *deparser) distinctFromNull(x *node, negated bool) *node {
	if x.typ == nil || x.typ.Family != types.RecordFamily {
		return d.nullTest(x, !negated)
	}
	text := " IS DISTINCT FROM NULL"
	if negated {
		text = " IS NOT DISTINCT FROM NULL"
	}
	return &node{kind: test, typ: types.Bool, text: text, args: []*node{x}}
}

// writtenRow reports whether a node is a row of fields, converted to a composite type or not.
func (n *node) writtenRow() bool { return n.kind == special && n.text == "ROW(" && len(n.args) > 0 }

// rowsDistinct compares two rows field by field: each field is an OR of its own with those before it.
func (d *deparser) rowsDistinct(l, r *node, negated bool) *node {
	n := d.distinct(l.args[0], r.args[0])
	for i := range l.args[1:] {
		n = bools(or, n, d.distinct(l.args[i+1], r.args[i+1]))
	}
	if negated {
		return bools(not, n)
	}
	return n
}

// between is two comparisons, or four.
func (d *deparser) between(e *ast.Between) *node {
	within := func(lo, hi ast.Expr) *node {
		if e.Not {
			return bools(or, d.binary("<", e.X, lo), d.binary(">", e.X, hi))
		}
		return bools(and, d.binary(">=", e.X, lo), d.binary("<=", e.X, hi))
	}
	n := within(e.Lo, e.Hi)
	if !e.Symmetric {
		return n
	}
	if e.Not {
		return bools(and, n, within(e.Hi, e.Lo))
	}
	return bools(or, n, within(e.Hi, e.Lo))
}

// in is a comparison with an array of what has no columns in it, and one by one with
// the rest.
func (d *deparser) in(e *ast.In) *node {
	if e.Query != nil {
		n := &node{kind: subquery, typ: types.Bool, sub: &sublink{query: e.Query, mid: " IN ", paren: true}}
		d.sublinkLeft(n.sub, e.X, "=", e.Query)
		if e.Not {
			return bools(not, n)
		}
		return n
	}
	op, join := "=", or
	if e.Not {
		op, join = "<>", and
	}
	rest := e.List
	var n *node
	if _, isRow := e.X.(*ast.Row); !isRow {
		if n = d.inArray(e, op); n != nil {
			rest = d.withColumns(e.List, true)
		}
	}
	for _, x := range rest {
		c := d.binary(op, e.X, x)
		if n == nil {
			n = c
		} else {
			n = bools(join, n, c)
		}
	}
	return n
}

// inArray compares with the constants of an IN list as an array; nil if they are not
// several of one type.
func (d *deparser) inArray(e *ast.In, op string) *node {
	consts := d.withColumns(e.List, false)
	if len(consts) < 2 {
		return nil
	}
	list := d.list(append([]ast.Expr{e.X}, consts...))
	ts := make([]*types.T, len(list))
	for i, x := range list {
		ts[i] = x.typ
	}
	t, err := commonType("IN", ts)
	if err != nil || t.Family == types.RecordFamily && t.Def == nil {
		return nil
	}
	at, ok := types.ArrayOf(t.WithTypmod(-1))
	if !ok {
		return nil
	}
	elems := list[1:]
	d.coerceAll(elems, t)
	return d.overArray(op, !e.Not, list[0], &node{kind: special, text: "ARRAY[", typ: at, args: elems})
}

// withColumns picks the expressions that have columns of the query in them, or those
// that have none. Columns of the queries around it are constants to it.
func (d *deparser) withColumns(list []ast.Expr, has bool) []ast.Expr {
	var out []ast.Expr
	for _, x := range list {
		found := false
		ast.Walk(x, func(n ast.Node) bool {
			if ref, ok := n.(*ast.ColumnRef); ok {
				found = found || d.ofQuery(ref)
			}
			return !found
		})
		if found == has {
			out = append(out, x)
		}
	}
	return out
}

// overArray is x op ANY (array), or ALL.
func (d *deparser) overArray(op string, any bool, x, array *node) *node {
	elem := types.Unknown
	if !array.unknown() && array.typ.Elem != nil {
		elem = array.typ.Elem
	}
	eq := d.operator(op, x, &node{kind: word, typ: elem})
	n := &node{kind: quantified, typ: types.Bool, text: " " + eq.text + " ALL ("}
	if any {
		n.text = " " + eq.text + " ANY ("
	}
	params := eq.paramTypes(d, op, x.typ.BaseType(), elem.BaseType())
	if params == nil {
		return n
	}
	if want, ok := types.ArrayOf(params[1].WithTypmod(-1)); ok && elem.Oid != params[1].Oid {
		array = d.coerce(array, want)
	}
	n.args = []*node{eq.args[0], array}
	return n
}

// paramTypes are what the operator takes.
func (n *node) paramTypes(d *deparser, op string, ts ...*types.T) []*types.T {
	fn, err := d.operatorFor(op, ts)
	if err != nil {
		d.fail(err)
		return nil
	}
	params, _, err := fn.Signature(ts)
	d.fail(err)
	return params
}

func (d *deparser) like(e *ast.Like) *node {
	op := [...]string{ast.LikeLike: "~~", ast.LikeILike: "~~*", ast.LikeSimilar: "~"}[e.Kind]
	if e.Not {
		op = "!" + op
	}
	pattern := d.resolve(e.Pattern)
	name := "like_escape"
	if e.Kind == ast.LikeSimilar {
		name = "similar_to_escape"
	}
	if e.Escape != nil || e.Kind == ast.LikeSimilar {
		args := []*node{d.coerce(pattern, types.Text)}
		if e.Escape != nil {
			args = append(args, d.coerce(d.resolve(e.Escape), types.Text))
		}
		pattern = &node{kind: call, typ: types.Text, text: name, args: args}
	}
	return d.operator(op, d.resolve(e.X), pattern)
}

func (d *deparser) quantified(e *ast.Quantified) *node {
	if e.Query == nil && e.Op.Schema != "" && e.Op.Schema != "pg_catalog" {
		return d.ownOverArray(e.Op, !e.All, d.resolve(e.L), d.resolve(e.Array))
	}
	if e.Query == nil {
		return d.overArray(e.Op.Name, !e.All, d.resolve(e.L), d.resolve(e.Array))
	}
	mid := " " + e.Op.Name + " ANY "
	switch {
	case e.All:
		mid = " " + e.Op.Name + " ALL "
	case e.Op.Name == "=":
		mid = " IN "
	}
	n := &node{kind: subquery, typ: types.Bool, sub: &sublink{query: e.Query, mid: mid, paren: true}}
	d.sublinkLeft(n.sub, e.L, e.Op.Name, e.Query)
	return n
}

// sublinkLeft makes the left side of a comparison with the rows of a query.
func (d *deparser) sublinkLeft(s *sublink, l ast.Expr, op string, q *ast.Select) {
	if row, ok := l.(*ast.Row); ok {
		s.left, s.row = d.rowFields(row), len(row.Elems) > 1
	} else {
		s.left = []*node{d.resolve(l)}
	}
	cols := d.outputs(q)
	for i := range s.left {
		if i < len(cols) {
			s.left[i] = d.operator(op, s.left[i], &node{kind: word, typ: cols[i].typ}).args[0]
		}
	}
}

func (d *deparser) caseExpr(e *ast.Case) *node {
	n := &node{kind: caseOf}
	if e.Operand != nil {
		n.args = []*node{d.settle(d.resolve(e.Operand))}
	}
	results := []*node{{kind: constant, typ: types.Unknown, null: true}}
	if e.Else != nil { // it comes first in finding the type
		results[0] = d.resolve(e.Else)
	}
	for i := range e.Whens {
		w := &e.Whens[i]
		cond := d.resolve(w.Cond)
		if e.Operand != nil {
			cond = d.operator("=", &node{kind: word, typ: n.args[0].typ}, cond).args[1]
		} else {
			cond = d.coerce(cond, types.Bool)
		}
		n.whens = append(n.whens, when{cond: cond})
		results = append(results, d.resolve(w.Result))
	}
	n.typ = d.common(results, "CASE")
	for i := range n.whens {
		n.whens[i].result = results[i+1]
	}
	n.els = results[0]
	return n
}
