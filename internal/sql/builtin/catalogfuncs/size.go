package catalogfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func databaseSize(s call.Session, oid uint32) (types.Datum, error) {
	n, ok, err := s.DatabaseSize(oid)
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

// sizePretty prints a number of bytes in the unit that leaves fewer than five
// digits, rounding half away from zero.
func sizePretty(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	neg := n < 0
	u := decimal.AbsUint(n)
	i := 0
	if u >= 10*1024 {
		u >>= 9 // keep a bit to round by
		for i = 1; i < len(units)-1 && u >= 20*1024-1; i++ {
			u >>= 10
		}
		u = (u + 1) >> 1
	}
	sign := ""
	if neg {
		sign = "-"
	}
	return sign + strconv.FormatUint(u, 10) + " " + units[i]
}

// varlenaHeader is how much PostgreSQL keeps before a value of variable length.
const varlenaHeader = 4

// columnSize is pg_column_size: what a value of a fixed width takes in PostgreSQL, and for
// others the bytes of the value with PostgreSQL's header.
func columnSize(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	width := int64(types.InfoOf(t).Len)
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		switch {
		case width > 0:
			return types.NewInt(width), nil
		case t.IsString() || t.Is(types.Unknown) || t.Is(types.Bytea):
			return types.NewInt(int64(len(a[0].Str())) + varlenaHeader), nil
		}
		return types.NewInt(int64(len(types.AppendEncoded(nil, a[0]))) + varlenaHeader), nil
	}, nil
}

// sizeUnits are the units of pg_size_bytes, in powers of 1024.
var sizeUnits = map[string]int{"": 0, "bytes": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4, "pb": 5}

func pgSizeBytes(_ *call.Context, a []types.Datum) (types.Datum, error) {
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
		if d, err = decimal.Mul(d, types.NewDecimalInt(1024, 0)); err != nil {
			return types.Null, err
		}
	}
	n, ok := types.DecimalToInt(types.RoundDecimal(d, 0))
	if !ok {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
	}
	return types.NewInt(n), nil
}

func sizeFunctions() []*call.Overload {
	size := func(sig string, part call.SizePart) *call.Overload {
		return call.Fn(sig, call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			if len(a) == 2 && a[1].Str() != "main" {
				return forkSize(a[1].Str())
			}
			n, ok, err := s.RelationSize(uint32(a[0].Int()), part)
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		})).Volatile()
	}
	return []*call.Overload{
		size("pg_relation_size(regclass) int8", call.SizeMain), size("pg_relation_size(regclass,text) int8", call.SizeMain),
		size("pg_table_size(regclass) int8", call.SizeTable), size("pg_indexes_size(regclass) int8", call.SizeIndexes),
		size("pg_total_relation_size(regclass) int8", call.SizeTotal),
		call.Fn("pg_tablespace_size(oid) int8", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			n, ok, err := s.TablespaceSize(uint32(a[0].Int()), "")
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		})).Volatile(),
		call.Fn("pg_tablespace_size(name) int8", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			n, ok, err := s.TablespaceSize(0, a[0].Str())
			if err == nil && !ok {
				err = pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", a[0].Str())
			}
			return types.NewInt(n), err
		})).Volatile(),
		call.Fn("pg_database_size(oid) int8", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return databaseSize(s, uint32(a[0].Int()))
		})).Volatile(),
		call.Fn("pg_database_size(name) int8", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			oid, ok, err := s.LookupDatabase(a[0].Str())
			if err != nil {
				return types.Null, err
			}
			if !ok {
				return types.Null, pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", a[0].Str())
			}
			return databaseSize(s, oid)
		})).Volatile(),
		call.Fn("pg_size_bytes(text) int8", pgSizeBytes),
		call.FnBind("pg_column_size(any) int4", columnSize).Stable(),
		call.Fn("pg_column_compression(any) text", call.NullFunc).Stable(),
		call.Fn("pg_size_pretty(int8) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return call.Text(sizePretty(a[0].Int())) }),
		call.Fn("pg_size_pretty(numeric) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			n, ok := types.DecimalToInt(types.TruncDecimal(a[0], 0))
			if !ok {
				return types.Null, call.Fail(numfuncs.ErrInt8Range)
			}
			return call.Text(sizePretty(n))
		}),
	}
}

// forkSize is the size of a fork that relations here do not have.
func forkSize(fork string) (types.Datum, error) {
	switch fork {
	case "fsm", "vm", "init":
		return types.NewInt(0), nil
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid fork name").
		WithHint(`Valid fork names are "main", "fsm", "vm", and "init".`)
}
