package builtin

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// otherFunctions declares functions that belong to no family above.
func otherFunctions() []*Overload {
	return []*Overload{
		fn("timestamp(date,time) timestamp", func(_ *Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestamp(ts), err
			}
			return types.NewTimestamp(ts + a[1].Int()), nil
		}),
		fn("timestamptz(date,time) timestamptz", func(c *Context, a []types.Datum) (types.Datum, error) {
			ts, err := datetime.TimestampFromDate(a[0].Int())
			if err != nil || a[0].IsInf() {
				return types.NewTimestampTZ(ts), err
			}
			return timestampTZResult(validTimestamp(c.toUTC(ts + a[1].Int())))
		}).stable(),
		fn("timestamptz(date,timetz) timestamptz", dateTimeTZ(0, 1)),
		fn("pg_size_bytes(text) int8", pgSizeBytes),
		fn("oidvectortypes(oidvector) text", func(c *Context, a []types.Datum) (types.Datum, error) {
			var names []string
			for _, e := range a[0].ArrayElems() {
				d, err := formatType(c, []types.Datum{e, types.Null})
				if err != nil {
					return types.Null, err
				}
				names = append(names, d.Str())
			}
			return text(strings.Join(names, ", "))
		}).stable(),
	}
}

// sizeUnits are the units of pg_size_bytes, in powers of 1024.
var sizeUnits = map[string]int{"": 0, "bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4, "pb": 5}

func pgSizeBytes(_ *Context, a []types.Datum) (types.Datum, error) {
	s := strings.TrimSpace(a[0].Str())
	i := 0
	for i < len(s) && strings.IndexByte("+-.0123456789eE", s[i]) >= 0 {
		i++
	}
	d, err := typeio.ParseText(types.Numeric, s[:i], nil)
	if err != nil {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", a[0].Str())
	}
	power, ok := sizeUnits[strings.ToLower(strings.TrimSpace(s[i:]))]
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", a[0].Str()).
			WithDetail("Invalid size unit: \"%s\".", strings.TrimSpace(s[i:])).
			WithHint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
	}
	for range power {
		if d, err = MulDecimal(d, types.NewDecimalInt(1024, 0)); err != nil {
			return types.Null, err
		}
	}
	n, ok := types.DecimalToInt(types.RoundDecimal(d, 0))
	if !ok {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
	}
	return types.NewInt(n), nil
}
