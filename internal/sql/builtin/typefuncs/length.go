package typefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lengthFunctions declares the functions behind casts to varchar(n), numeric(p, s), time(p) and
// the like. Their second argument is a modifier as pg_attribute.atttypmod holds it, the third one
// says whether the cast is explicit.
func lengthFunctions() []*call.Overload {
	apply := func(t *types.T) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			explicit := len(a) == 3 && a[2].Bool()
			return types.ApplyTypmod(a[0], t.WithTypmod(int32(a[1].Int())), explicit, c.Format)
		}
	}
	var all []*call.Overload
	for _, t := range []*types.T{types.Bpchar, types.Varchar, types.Bit, types.Varbit} {
		all = append(all, call.Fn(t.Name+"("+t.Name+",int4,bool) "+t.Name, apply(t)))
	}
	for _, t := range []*types.T{types.Numeric, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ, types.Interval} {
		all = append(all, call.Fn(t.Name+"("+t.Name+",int4) "+t.Name, apply(t)))
	}
	return all
}
