package typefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// lengthFunctions declares the functions behind casts to varchar(n), numeric(p, s), time(p) and
// the like. Their second argument is a modifier as pg_attribute.atttypmod holds it, the third one
// says whether the cast is explicit.
func lengthFunctions() []*call.Overload {
	apply := func(t *types.T) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			explicit := len(a) == 3 && a[2].Bool()
			if t.Family == types.BitFamily && a[1].Int() <= 0 {
				return a[0], nil
			}
			if t.Is(types.Bpchar) && a[1].Int() > call.MaxStringLen {
				return types.Null, call.ErrTooLong
			}
			if err := checkPrecision(t, a[0], a[1].Int()); err != nil {
				return types.Null, err
			}
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
	for _, t := range []*types.T{types.Int4, types.Int8} {
		cast, _ := casts.Find(t, types.Bit)
		all = append(all, call.Fn("bit("+t.Name+",int4) bit", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return cast.Fn(c.Format, a[0], types.Bit.WithTypmod(int32(max(a[1].Int(), 1))))
		}))
	}
	for _, t := range []*types.T{types.Int4, types.Text} {
		cast, _ := casts.Find(t, types.Char)
		all = append(all, call.Fn("char("+t.Name+") char", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return cast.Fn(c.Format, a[0], types.Char)
		}))
	}
	return all
}

// checkPrecision refuses precisions that no timestamp has. Those of types are cut to the highest before.
func checkPrecision(t *types.T, d types.Datum, precision int64) error {
	const none, highest = -1, 6
	if !t.Is(types.Timestamp) && !t.Is(types.TimestampTZ) || precision == none || precision >= 0 && precision <= highest || d.InfSign() != 0 {
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, "timestamp(%d) precision must be between 0 and %d", precision, highest)
}
