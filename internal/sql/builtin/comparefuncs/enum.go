package comparefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func enumFunctions() []*call.Overload {
	labels := func(b call.Binding) (*types.T, []types.EnumLabel, error) {
		for _, t := range b.Types {
			if t.IsEnum() && t.Def != nil {
				return t, t.Def.Labels, nil
			}
		}
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine actual enum type")
	}
	end := func(last bool) call.BindFunc {
		return func(b call.Binding) (call.EvalFunc, error) {
			t, ls, err := labels(b)
			if err != nil {
				return nil, err
			}
			return func(*call.Context, []types.Datum) (types.Datum, error) {
				if len(ls) == 0 {
					return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum contains no values")
				}
				l := &ls[0]
				if last {
					l = &ls[len(ls)-1]
				}
				return types.NewEnum(l.Rank), l.Usable(t)
			}, nil
		}
	}
	span := func(b call.Binding) (call.EvalFunc, error) {
		t, ls, err := labels(b)
		if err != nil {
			return nil, err
		}
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			var out []types.Datum
			for i := range ls {
				d := types.NewEnum(ls[i].Rank)
				if len(a) == 2 && (!a[0].IsNull() && types.Compare(d, a[0]) < 0 || !a[1].IsNull() && types.Compare(d, a[1]) > 0) {
					continue
				}
				if err := ls[i].Usable(t); err != nil {
					return types.Null, err
				}
				out = append(out, d)
			}
			return types.NewArray(out), nil
		}, nil
	}
	all := []*call.Overload{
		call.FnBind("enum_first(anyenum) anyenum", end(false)).NonStrict().Stable(),
		call.FnBind("enum_last(anyenum) anyenum", end(true)).NonStrict().Stable(),
		call.FnBind("enum_range(anyenum) anyarray", span).NonStrict().Stable(),
		call.FnBind("enum_range(anyenum,anyenum) anyarray", span).NonStrict().Stable(),
	}
	return append(all, SixOperators("anyenum", "anyenum", CompareDatums)...)
}
