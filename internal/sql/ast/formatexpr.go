package ast

import (
	"slices"
	"strconv"
	"strings"
)

// operand prints an expression as the operand of an operator.
func (p *printer) operand(x Expr) {
	if atomic(x) {
		p.expr(x)
		return
	}
	p.w("(")
	p.expr(x)
	p.w(")")
}

// atomic reports whether x can be an operand without parentheses.
func atomic(x Expr) bool {
	switch x := x.(type) {
	case *IntLit:
		return x.Val >= 0
	case *NumLit:
		return x.Text[0] != '-'
	case *StrLit, *BitLit, *BoolLit, *NullLit, *Param, *ColumnRef, *Case, *Coalesce, *NullIf, *MinMax,
		*Cast, *ArrayExpr, *Subscript, *FieldSelect, *Row, *Subquery, *SQLValue, *Grouping:
		return true
	case *FuncCall:
		return x.Syntax != SyntaxAtTimeZone && x.Syntax != SyntaxIsNormalized && x.Syntax != SyntaxOverlaps
	}
	return false
}

// expr prints an expression.
func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *IntLit:
		p.w(strconv.FormatInt(x.Val, 10))
	case *NumLit:
		p.w(x.Text)
	case *StrLit:
		p.str(x.Val)
	case *BitLit:
		p.w([...]string{"B'", "X'"}[btoi(x.Hex)], strings.ReplaceAll(x.Val, "'", "''"), "'")
	case *BoolLit:
		p.w([...]string{"false", "true"}[btoi(x.Val)])
	case *NullLit:
		p.w("NULL")
	case *DefaultExpr:
		p.w("DEFAULT")
	case *Param:
		p.w("$", strconv.Itoa(x.N))
	case *ColumnRef:
		p.columnRef(x)
	case *Case:
		p.caseExpr(x)
	case *FuncCall:
		p.funcCall(x)
	case *NamedArg:
		p.ident(x.Name)
		p.w(" => ")
		p.expr(x.X)
	case *Coalesce:
		p.call("COALESCE", x.Args)
	case *NullIf:
		p.call("NULLIF", []Expr{x.L, x.R})
	case *MinMax:
		p.call([...]string{"GREATEST", "LEAST"}[btoi(x.Least)], x.Args)
	case *Grouping:
		p.call("GROUPING", x.Args)
	case *GroupingSet:
		p.groupingSet(x)
	case *SQLValue:
		p.w(x.Kind.String())
		if x.Precision >= 0 {
			p.w("(", strconv.Itoa(x.Precision), ")")
		}
	case *CurrentOf:
		p.w("CURRENT OF ")
		p.ident(x.Cursor)
	case *Subquery:
		p.w([...]string{"", "EXISTS ", "ARRAY"}[x.Kind])
		p.parenQuery(x.Query)
	default:
		p.operatorExpr(x)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// operatorExpr prints the expressions that are operators or containers.
func (p *printer) operatorExpr(x Expr) {
	switch x := x.(type) {
	case *BinaryOp:
		p.operand(x.L)
		p.w(" ")
		p.operator(x.Op)
		p.w(" ")
		p.operand(x.R)
	case *UnaryOp:
		p.unary(x)
	case *And:
		p.joined(x.Args, " AND ")
	case *Or:
		p.joined(x.Args, " OR ")
	case *Not:
		p.w("NOT ")
		p.operand(x.X)
	case *IsNull:
		p.is(x.X, x.Not, "NULL")
	case *IsTruth:
		p.is(x.X, x.Not, [...]string{"TRUE", "FALSE", "UNKNOWN"}[x.Test])
	case *IsDistinct:
		p.is(x.L, x.Not, "DISTINCT FROM ")
		p.operand(x.R)
	case *Between:
		p.operand(x.X)
		p.opt(x.Not, " NOT")
		p.w(" BETWEEN ")
		p.opt(x.Symmetric, "SYMMETRIC ")
		p.operand(x.Lo)
		p.w(" AND ")
		p.operand(x.Hi)
	case *In:
		p.in(x)
	case *Like:
		p.like(x)
	case *Quantified:
		p.quantified(x)
	case *Cast:
		p.cast(x)
	case *ArrayExpr:
		p.w("ARRAY")
		p.arrayElems(x)
	case *Subscript:
		p.subscript(x)
	case *FieldSelect:
		p.base(x.X, true)
		p.w(".")
		if x.Star {
			p.w("*")
		} else {
			p.ident(x.Field)
		}
	case *Row:
		p.opt(x.Explicit, "ROW")
		p.parenExprs(x.Elems)
	case *Collate:
		p.operand(x.X)
		p.w(" COLLATE ")
		p.dotted(x.Name...)
	}
}

func (p *printer) parenExprs(list []Expr) {
	p.w("(")
	p.exprs(list)
	p.w(")")
}

// call prints name(args).
func (p *printer) call(name string, args []Expr) {
	p.w(name)
	p.parenExprs(args)
}

// joined prints operands with an operator between.
func (p *printer) joined(args []Expr, sep string) {
	for i, a := range args {
		if i > 0 {
			p.w(sep)
		}
		p.operand(a)
	}
}

// is prints x IS [NOT] what.
func (p *printer) is(x Expr, not bool, what string) {
	p.operand(x)
	p.w(" IS ")
	p.opt(not, "NOT ")
	p.w(what)
}

func (p *printer) operator(o Operator) {
	if o.Schema == "" {
		p.w(o.Name)
		return
	}
	p.w("OPERATOR(")
	p.ident(o.Schema)
	p.w(".", o.Name, ")")
}

// unary prints a prefix operator. A minus before a number would become part of
// it, so there the operator is spelled out.
func (p *printer) unary(x *UnaryOp) {
	op := x.Op
	switch x.X.(type) {
	case *IntLit, *NumLit:
		if op.Schema == "" && op.Name == "-" {
			p.w("OPERATOR(-) ")
			p.operand(x.X)
			return
		}
	}
	p.prefixOperator(op)
	p.w(" ")
	p.operand(x.X)
}

// prefixOperator prints an operator that stands first; only + and - may be
// plain there, of those that are tokens of their own.
func (p *printer) prefixOperator(o Operator) {
	if o.Schema == "" {
		switch o.Name {
		case "<", ">", "=", "<=", ">=", "<>", "*", "/", "%", "^":
			p.w("OPERATOR(", o.Name, ")")
			return
		}
	}
	p.operator(o)
}

func (p *printer) columnRef(x *ColumnRef) {
	if !x.Star {
		p.dotted(x.Catalog, x.Schema, x.Table, x.Column)
		return
	}
	if x.Table != "" {
		p.dotted(x.Catalog, x.Schema, x.Table)
		p.w(".")
	}
	p.w("*")
}

func (p *printer) caseExpr(x *Case) {
	p.w("CASE")
	p.clause(" ", x.Operand)
	for _, w := range x.Whens {
		p.clause(" WHEN ", w.Cond)
		p.clause(" THEN ", w.Result)
	}
	p.clause(" ELSE ", x.Else)
	p.w(" END")
}

func (p *printer) in(x *In) {
	p.operand(x.X)
	p.opt(x.Not, " NOT")
	p.w(" IN ")
	if x.Query != nil {
		p.parenQuery(x.Query)
		return
	}
	p.parenExprs(x.List)
}

func (p *printer) like(x *Like) {
	p.operand(x.X)
	p.opt(x.Not, " NOT")
	p.w([...]string{" LIKE ", " ILIKE ", " SIMILAR TO "}[x.Kind])
	p.operand(x.Pattern)
	if x.Escape != nil {
		p.w(" ESCAPE ")
		p.operand(x.Escape)
	}
}

func (p *printer) quantified(x *Quantified) {
	p.operand(x.L)
	p.w(" ")
	p.operator(x.Op)
	p.w([...]string{" ANY ", " ALL "}[btoi(x.All)])
	if x.Query != nil {
		p.parenQuery(x.Query)
		return
	}
	p.w("(")
	p.expr(x.Array)
	p.w(")")
}

func (p *printer) cast(x *Cast) {
	switch x.Style {
	case CastColons:
		p.operand(x.X)
		p.w("::")
		p.typeName(x.Type, false)
	case CastLiteral:
		p.typeName(x.Type, true)
	default:
		p.w("CAST(")
		p.expr(x.X)
		p.w(" AS ")
		p.typeName(x.Type, false)
		p.w(")")
		return
	}
	if x.Style == CastLiteral {
		p.w(" ")
		p.expr(x.X)
		if x.Type.Fields != IntervalAll {
			p.intervalFields(x.Type)
		}
	}
}

func (p *printer) arrayElems(x *ArrayExpr) {
	p.w("[")
	// Brackets without the word may stand beside other such brackets only.
	nested := !slices.ContainsFunc(x.Elems, func(e Expr) bool {
		_, array := e.(*ArrayExpr)
		return !array
	})
	p.list(len(x.Elems), func(i int) {
		if nested {
			p.arrayElems(x.Elems[i].(*ArrayExpr))
			return
		}
		p.expr(x.Elems[i])
	})
	p.w("]")
}

func (p *printer) subscript(x *Subscript) {
	p.base(x.X, false)
	for _, ix := range x.Indexes {
		p.index(ix)
	}
}

func (p *printer) index(ix Index) {
	p.w("[")
	if ix.Lo != nil {
		p.expr(ix.Lo)
	}
	if ix.Slice {
		p.w(" : ")
		if ix.Hi != nil {
			p.expr(ix.Hi)
		}
	}
	p.w("]")
}

// base prints what a subscript or field selection applies to.
func (p *printer) base(x Expr, field bool) {
	switch y := x.(type) {
	case *ColumnRef:
		if !field {
			p.expr(x)
			return
		}
	case *Subscript:
		if field {
			p.expr(x)
			return
		}
	case *FieldSelect:
		if !y.Star {
			p.expr(x)
			return
		}
	case *Subquery:
		if y.Kind == SubqueryScalar {
			p.expr(x)
			return
		}
	}
	p.w("(")
	p.expr(x)
	p.w(")")
}

func (p *printer) groupingSet(x *GroupingSet) {
	switch x.Kind {
	case GroupingEmpty:
		p.w("()")
	case GroupingRollup:
		p.call("ROLLUP ", x.Items)
	case GroupingCube:
		p.call("CUBE ", x.Items)
	default:
		p.call("GROUPING SETS ", x.Items)
	}
}
