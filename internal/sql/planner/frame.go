package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

var frameModes = [...]plan.FrameMode{ast.FrameRange: plan.FrameRange, ast.FrameRows: plan.FrameRows, ast.FrameGroups: plan.FrameGroups}

var boundKinds = [...]plan.FrameBoundKind{
	ast.UnboundedPreceding: plan.UnboundedPreceding, ast.OffsetPreceding: plan.OffsetPreceding,
	ast.CurrentRow: plan.CurrentRow, ast.OffsetFollowing: plan.OffsetFollowing,
	ast.UnboundedFollowing: plan.UnboundedFollowing,
}

var exclusions = [...]plan.FrameExclusion{
	ast.ExcludeNoOthers: plan.ExcludeNothing, ast.ExcludeCurrentRow: plan.ExcludeCurrentRow,
	ast.ExcludeGroup: plan.ExcludeGroup, ast.ExcludeTies: plan.ExcludeTies,
}

// rangeFrame is how frames of RANGE with offsets find their ends.
type rangeFrame struct {
	key      plan.Expr // what is compared
	offset   *types.T
	add, sub *call.Overload // nil: the executor's own
}

// frame plans the frame clause of w; none is RANGE from the start to the current row.
func (b *builder) frame(w *windowGroup, spec *ast.WindowSpec, s *scope) error {
	f := spec.Frame
	out := plan.Frame{End: plan.FrameBound{Kind: plan.CurrentRow}}
	if f == nil {
		w.frame = out
		return nil
	}
	out.Mode, out.Exclusion = frameModes[f.Unit], exclusions[f.Exclusion]
	out.Start.Kind, out.End.Kind = boundKinds[f.Start.Kind], boundKinds[f.End.Kind]
	if out.Mode == plan.FrameGroups && len(w.order) == 0 {
		return pgerr.New(pgerr.WindowingError, "GROUPS mode requires an ORDER BY clause").At(spec.Pos)
	}
	var err error
	if out.Start.Offset, err = b.frameOffset(w, spec, f.Start.Offset, s); err != nil {
		return err
	}
	if out.End.Offset, err = b.frameOffset(w, spec, f.End.Offset, s); err != nil {
		return err
	}
	w.frame = out
	return nil
}

func (b *builder) frameOffset(w *windowGroup, spec *ast.WindowSpec, e ast.Expr, s *scope) (plan.Expr, error) {
	switch {
	case e == nil:
		return nil, nil
	case spec.Frame.Unit == ast.FrameRows:
		return b.limitExpr(e, "ROWS", s)
	case spec.Frame.Unit == ast.FrameGroups:
		return b.limitExpr(e, "GROUPS", s)
	case len(w.order) != 1:
		return nil, pgerr.New(pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(spec.Pos)
	}
	if err := b.rangeFrame(w, e.Position()); err != nil {
		return nil, err
	}
	return b.rangeOffset(e, w, s)
}

// rangeFrame settles how offsets apply to the column that w orders by.
func (b *builder) rangeFrame(w *windowGroup, pos int) error {
	if w.rng != nil {
		return nil
	}
	key := w.order[0].expr
	r := &rangeFrame{key: key, offset: types.Interval}
	switch key.Type().Family {
	case types.IntFamily:
		if !key.Type().IsInteger() {
			return errRangeType(key.Type()).At(pos)
		}
		r.offset = types.Int8
		w.rng = r
		return nil
	case types.FloatFamily:
		r.offset = types.Float8
		w.rng = r
		return nil
	case types.TimeFamily:
		w.rng = r
		return nil
	case types.DateFamily:
		r.key = &plan.Cast{Arg: key, T: types.Timestamp}
	case types.DecimalFamily:
		r.offset = types.Numeric
	case types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily:
	default:
		return errRangeType(key.Type()).At(pos)
	}
	ts := []*types.T{r.key.Type().WithTypmod(-1), r.offset}
	var err error
	if r.add, err = builtin.ResolveOperator("+", ts); err != nil {
		return pgerr.From(err).At(pos)
	}
	if r.sub, err = builtin.ResolveOperator("-", ts); err != nil {
		return pgerr.From(err).At(pos)
	}
	w.rng = r
	return nil
}

func errRangeType(t *types.T) *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", t.SQLName)
}

// rangeOffset plans an offset of RANGE.
func (b *builder) rangeOffset(e ast.Expr, w *windowGroup, s *scope) (plan.Expr, error) {
	ls := s.in(clauseLimit)
	ls.sel = nil
	x, err := b.expr(e, ls)
	if err != nil {
		return nil, err
	}
	want, is := w.rng.offset, x.Type()
	y, ok, err := b.coerce(x, want, plan.CastImplicit, e.Position())
	if err != nil {
		return nil, err
	}
	if key := w.order[0].expr.Type(); !ok {
		return nil, pgerr.New(pgerr.FeatureNotSupported,
			"RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s", key.SQLName, is.SQLName).
			WithHint("Cast the offset value to an appropriate type.").At(e.Position())
	}
	return y, constantOf(y, s, "RANGE", e.Position())
}
