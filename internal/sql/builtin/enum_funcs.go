package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func enumFunctions() []*Overload {
	labels := func(b Binding) ([]types.EnumLabel, error) {
		for _, t := range b.Types {
			if t.IsEnum() && t.Def != nil {
				return t.Def.Labels, nil
			}
		}
		return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine actual enum type")
	}
	end := func(last bool) BindFunc {
		return func(b Binding) (EvalFunc, error) {
			ls, err := labels(b)
			if err != nil {
				return nil, err
			}
			return func(*Context, []types.Datum) (types.Datum, error) {
				if len(ls) == 0 {
					return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "enum contains no values")
				}
				if last {
					return types.NewEnum(ls[len(ls)-1].Rank), nil
				}
				return types.NewEnum(ls[0].Rank), nil
			}, nil
		}
	}
	span := func(b Binding) (EvalFunc, error) {
		ls, err := labels(b)
		if err != nil {
			return nil, err
		}
		return func(_ *Context, a []types.Datum) (types.Datum, error) {
			var out []types.Datum
			for _, l := range ls {
				d := types.NewEnum(l.Rank)
				if len(a) == 2 && (!a[0].IsNull() && types.Compare(d, a[0]) < 0 || !a[1].IsNull() && types.Compare(d, a[1]) > 0) {
					continue
				}
				out = append(out, d)
			}
			return types.NewArray(out), nil
		}, nil
	}
	all := []*Overload{
		fnBind("enum_first(anyenum) anyenum", end(false)).nonStrict().stable(),
		fnBind("enum_last(anyenum) anyenum", end(true)).nonStrict().stable(),
		fnBind("enum_range(anyenum) anyarray", span).nonStrict().stable(),
		fnBind("enum_range(anyenum,anyenum) anyarray", span).nonStrict().stable(),
		fnBind("enum_send(anyenum) bytea", func(b Binding) (EvalFunc, error) {
			t := b.Types[0]
			return func(_ *Context, a []types.Datum) (types.Datum, error) {
				return types.NewBytes(string(typeio.AppendBinary(nil, t, a[0]))), nil
			}, nil
		}).stable(),
	}
	return append(all, sixOperators("anyenum", "anyenum", compareDatums)...)
}
