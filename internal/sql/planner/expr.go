package planner

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// expr plans an expression. Literals and parameters may come out with type
// types.Unknown; the caller coerces them.
func (b *builder) expr(e ast.Expr, s *scope) (plan.Expr, error) {
	if err := b.step(); err != nil {
		return nil, err
	}
	x, err := b.expr1(e, s)
	if err == nil {
		b.env.Notes.noteExpr(e, x)
	}
	return x, err
}

// checkEvery is how many expressions are planned between two looks at the context.
const checkEvery = 1024

// step counts an expression that is planned, and fails once the statement is cancelled.
func (b *builder) step() error {
	if b.steps++; b.steps%checkEvery != 0 {
		return nil
	}
	return b.ctx.Err()
}

// expr1 plans the frequent kinds of expressions.
func (b *builder) expr1(e ast.Expr, s *scope) (plan.Expr, error) {
	switch e := e.(type) {
	case *ast.ColumnRef:
		if e.Star {
			return b.starRef(e, s)
		}
		return b.columnRef(e, s)
	case *ast.Param:
		return b.param(e.N, e.Pos)
	case *ast.IntLit:
		if e.Val >= math.MinInt32 && e.Val <= math.MaxInt32 {
			return b.constant(types.Int4, types.NewInt(e.Val)), nil
		}
		return b.constant(types.Int8, types.NewInt(e.Val)), nil
	case *ast.StrLit:
		c := b.constant(types.Unknown, types.NewString(e.Val))
		b.env.Notes.noteQuoted(e, c)
		return c, nil
	case *ast.NullLit:
		return plan.NewNull(types.Unknown), nil
	case *ast.BoolLit:
		return plan.NewConst(types.Bool, types.NewBool(e.Val)), nil
	case *ast.NumLit:
		return b.literal(e.Text, types.Numeric, plan.CastExplicit, e.Pos)
	case *ast.BinaryOp:
		return b.binaryOp(e, s)
	case *ast.And:
		return b.boolList(e.Args, "AND", s)
	case *ast.Or:
		return b.boolList(e.Args, "OR", s)
	case *ast.Not:
		x, err := b.boolExpr(e.X, "NOT", s)
		if err != nil {
			return nil, err
		}
		return &plan.Not{Arg: x}, nil
	case *ast.FuncCall:
		return b.call(e, s)
	case *ast.Cast:
		return b.cast(e, s)
	}
	return b.expr2(e, s)
}

// expr2 plans the less frequent kinds of expressions.
func (b *builder) expr2(e ast.Expr, s *scope) (plan.Expr, error) {
	switch e := e.(type) {
	case *ast.UnaryOp:
		x, err := b.expr(e.X, s)
		if err != nil {
			return nil, err
		}
		return b.writtenOperator(e, e.Op, []plan.Expr{x}, []int{e.X.Position()}, e.Pos)
	case *ast.IsNull:
		return b.isNull(e, s)
	case *ast.IsTruth:
		return b.isTruth(e, s)
	case *ast.IsDistinct:
		return b.isDistinct(e, s)
	case *ast.Between:
		return b.between(e, s)
	case *ast.In:
		return b.in(e, s)
	case *ast.Like:
		return b.like(e, s)
	case *ast.Quantified:
		return b.quantified(e, s)
	case *ast.Case:
		return b.caseExpr(e, s.withoutSets("CASE"))
	case *ast.Coalesce:
		args, t, err := b.commonList(e.Args, "COALESCE", s.withoutSets("COALESCE"))
		if err != nil {
			return nil, err
		}
		return &plan.Coalesce{Args: args, T: t}, nil
	case *ast.MinMax:
		return b.minMax(e, s)
	case *ast.NullIf:
		return b.nullIf(e, s)
	case *ast.Subquery:
		return b.subqueryExpr(e, s)
	case *ast.Collate:
		return b.collate(e, s)
	}
	return b.expr3(e, s)
}

// expr3 plans the rest.
func (b *builder) expr3(e ast.Expr, s *scope) (plan.Expr, error) {
	switch e := e.(type) {
	case *ast.ArrayExpr:
		return b.arrayExpr(e, s, nil)
	case *ast.Row:
		return b.rowExpr(e, s)
	case *ast.Subscript:
		return b.subscript(e, s)
	case *ast.FieldSelect:
		return b.fieldSelect(e, s)
	case *ast.SQLValue:
		return b.sqlValue(e)
	case *ast.BitLit:
		read := typeio.ParseBinaryBits
		if e.Hex {
			read = typeio.ParseHexBits
		}
		d, err := read(e.Val, b.env.Format)
		if err != nil {
			return nil, pgerr.From(err).At(e.Pos)
		}
		return plan.NewConst(types.Bit, d), nil
	case *ast.DefaultExpr:
		return nil, pgerr.New(pgerr.SyntaxError, "DEFAULT is not allowed in this context").At(e.Pos)
	case *ast.Grouping:
		return b.groupingFunc(e, s)
	case *ast.GroupingSet:
		return nil, pgerr.New(pgerr.SyntaxError, "grouping sets are only allowed in GROUP BY").At(e.Pos)
	case *planned:
		return e.plan, nil
	case *ast.NamedArg:
		return nil, pgerr.Unsupported("named arguments are not supported").At(e.Pos)
	}
	return nil, pgerr.Unsupported("expression %T is not supported", e).At(e.Position())
}

// boolExpr plans a condition.
func (b *builder) boolExpr(e ast.Expr, what string, s *scope) (plan.Expr, error) {
	x, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	return b.coerceBool(x, what, e.Position())
}

func (b *builder) boolList(args []ast.Expr, what string, s *scope) (plan.Expr, error) {
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		x, err := b.boolExpr(a, what, s)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	if what == "OR" {
		return &plan.Or{Args: out}, nil
	}
	return plan.ConjoinAll(out), nil
}

// typed plans an expression and settles an unknown type as text.
func (b *builder) typed(e ast.Expr, s *scope) (plan.Expr, error) {
	x, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	return b.coerceText(x, e.Position())
}

// exprList plans several expressions; pos are their positions.
func (b *builder) exprList(list []ast.Expr, s *scope) (out []plan.Expr, pos []int, err error) {
	out, pos = make([]plan.Expr, len(list)), make([]int, len(list))
	for i, a := range list {
		if out[i], err = b.expr(a, s); err != nil {
			return nil, nil, err
		}
		pos[i] = a.Position()
	}
	return out, pos, nil
}

// commonList plans alternatives of one type.
func (b *builder) commonList(list []ast.Expr, what string, s *scope) ([]plan.Expr, *types.T, error) {
	args, pos, err := b.exprList(list, s)
	if err != nil {
		return nil, nil, err
	}
	t, err := b.common(args, pos, what)
	return args, t, err
}

func (b *builder) isNull(e *ast.IsNull, s *scope) (plan.Expr, error) {
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	if p, ok := x.(*plan.Param); ok && isUnknown(p.T) {
		b.untyped = append(b.untyped, p) // this use says nothing about its type
	} else if x, err = b.coerceText(x, e.X.Position()); err != nil {
		return nil, err
	}
	kind := plan.IsNull
	if e.Not {
		kind = plan.IsNotNull
	}
	return &plan.Is{Arg: x, Kind: kind}, nil
}

func (b *builder) isTruth(e *ast.IsTruth, s *scope) (plan.Expr, error) {
	kind := [...]plan.IsKind{ast.TruthTrue: plan.IsTrue, ast.TruthFalse: plan.IsFalse, ast.TruthUnknown: plan.IsUnknown}[e.Test]
	what := [...]string{ast.TruthTrue: "IS TRUE", ast.TruthFalse: "IS FALSE", ast.TruthUnknown: "IS UNKNOWN"}[e.Test]
	if e.Not {
		kind++
		what = "IS NOT" + what[2:]
	}
	x, err := b.boolExpr(e.X, what, s)
	if err != nil {
		return nil, err
	}
	return &plan.Is{Arg: x, Kind: kind}, nil
}

// sqlKinds maps the syntax tree's session values to the plan's.
var sqlKinds = [...]plan.SessionKind{
	ast.CurrentDate: plan.CurrentDate, ast.CurrentTime: plan.CurrentTime, ast.CurrentTimestamp: plan.CurrentTimestamp,
	ast.LocalTime: plan.LocalTime, ast.LocalTimestamp: plan.LocalTimestamp, ast.CurrentRole: plan.CurrentRole,
	ast.CurrentUser: plan.CurrentUser, ast.User: plan.CurrentUser, ast.SessionUser: plan.SessionUser,
	ast.CurrentCatalog: plan.CurrentCatalog, ast.CurrentSchema: plan.CurrentSchema,
}

func (b *builder) sqlValue(e *ast.SQLValue) (plan.Expr, error) {
	v := &plan.SessionValue{Kind: sqlKinds[e.Kind], T: types.Name, Precision: e.Precision}
	switch v.Kind {
	case plan.CurrentDate:
		v.T = types.Date
	case plan.CurrentTime:
		v.T = types.TimeTZ
	case plan.CurrentTimestamp:
		v.T = types.TimestampTZ
	case plan.LocalTime:
		v.T = types.Time
	case plan.LocalTimestamp:
		v.T = types.Timestamp
	}
	return v, nil
}
