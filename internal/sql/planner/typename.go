package planner

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ResolveType finds the type that a type name denotes. defaultIntSize is 8
// where INT means INT8.
func ResolveType(tn *ast.TypeName, defaultIntSize int) (*types.T, error) {
	name := strings.Join(tn.Names, ".")
	undefined := func() error {
		return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name).At(tn.Pos)
	}
	if tn.PctType {
		return nil, pgerr.Unsupported("type reference %s%%TYPE is not supported", name).At(tn.Pos)
	}
	if tn.Setof {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "type \"%s\" cannot be declared SETOF here", name).At(tn.Pos)
	}
	last := tn.Names[len(tn.Names)-1]
	if len(tn.Names) > 2 || len(tn.Names) == 2 && tn.Names[0] != "pg_catalog" {
		return nil, undefined()
	}
	t, ok := types.ByName(last)
	if last == "char" { // quoted, or qualified: the catalogs' one-byte type
		t, ok = types.Char, true
	}
	if !ok || t.Family == types.AnyFamily && len(tn.ArrayDims) > 0 {
		return nil, undefined()
	}
	if tn.DefaultInt && defaultIntSize == 8 {
		t = types.Int8
	}
	t, err := applyTypmods(t, tn)
	if err != nil {
		return nil, err
	}
	if len(tn.ArrayDims) > 0 {
		if t, ok = types.ArrayOf(t); !ok {
			return nil, undefined()
		}
	}
	return t, nil
}

// applyTypmods evaluates what stands in parentheses after a type name.
func applyTypmods(t *types.T, tn *ast.TypeName) (*types.T, error) {
	args := make([]int64, 0, 2)
	for _, x := range tn.Typmods {
		lit, ok := x.(*ast.IntLit)
		if !ok {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "type modifiers must be simple constants or identifiers").At(tn.Pos)
		}
		args = append(args, lit.Val)
	}
	if tn.Fields != ast.IntervalAll {
		r, _ := types.IntervalRangeByName(strings.ToLower(tn.Fields.String()))
		precision := -1
		if len(args) > 0 {
			precision = int(args[0])
		}
		mod, err := types.IntervalTypmod(r, precision)
		if err != nil {
			return nil, pgerr.From(err).At(tn.Pos)
		}
		return t.WithTypmod(mod), nil
	}
	mod, err := types.TypmodFor(t, args)
	if err != nil {
		return nil, pgerr.From(err).At(tn.Pos)
	}
	return t.WithTypmod(mod), nil
}

func (b *builder) typeName(tn *ast.TypeName) (*types.T, error) {
	return ResolveType(tn, b.env.DefaultIntSize)
}

func cannotCast(from, to *types.T, pos int) *pgerr.Error {
	return pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.SQLName, to.SQLName).At(pos)
}

// cast plans an explicit cast.
func (b *builder) cast(e *ast.Cast, s *scope) (plan.Expr, error) {
	t, err := b.typeName(e.Type)
	if err != nil {
		return nil, err
	}
	if a, ok := e.X.(*ast.ArrayExpr); ok && t.Elem != nil {
		return b.arrayExpr(a, s, t)
	}
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	return b.explicitCast(x, t, e.X.Position(), e.Pos)
}

// explicitCast converts x to t as CAST does.
func (b *builder) explicitCast(x plan.Expr, t *types.T, xpos, at int) (plan.Expr, error) {
	if t.Family == types.AnyFamily || t.Oid == types.Unknown.Oid || t.Family == types.VoidFamily {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", x.Type().SQLName, t.SQLName).At(at)
	}
	y, ok, err := b.coerce(x, t, plan.CastExplicit, xpos)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, cannotCast(x.Type(), t, at)
	}
	if y.Type().Oid == t.Oid && y.Type().Typmod != t.Typmod { // x::varchar of a varchar(3)
		return &plan.Cast{Arg: y, T: t, Mode: plan.CastExplicit}, nil
	}
	return y, nil
}
