package builtin

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// conversionFunctions declares a function per type that casts to it, named like
// the type: date(x), float8(x), text(x). PostgreSQL takes such a call for a
// cast where it finds no function.
func conversionFunctions() []*call.Overload {
	var all []*call.Overload
	for _, t := range []*types.T{
		types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric,
		types.Text, types.Varchar, types.Bpchar, types.Name, types.Bytea, types.UUID, types.Oid, types.Regclass,
		types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval,
		types.JSON, types.JSONB,
	} {
		all = append(all, call.FnBind(t.Name+"(any) "+t.Name, bindConversion(t)).Stable())
	}
	return all
}

func bindConversion(to *types.T) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		from := b.Types[0]
		if from.Is(to) {
			return call.Identity, nil
		}
		cast, ok := casts.Find(from, to)
		if !ok {
			return nil, call.NoMatch(to.Name, false, b.Types)
		}
		if cast.Fn == nil {
			return call.Identity, nil
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) { return cast.Fn(c.Format, a[0], to) }, nil
	}
}
