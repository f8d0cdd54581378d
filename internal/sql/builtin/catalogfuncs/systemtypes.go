package catalogfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// systemOperators declares the operators of PostgreSQL's own bookkeeping types.
func systemOperators() []*call.Overload {
	all := append(comparefuncs.IntComparisons("xid8", "xid8"), comparefuncs.IntComparisons("pg_lsn", "pg_lsn")...)
	all = append(all, comparefuncs.IntComparisons("tid", "tid")...)
	equal := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewBool(types.Compare(a[0], a[1]) == 0), nil
	}
	return append(all,
		call.Op("cid = cid bool", equal),
		call.Op("pg_lsn - pg_lsn numeric", lsnDiff),
		call.Op("pg_lsn + numeric pg_lsn", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return lsnAdd(a[0], a[1]) }),
		call.Op("numeric + pg_lsn pg_lsn", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return lsnAdd(a[1], a[0]) }),
		call.Op("pg_lsn - numeric pg_lsn", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[1].IsNaN() {
				return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot subtract NaN from pg_lsn")
			}
			return lsnAdd(a[0], decimal.Neg(a[1]))
		}))
}

// lsnDecimal is a position in the log as a number.
func lsnDecimal(d types.Datum) types.Datum {
	u := d.Uint64()
	n, _ := decimal.Mul(types.NewDecimalInt(int64(u>>1), 0), types.NewDecimalInt(2, 0))
	n, _ = decimal.Add(n, types.NewDecimalInt(int64(u&1), 0))
	return n
}

func lsnDiff(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return decimal.Sub(lsnDecimal(a[0]), lsnDecimal(a[1]))
}

func lsnAdd(lsn, n types.Datum) (types.Datum, error) {
	if n.IsNaN() {
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot add NaN to pg_lsn")
	}
	sum, err := decimal.Add(lsnDecimal(lsn), n)
	if err != nil {
		return types.Null, err
	}
	return lsnOf(sum)
}

// lsnOf is a number as a position in the log.
func lsnOf(n types.Datum) (types.Datum, error) {
	switch {
	case n.IsNaN():
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to pg_lsn")
	case n.IsInf():
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to pg_lsn")
	}
	// Signed numbers have half the range: PostgreSQL's numbers less 2^63 are the datum's.
	n = types.RoundDecimal(n, 0)
	half := types.NewDecimalInt(1<<62, 0)
	for range 2 {
		var err error
		if n, err = decimal.Sub(n, half); err != nil {
			return types.Null, err
		}
	}
	d, err := castToInt8(n)
	if err != nil {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "pg_lsn out of range")
	}
	return d, nil
}

func castToInt8(n types.Datum) (types.Datum, error) {
	cast, _ := casts.Find(types.Numeric, types.Int8)
	return cast.Fn(nil, n, types.Int8)
}

func systemFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("pg_lsn(numeric) pg_lsn", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return lsnOf(a[0]) }),
		call.Fn("pg_wal_lsn_diff(pg_lsn,pg_lsn) numeric", lsnDiff),
		call.Fn("xid(xid8) xid", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(uint32(a[0].Uint64()))), nil
		}),
	}
}
