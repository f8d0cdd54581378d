package planner

import (
	"strings"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// castAllowed reports whether a cast declared for ctx may be used in mode.
func castAllowed(ctx types.CastContext, mode plan.CastMode) bool {
	switch mode {
	case plan.CastExplicit:
		return true
	case plan.CastAssignment:
		return ctx != types.CastExplicit
	}
	return ctx == types.CastImplicit
}

// coerce converts e to type t; ok is false if there is no such conversion.
// pos is where e stands. Implicit conversions between types that share their
// representation leave e as it is.
func (b *builder) coerce(e plan.Expr, t *types.T, mode plan.CastMode, pos int) (x plan.Expr, ok bool, err error) {
	from := e.Type()
	if from == t || from.Oid == t.Oid && (t.Typmod < 0 || t.Typmod == from.Typmod || plant.On(plant.TypmodLost)) {
		return e, true, nil
	}
	if isUnknown(from) {
		x, err := b.coerceUnknown(e, t, mode, pos)
		return x, true, err
	}
	if t.Family == types.AnyFamily || t.Is(types.Record) && from.Family == types.RecordFamily {
		return e, true, nil // a composite value keeps its fields' names
	}
	cast, found := casts.Find(from, t)
	if !found || !castAllowed(cast.Context, mode) {
		return nil, false, nil
	}
	b.env.Notes.noteDeclaredCast(cast.Declared)
	if f := cast.Function(); f != nil {
		x, err := b.castByFunction(f, e, t, mode, pos)
		return x, true, err
	}
	b.castsBuiltIn(from, t, cast.Method)
	if row, isRow := e.(*plan.RowCtor); isRow && len(row.Names) == 0 && t.Family == types.RecordFamily {
		x, err := b.coerceRow(row, t, mode, pos)
		return x, true, err
	}
	if c, isConst := e.(*plan.Const); isConst && c.D.IsNull() {
		return plan.NewNull(t), true, nil
	}
	if from.Oid == t.Oid { // the modifier only
		return &plan.Cast{Arg: e, T: t, Mode: mode}, true, nil
	}
	if cast.Fn == nil && mode == plan.CastImplicit && t.Typmod < 0 {
		if c, isConst := e.(*plan.Const); isConst {
			return plan.NewConst(t, c.D), true, nil
		}
		return e, true, nil
	}
	return &plan.Cast{Arg: e, T: t, Mode: mode}, true, nil
}

// coerceUnknown gives a literal or parameter of unknown type its type.
func (b *builder) coerceUnknown(e plan.Expr, t *types.T, mode plan.CastMode, pos int) (plan.Expr, error) {
	if t.Family == types.AnyFamily {
		t = types.Text
	}
	switch e := e.(type) {
	case *plan.Const:
		if e.D.IsNull() {
			return plan.NewNull(t), nil
		}
		x, err := b.literal(e.D.Str(), t, mode, pos)
		if err == nil && b.env.Notes != nil {
			err = b.noteRead(e, x, t, mode, pos)
		}
		return x, err
	case *plan.Param:
		p, err := b.setParam(e, t, pos)
		if err != nil || t.Typmod < 0 {
			return p, err
		}
		return &plan.Cast{Arg: p, T: t, Mode: mode}, nil
	}
	// A column of unknown type, which only a query under construction has.
	if t.Oid == types.Text.Oid {
		return e, nil
	}
	return &plan.Cast{Arg: e, T: t, Mode: plan.CastExplicit}, nil
}

// coerceRow makes ROW(...) a value of a composite type: each of its elements is converted in the
// same mode, which says what becomes of those that are too long.
func (b *builder) coerceRow(row *plan.RowCtor, t *types.T, mode plan.CastMode, pos int) (plan.Expr, error) {
	defs := t.Fields()
	if len(defs) != len(row.Fields) {
		return nil, cannotCast(types.Record, t, pos).
			WithDetail("Input has too %s columns.", map[bool]string{true: "few", false: "many"}[len(row.Fields) < len(defs)])
	}
	fields := make([]plan.Expr, len(defs))
	for i, f := range row.Fields {
		x, ok, err := b.coerce(f, defs[i].Type, mode, pos)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, cannotCast(types.Record, t, pos).
				WithDetail("Cannot cast type %s to %s in column %d.", f.Type().Shown().SQLName, defs[i].Type.Shown().SQLName, i+1)
		}
		fields[i] = x
	}
	return &plan.Cast{Arg: &plan.RowCtor{Fields: fields, NullRow: row.NullRow}, T: t, Mode: mode}, nil
}

// noteRead notes what a quoted constant is read as: the value that it has before a modifier of t
// changes it.
func (b *builder) noteRead(e *plan.Const, x plan.Expr, t *types.T, mode plan.CastMode, pos int) (err error) {
	if t.Typmod >= 0 && t.Family != types.IntervalFamily {
		x, err = b.literal(e.D.Str(), t.WithTypmod(-1), mode, pos)
	}
	b.env.Notes.noteRead(e, x)
	return err
}

// longLiteral is the length from which on reading a literal heeds a cancel, and stepsPerLook how many steps
// of that lie between two looks at the context.
const (
	longLiteral  = 64 << 10
	stepsPerLook = 16 << 10
)

// steppingFormat is the format of the session, for what takes long.
func (b *builder) steppingFormat() *types.FormatContext {
	fc, left := types.FormatContext{}, stepsPerLook
	if b.env.Format != nil {
		fc = *b.env.Format
	}
	var stopped error
	fc.Step = func(n int) error {
		if left -= n; left <= 0 && stopped == nil {
			left, stopped = stepsPerLook, b.ctx.Err()
		}
		return stopped
	}
	return &fc
}

// literal reads a quoted constant as a value of type t.
func (b *builder) literal(s string, t *types.T, mode plan.CastMode, pos int) (plan.Expr, error) {
	read := t.WithTypmod(-1)
	if t.Family == types.IntervalFamily {
		read = t // the fields of INTERVAL DAY say what a bare number counts
	}
	fc := b.env.Format
	if len(s) >= longLiteral {
		fc = b.steppingFormat()
	}
	d, err := typeio.ParseText(read, s, fc)
	if err == nil && t.Typmod >= 0 {
		d, err = types.ApplyTypmod(d, t, mode == plan.CastExplicit, fc)
	}
	if len(s) >= longLiteral && b.ctx.Err() != nil {
		return nil, b.ctx.Err()
	}
	if err != nil {
		return nil, pgerr.From(err).At(pos)
	}
	b.noteLiteral(s, t, d)
	return plan.NewConst(t, d), nil
}

// noteLiteral keeps plans from outliving what a constant was read from: words
// such as 'now', and names of relations.
func (b *builder) noteLiteral(s string, t *types.T, d types.Datum) {
	switch t.Family {
	case types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily:
		l := strings.ToLower(s)
		for _, w := range [...]string{"now", "today", "tomorrow", "yesterday"} {
			if strings.Contains(l, w) {
				b.uncacheable = true
			}
		}
	case types.IntFamily:
		if t.Oid == types.Regclass.Oid && b.env.Catalog != nil {
			if tab, err := b.env.Catalog.TableByOid(b.ctx, uint32(d.Int())); err == nil && tab != nil {
				b.noteTable(tab)
				return
			}
		}
		if t.IsReg() {
			b.uncacheable = true
		}
	case types.OpaqueFamily:
		if t.Oid == types.ACLItem.Oid { // it names roles
			b.uncacheable = true
		}
	case types.ArrayFamily:
		if t.Elem.Family != types.StringFamily {
			b.noteLiteral(s, t.Elem, types.NewInt(0))
		}
	}
}

// coerceArg coerces an operand to what an overload needs; resolution has
// established that it can be.
func (b *builder) coerceArg(e plan.Expr, t *types.T, pos int) (plan.Expr, error) {
	x, ok, err := b.coerce(e, t, plan.CastImplicit, pos)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", e.Type().Shown().SQLName, t.SQLName).At(pos)
	}
	return x, nil
}

// coerceBool coerces a condition; what names it in the error ("WHERE").
func (b *builder) coerceBool(e plan.Expr, what string, pos int) (plan.Expr, error) {
	x, ok, err := b.coerce(e, types.Bool, plan.CastImplicit, pos)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s",
			what, e.Type().Shown().SQLName).At(pos)
	}
	return x, nil
}

// coerceText settles what is still of unknown type as text.
func (b *builder) coerceText(e plan.Expr, pos int) (plan.Expr, error) {
	if !isUnknown(e.Type()) {
		return e, nil
	}
	return b.coerceUnknown(e, types.Text, plan.CastImplicit, pos)
}

// assign coerces a value that is stored in a column.
func (b *builder) assign(e plan.Expr, c *catalog.Column, pos int) (plan.Expr, error) {
	t := b.shown(c.Type)
	if b.env.AnyLength {
		t = t.WithTypmod(-1)
	}
	x, ok, err := b.coerce(e, t, plan.CastAssignment, pos)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but expression is of type %s",
			c.Name, b.shown(c.ValueType()).Shown().SQLName, e.Type().Shown().SQLName).
			WithHint("You will need to rewrite or cast the expression.").At(pos)
	}
	return x, nil
}

// common finds the type for a list of alternatives and coerces them to it.
func (b *builder) common(es []plan.Expr, pos []int, context string) (*types.T, error) {
	ts := make([]*types.T, len(es))
	for i := range es {
		ts[i] = es[i].Type()
	}
	t, err := coerce.CommonType(ts, context)
	if err != nil {
		return nil, pgerr.From(err).At(mismatch(ts, pos))
	}
	t = t.WithCollation(nil)
	if err := b.coerceAll(es, t, pos); err != nil {
		return nil, err
	}
	return t, nil
}

// coerceAll coerces the items of a list, which may be long, in place.
func (b *builder) coerceAll(list []plan.Expr, t *types.T, pos []int) (err error) {
	for i := range list {
		if err := b.step(); err != nil {
			return err
		}
		if list[i], err = b.coerceArg(list[i], t, pos[i]); err != nil {
			return err
		}
	}
	return nil
}

// mismatch guesses which of several types an error is about: the first that is
// of another category than the first known one, or of another type.
func mismatch(ts []*types.T, pos []int) int {
	var first *types.T
	at := pos[0]
	for i, t := range ts {
		switch {
		case isUnknown(t):
		case first == nil:
			first = t
		case first.Category() != t.Category():
			return pos[i]
		case !first.Is(t) && at == pos[0]:
			at = pos[i]
		}
	}
	return at
}
