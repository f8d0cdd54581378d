package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ResolveType finds the type that a type name denotes. defaultIntSize is 8
// where INT means INT8.
func ResolveType(tn *ast.TypeName, defaultIntSize int) (*types.T, error) {
	name := strings.Join(tn.Names, ".")
	undefined := func() error {
		shown := name
		if len(tn.ArrayDims) > 0 {
			shown += "[]"
		}
		return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", shown).WithSuggestion("type", name, types.AllNames).At(tn.Pos)
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
	if last == "string" && len(tn.Typmods) > 0 { // the dialect's: STRING(n) is VARCHAR(n)
		t = types.Varchar
	}
	if !ok || t.Family == types.AnyFamily && len(tn.ArrayDims) > 0 {
		return nil, undefined()
	}
	if tn.DefaultInt && !tn.Stored && defaultIntSize == 8 {
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
	t, d, err := findType(b.ctx, tn, b.env.DefaultIntSize, b.env.Catalog)
	if d != nil {
		b.noteTable(d)
	}
	if err != nil {
		return nil, err
	}
	return b.shown(t), nil
}

// shown returns a type with the name that errors call it by.
func (b *builder) shown(t *types.T) *types.T {
	finder, ok := b.env.Catalog.(catalog.TypeFinder)
	if !b.qualify || !ok {
		return t
	}
	return catalog.Qualified(b.ctx, finder, t)
}

// FindType is ResolveType with the user-defined types of a catalog.
func FindType(ctx context.Context, tn *ast.TypeName, defaultIntSize int, r catalog.Resolver) (*types.T, error) {
	t, _, err := findType(ctx, tn, defaultIntSize, r)
	return t, err
}

// unsupportedTypes are types of PostgreSQL that do not exist here.
var unsupportedTypes = []string{
	"gtsvector", "xml",
}

// findType is FindType that returns the descriptor of a user-defined type too.
func findType(ctx context.Context, tn *ast.TypeName, defaultIntSize int, r catalog.Resolver) (*types.T, *catalog.Table, error) {
	t, err := ResolveType(tn, defaultIntSize)
	finder, ok := r.(catalog.TypeFinder)
	if err == nil || !ok || pgerr.CodeOf(err) != pgerr.UndefinedObject || len(tn.Names) > 2 {
		return t, nil, err
	}
	schema := ""
	if len(tn.Names) == 2 {
		schema = tn.Names[0]
	}
	name := tn.Names[len(tn.Names)-1]
	if t := extensionType(ctx, tn, schema, name, r); t != nil {
		if len(tn.Typmods) > 0 {
			return nil, nil, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", t.Name).At(tn.Pos)
		}
		return t, nil, nil
	}
	d, ferr := finder.FindTypeTable(ctx, schema, name)
	if elem, ok := strings.CutPrefix(name, "_"); ok && d == nil && ferr == nil {
		if d, ferr = finder.FindTypeTable(ctx, schema, elem); d != nil {
			array := *tn
			array.ArrayDims = []int{-1}
			tn = &array
		}
	}
	if ferr != nil {
		return nil, nil, ferr
	}
	if d == nil && slices.Contains(unsupportedTypes, name) && (schema == "" || schema == "pg_catalog") {
		return nil, nil, pgerr.Unsupported("type \"%s\" is not supported", name).At(tn.Pos)
	}
	if d == nil {
		return nil, nil, hintExtension(err, name)
	}
	t, err = userType(catalog.TypeOf(d), tn)
	return t, d, err
}

// userType completes a user-defined type by what was written after its name.
func userType(u *types.T, tn *ast.TypeName) (*types.T, error) {
	if len(tn.Typmods) > 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", u.Name).At(tn.Pos)
	}
	if len(tn.ArrayDims) == 0 {
		return u, nil
	}
	if base := u.BaseType(); u.IsDomain() && base.Elem != nil {
		return nil, pgerr.Unsupported("arrays of a domain over an array type are not supported").At(tn.Pos)
	}
	if !u.HasArrays() {
		return nil, pgerr.Unsupported("type \"%s\" has no array type", u.Name).At(tn.Pos)
	}
	a, _ := types.ArrayOf(u)
	return a, nil
}

func cannotCast(from, to *types.T, pos int) *pgerr.Error {
	return pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.Shown().SQLName, to.Shown().SQLName).At(pos)
}

// cast plans an explicit cast.
func (b *builder) cast(e *ast.Cast, s *scope) (plan.Expr, error) {
	t, err := b.typeName(e.Type)
	if err != nil {
		return nil, err
	}
	b.env.Notes.noteCast(e, t)
	if a, ok := e.X.(*ast.ArrayExpr); ok && t.Elem != nil {
		x, err := b.arrayExpr(a, s, t.BaseType())
		if err != nil || !t.OfDomain() {
			return x, err
		}
		if x, err = b.domainValue(x, t, e.Pos); err != nil {
			return nil, err
		}
		return retyped(x, x.Type().WithDomain(t)), nil
	}
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	return b.explicitCast(x, t, e.X.Position(), e.Pos)
}

// domainBase converts x to the type below a domain, or an array of one. The elements of
// a literal are read as the domain's input does: too long ones are not cut.
func (b *builder) domainBase(x plan.Expr, t *types.T, xpos, at int) (plan.Expr, error) {
	if isUnknown(x.Type()) && !t.IsDomain() {
		y, ok, err := b.coerce(x, t.BaseType(), plan.CastAssignment, xpos)
		if ok || err != nil {
			return y, err
		}
	}
	return b.explicitCast(x, t.BaseType(), xpos, at)
}

// pseudoCast is a cast to a pseudo-type that has no values: x itself if the type stands for x's,
// NULL, otherwise an error.
func pseudoCast(x plan.Expr, t *types.T, xpos, at int) (plan.Expr, error) {
	from := x.Type()
	constant, isConst := x.(*plan.Const)
	switch {
	case coerce.StandsFor(t, from):
		return x, nil
	case isConst && constant.D.IsNull() && isUnknown(from) && coerce.IsPolymorphic(t) && !t.Is(types.AnyEnum):
		return plan.NewNull(t), nil // which no input function sees
	case isUnknown(from) && !t.Is(types.Internal) && !t.Is(types.AnyEnum):
		return nil, pgerr.Unsupported("cannot accept a value of type %s", t.Name).At(xpos)
	case from.IsString() && !coerce.IsPolymorphic(t) && !t.Is(types.Internal):
		return nil, pgerr.Unsupported("cannot accept a value of type %s", t.Name)
	}
	return nil, cannotCast(from, t, at)
}

// explicitCast converts x to t as CAST does.
func (b *builder) explicitCast(x plan.Expr, t *types.T, xpos, at int) (plan.Expr, error) {
	if t.Oid == types.Unknown.Oid && isUnknown(x.Type()) {
		return x, nil
	}
	if t.Oid == types.Unknown.Oid {
		return nil, cannotCast(x.Type(), t, at)
	}
	if t.Family == types.AnyFamily {
		return pseudoCast(x, t, xpos, at)
	}
	if t.OfDomain() {
		base, err := b.domainBase(x, t, xpos, at)
		if err != nil {
			return nil, err
		}
		v, err := b.domainValue(base, t, at)
		if err != nil {
			return nil, err
		}
		if t.BaseType().Declared() == nil {
			return retyped(v, v.Type().WithDomain(t)), nil
		}
		return &plan.Cast{Arg: v, T: t.BaseType().WithDomain(t), Mode: plan.CastExplicit}, nil
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
	if y.Type().Oid == t.Oid {
		y = retyped(y, y.Type().WithDomain(t.Domain()))
	}
	return y, nil
}
