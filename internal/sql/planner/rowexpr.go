package planner

import (
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

func isComparison(op string) bool {
	switch op {
	case "=", "<>", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// rowExpr plans ROW(...); stars among the elements are expanded. Elements of unknown type wait
// for the composite type that the row becomes.
func (b *builder) rowExpr(e *ast.Row, s *scope) (plan.Expr, error) {
	fields, err := b.rowFields(e, s)
	if err != nil {
		return nil, err
	}
	return &plan.RowCtor{Fields: fields}, nil
}

// rowFields plans the elements of a row without settling unknown types.
func (b *builder) rowFields(e *ast.Row, s *scope) ([]plan.Expr, error) {
	elems, err := b.spread(e.Elems, s)
	if err != nil {
		return nil, err
	}
	fields, _, err := b.exprList(elems, s)
	return fields, err
}

// planned stands for an expression that is planned already.
type planned struct {
	ast.Expr // the star that it comes from
	plan     plan.Expr
	pos      int
}

// Position implements ast.Node.
func (p *planned) Position() int { return p.pos }

// spread puts into the elements of ROW or VALUES, in the place of t.* and (x).*, what those stand for.
func (b *builder) spread(elems []ast.Expr, s *scope) ([]ast.Expr, error) {
	if !slices.ContainsFunc(elems, isStar) {
		return elems, nil
	}
	var out []ast.Expr
	for _, x := range elems {
		if !isStar(x) {
			out = append(out, x)
			continue
		}
		ts, err := b.expand(x, s)
		if err != nil {
			return nil, err
		}
		for i := range ts {
			out = append(out, &planned{x, ts[i].expr, ts[i].pos})
		}
	}
	return out, nil
}

// isStar reports whether x is *, t.* or (x).*.
func isStar(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ColumnRef:
		return x.Star
	case *ast.FieldSelect:
		return x.Star
	}
	return false
}

// expand plans what a star stands for.
func (b *builder) expand(star ast.Expr, s *scope) ([]target, error) {
	if ref, ok := star.(*ast.ColumnRef); ok {
		return b.expandStar(ref, s)
	}
	return b.expandRecord(star.(*ast.FieldSelect), s)
}

// bothRowFields plans the fields of two row constructors, the left one's first.
func (b *builder) bothRowFields(l, r *ast.Row, s *scope) (lf, rf []plan.Expr, err error) {
	if lf, err = b.rowFields(l, s); err != nil {
		return nil, nil, err
	}
	rf, err = b.rowFields(r, s)
	return lf, rf, err
}

// rowCompareAST plans a comparison of two row constructors.
func (b *builder) rowCompareAST(e *ast.BinaryOp, l, r *ast.Row, s *scope) (plan.Expr, error) {
	lf, rf, err := b.bothRowFields(l, r, s)
	if err != nil {
		return nil, err
	}
	return b.rowCompare(e.Op, lf, rf, e.Pos)
}

// rowCompare plans a comparison of two rows of expressions.
func (b *builder) rowCompare(op ast.Operator, l, r []plan.Expr, at int) (plan.Expr, error) {
	if len(l) != len(r) {
		return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(at)
	}
	if len(l) == 0 {
		return nil, pgerr.Unsupported("cannot compare rows of zero length").At(at)
	}
	if !isComparison(op.Name) {
		return nil, pgerr.Unsupported("could not determine interpretation of row comparison operator %s", op.Name).At(at)
	}
	if len(l) == 1 {
		return b.operator(op, []plan.Expr{l[0], r[0]}, []int{at, at}, at)
	}
	switch op.Name {
	case "=":
		args, err := b.eachField("=", l, r, at)
		return &plan.And{Args: args}, err
	case "<>", "!=":
		args, err := b.eachField("<>", l, r, at)
		return &plan.Or{Args: args}, err
	}
	c := &plan.RowCompare{Op: op.Name, Left: make([]plan.Expr, len(l)), Right: make([]plan.Expr, len(l))}
	for i := range l {
		eq, _, _, err := b.compare("=", l[i], r[i], at, at, at)
		if err != nil {
			return nil, err
		}
		less, x, y, err := b.compare("<", l[i], r[i], at, at, at)
		if err != nil {
			return nil, err
		}
		if eq, err = b.equalityOf(eq, x, at); err != nil {
			return nil, err
		}
		c.Eq, c.Less = append(c.Eq, eq), append(c.Less, less)
		c.Left[i], c.Right[i] = x, y
	}
	return c, nil
}

// eachField plans the comparisons of the fields of two rows, of which = is the conjunction and <> the
// disjunction.
func (b *builder) eachField(op string, l, r []plan.Expr, at int) ([]plan.Expr, error) {
	args := make([]plan.Expr, len(l))
	for i := range l {
		var err error
		if args[i], err = b.operator(ast.Operator{Name: op}, []plan.Expr{l[i], r[i]}, []int{at, at}, at); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// arrayExpr plans ARRAY[...]. want, if not nil, is the array type that an
// enclosing cast asks for: elements are then converted one by one.
func (b *builder) arrayExpr(e *ast.ArrayExpr, s *scope, want *types.T) (plan.Expr, error) {
	nested := false
	elems, pos := make([]plan.Expr, len(e.Elems)), make([]int, len(e.Elems))
	for i, x := range e.Elems {
		var err error
		pos[i] = x.Position()
		if sub, ok := x.(*ast.ArrayExpr); ok {
			nested = true
			elems[i], err = b.arrayExpr(sub, s, want)
		} else {
			elems[i], err = b.expr(x, s)
		}
		if err != nil {
			return nil, err
		}
	}
	nested = nested || slices.ContainsFunc(elems, func(x plan.Expr) bool { return x.Type().SubArray() })
	if want != nil {
		return b.arrayCast(elems, pos, want, nested)
	}
	if len(elems) == 0 {
		return nil, pgerr.New(pgerr.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].").At(e.Pos)
	}
	t, err := b.common(elems, pos, "ARRAY")
	if err != nil {
		return nil, err
	}
	at, ok := types.ArrayOf(t)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", t.SQLName).At(e.Pos)
	}
	return &plan.ArrayCtor{Elems: elems, T: at, Nested: nested}, nil
}

func (b *builder) arrayCast(elems []plan.Expr, pos []int, want *types.T, nested bool) (plan.Expr, error) {
	t := want.Elem.WithTypmod(want.Typmod)
	if nested {
		t = want
	}
	for i := range elems {
		x, ok, err := b.coerce(elems[i], t, plan.CastExplicit, pos[i])
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, cannotCast(elems[i].Type(), t, pos[i])
		}
		elems[i] = x
	}
	return &plan.ArrayCtor{Elems: elems, T: want, Nested: nested}, nil
}

// subscript plans X[i] and X[i:j].
func (b *builder) subscript(e *ast.Subscript, s *scope) (plan.Expr, error) {
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if t.Is(types.Name) && len(e.Indexes) == 1 && !e.Indexes[0].Slice {
		return b.nameByte(e, s)
	}
	if t.Oid == types.JSONB.Oid {
		return b.jsonSubscript(x, e, s)
	}
	if t.Oid == types.Hstore.Oid {
		return b.hstoreSubscript(x, e, s)
	}
	elem := t.Subscripted()
	if elem == nil {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", t.SQLName).At(e.X.Position())
	}
	if len(e.Indexes) > types.MaxArrayDims {
		return nil, types.TooManyDims(len(e.Indexes)).At(e.Pos)
	}
	sub := &plan.Subscript{Arg: x, T: elem}
	for _, ix := range e.Indexes {
		if ix.Slice {
			sub.Slice, sub.T = true, t
		}
	}
	if sub.Slice && t.Elem == nil {
		return nil, errSliceOfFixed()
	}
	bound := func(e ast.Expr) (plan.Expr, error) {
		if e == nil {
			return nil, nil
		}
		v, err := b.expr(e, s)
		if err != nil {
			return nil, err
		}
		v, ok, err := b.coerce(v, types.Int4, plan.CastAssignment, e.Position())
		if err == nil && !ok {
			err = pgerr.New(pgerr.DatatypeMismatch, "array subscript must have type integer").At(e.Position())
		}
		return v, err
	}
	for _, ix := range e.Indexes {
		lo, hi := ix.Lo, ix.Hi
		if !ix.Slice {
			lo, hi = nil, ix.Lo
			if sub.Slice { // x[2][1:3] means x[1:2][1:3]
				lo = &ast.IntLit{Loc: e.Loc, Val: 1}
			}
		}
		l, err := bound(lo)
		if err != nil {
			return nil, err
		}
		u, err := bound(hi)
		if err != nil {
			return nil, err
		}
		sub.Lower, sub.Upper = append(sub.Lower, l), append(sub.Upper, u)
	}
	return sub, nil
}

// errSliceOfFixed refuses slices of geometric values.
func errSliceOfFixed() *pgerr.Error {
	return pgerr.Unsupported("slices of fixed-length arrays not implemented")
}

// jsonSubscript plans x['a'][0] of a jsonb value.
func (b *builder) jsonSubscript(x plan.Expr, e *ast.Subscript, s *scope) (plan.Expr, error) {
	args, pos := []plan.Expr{x}, []int{e.X.Position()}
	for _, ix := range e.Indexes {
		if ix.Slice {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "jsonb subscript does not support slices").At(e.Pos)
		}
		v, err := b.jsonKey(ix.Lo, s)
		if err != nil {
			return nil, err
		}
		args, pos = append(args, v), append(pos, ix.Lo.Position())
	}
	return b.function("jsonb_extract_path", args, pos, e.Pos)
}

// jsonKey plans a subscript of a jsonb value as text.
func (b *builder) jsonKey(e ast.Expr, s *scope) (plan.Expr, error) {
	v, err := b.expr(e, s)
	if err != nil {
		return nil, err
	}
	if t := v.Type(); t.Family != types.IntFamily && !t.IsString() {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "subscript type %s is not supported", t.SQLName).
			WithHint("jsonb subscript must be coercible to either integer or text.").At(e.Position())
	}
	return b.explicitCast(v, types.Text, e.Position(), e.Position())
}

// nameByte plans x[i] of a name, which counts from 0 and yields "char".
func (b *builder) nameByte(e *ast.Subscript, s *scope) (plan.Expr, error) {
	system := func(name ast.Name) *ast.TypeName { return &ast.TypeName{Names: []ast.Name{"pg_catalog", name}} }
	nth := &ast.BinaryOp{Loc: e.Loc, Op: ast.Operator{Name: "+"}, L: e.Indexes[0].Lo, R: &ast.IntLit{Loc: e.Loc, Val: 1}}
	return b.expr(&ast.Cast{Loc: e.Loc, Type: system("char"), X: &ast.FuncCall{
		Loc: e.Loc, Name: ast.FuncName{Schema: "pg_catalog", Name: "substr"},
		Args: []ast.Expr{&ast.Cast{Loc: e.Loc, X: e.X, Type: system("text")}, nth, &ast.IntLit{Loc: e.Loc, Val: 1}},
	}}, s)
}

// fieldSelect plans (X).Field where the fields of X are known.
func (b *builder) fieldSelect(e *ast.FieldSelect, s *scope) (plan.Expr, error) {
	if e.Star {
		return nil, pgerr.Unsupported("row expansion via \"*\" is not supported here").At(e.X.Position())
	}
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	if f, err := b.fieldNamed(x, e.Field, e.Pos); f != nil || err != nil {
		if row, ok := x.(*plan.RowCtor); ok {
			b.env.Notes.noteField(e, slices.Index(row.Names, e.Field))
		}
		return f, err
	}
	if x.Type().Family != types.RecordFamily {
		return nil, pgerr.New(pgerr.WrongObjectType, "column notation .%s applied to type %s, which is not a composite type",
			e.Field, x.Type().Shown().SQLName).At(e.Pos)
	}
	if x.Type().Def != nil {
		return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" not found in data type %s", e.Field, x.Type().Shown().SQLName).At(e.X.Position())
	}
	return nil, pgerr.New(pgerr.UndefinedColumn, "could not identify column \"%s\" in record data type", e.Field).At(e.X.Position())
}

// fieldNamed plans the field of a record with a name, nil if there is none. Two columns of
// the name are an error in a relation's row; of the fields of other records the first counts.
func (b *builder) fieldNamed(x plan.Expr, name ast.Name, pos int) (plan.Expr, error) {
	if row, ok := x.(*plan.RowCtor); ok {
		if i := slices.Index(row.Names, name); i >= 0 {
			if slices.Contains(row.Names[i+1:], name) {
				return nil, ambiguousColumn(name, pos)
			}
			return row.Fields[i], nil
		}
	}
	fields := b.fieldsOf(x)
	for i := range fields {
		if fields[i].name == name {
			return &plan.FieldSelect{Arg: x, Field: i, Name: name, T: fields[i].typ}, nil
		}
	}
	return nil, nil
}

// fieldsOf returns the fields of a record where they are known.
func (b *builder) fieldsOf(x plan.Expr) []field {
	switch x := x.(type) {
	case *plan.RowCtor:
		fields := make([]field, len(x.Fields))
		for i, f := range x.Fields {
			fields[i] = field{name: "f" + strconv.Itoa(i+1), typ: outType(f)}
			if i < len(x.Names) {
				fields[i].name = x.Names[i]
			}
		}
		return fields
	case *plan.ColRef:
		if fields := b.records[x.Col]; fields != nil {
			return fields
		}
	case *plan.Subquery:
		if x.Kind == plan.ScalarSubquery {
			if fields := b.records[x.Plan.Props().Cols[0].ID]; fields != nil {
				return fields
			}
		}
	}
	var fields []field
	for _, f := range x.Type().Fields() {
		fields = append(fields, field{name: f.Name, typ: f.Type})
	}
	return fields
}

// noteRecord remembers the fields of a column that holds x, unless its type has them: they keep
// their names there, whatever the relation calls its columns whose row x is.
func (b *builder) noteRecord(id plan.ColID, x plan.Expr) {
	if t := x.Type(); t.Family != types.RecordFamily || t.Fields() != nil {
		return
	}
	if f := b.fieldsOf(x); f != nil {
		if b.records == nil {
			b.records = map[plan.ColID][]field{}
		}
		b.records[id] = f
	}
}
