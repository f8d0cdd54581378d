package typefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// order names the functions of a type's default B-tree operator class: cmp returns -1, 0 or 1,
// larger and smaller return one of the two values. A name may be empty.
type order struct {
	typ, cmp, larger, smaller string
}

var orders = []order{
	{"int2", "btint2cmp", "int2larger", "int2smaller"},
	{"int4", "btint4cmp", "int4larger", "int4smaller"},
	{"int8", "btint8cmp", "int8larger", "int8smaller"},
	{"oid", "btoidcmp", "oidlarger", "oidsmaller"},
	{"tid", "bttidcmp", "tidlarger", "tidsmaller"},
	{"xid8", "xid8cmp", "xid8_larger", "xid8_smaller"},
	{"pg_lsn", "pg_lsn_cmp", "pg_lsn_larger", "pg_lsn_smaller"},
	{"float4", "btfloat4cmp", "float4larger", "float4smaller"},
	{"float8", "btfloat8cmp", "float8larger", "float8smaller"},
	{"numeric", "numeric_cmp", "numeric_larger", "numeric_smaller"},
	{"money", "cash_cmp", "cashlarger", "cashsmaller"},
	{"text", "bttextcmp", "text_larger", "text_smaller"},
	{"date", "date_cmp", "date_larger", "date_smaller"},
	{"time", "time_cmp", "time_larger", "time_smaller"},
	{"timetz", "timetz_cmp", "timetz_larger", "timetz_smaller"},
	{"timestamp", "timestamp_cmp", "timestamp_larger", "timestamp_smaller"},
	{"timestamptz", "timestamptz_cmp", "timestamptz_larger", "timestamptz_smaller"},
	{"interval", "interval_cmp", "interval_larger", "interval_smaller"},
	{"inet", "network_cmp", "network_larger", "network_smaller"},
	{"anyarray", "btarraycmp", "array_larger", "array_smaller"},
	{"anyenum", "enum_cmp", "enum_larger", "enum_smaller"},
	{typ: "bool", cmp: "btboolcmp"},
	{typ: "char", cmp: "btcharcmp"},
	{typ: "name", cmp: "btnamecmp"},
	{typ: "bytea", cmp: "byteacmp"},
	{typ: "uuid", cmp: "uuid_cmp"},
	{typ: "bit", cmp: "bitcmp"},
	{typ: "varbit", cmp: "varbitcmp"},
	{typ: "macaddr", cmp: "macaddr_cmp"},
	{typ: "macaddr8", cmp: "macaddr8_cmp"},
	{typ: "oidvector", cmp: "btoidvectorcmp"},
	{typ: "jsonb", cmp: "jsonb_cmp"},
	{typ: "tsvector", cmp: "tsvector_cmp"},
	{typ: "tsquery", cmp: "tsquery_cmp"},
	{typ: "anyrange", cmp: "range_cmp"},
	{typ: "anymultirange", cmp: "multirange_cmp"},
	{typ: "record", cmp: "btrecordcmp"},
}

// bpcharOrder is apart, as blanks at the end do not count: of equal values the functions return
// the first, others the second.
var bpcharOrder = order{"bpchar", "bpcharcmp", "bpchar_larger", "bpchar_smaller"}

func orderFunctions() []*call.Overload {
	var all []*call.Overload
	for _, o := range orders {
		all = append(all, o.functions(comparefuncs.CompareAs, 1)...)
	}
	padded := func(*types.T) comparefuncs.CompareFunc { return comparefuncs.CompareBpchars }
	all = append(all, bpcharOrder.functions(padded, 0)...)
	all = append(all, crossTypeOrders()...)
	return append(all,
		call.Fn("bttext_pattern_cmp(text,text) int4", compared(comparefuncs.CompareStrs)),
		call.Fn("btbpchar_pattern_cmp(bpchar,bpchar) int4", compared(comparefuncs.CompareBpchars)))
}

// functions declares the functions of an order; larger and smaller return argument tie of two
// that are equal.
func (o order) functions(compare func(*types.T) comparefuncs.CompareFunc, tie int) []*call.Overload {
	args := "(" + o.typ + "," + o.typ + ") "
	all := []*call.Overload{call.FnBind(o.cmp+args+"int4", func(b call.Binding) (call.EvalFunc, error) {
		return compared(compare(b.Types[0])), nil
	})}
	choose := func(name string, sign int) *call.Overload {
		return call.FnBind(name+args+o.typ, func(b call.Binding) (call.EvalFunc, error) {
			cmp := compare(b.Types[0])
			return func(c *call.Context, a []types.Datum) (types.Datum, error) {
				switch r := sign * cmp(c, a[0], a[1]); {
				case r > 0:
					return a[0], nil
				case r < 0:
					return a[1], nil
				}
				return a[tie], nil
			}, nil
		})
	}
	if o.larger != "" {
		all = append(all, choose(o.larger, 1), choose(o.smaller, -1))
	}
	return all
}

// crossTypeOrders declares the comparisons of two types of one operator family.
func crossTypeOrders() []*call.Overload {
	var all []*call.Overload
	add := func(name, left, right string, cmp comparefuncs.CompareFunc) *call.Overload {
		o := call.Fn(name+"("+left+","+right+") int4", compared(cmp))
		all = append(all, o)
		return o
	}
	for _, l := range []string{"2", "4", "8"} {
		for _, r := range []string{"2", "4", "8"} {
			if l != r {
				add("btint"+l+r+"cmp", "int"+l, "int"+r, comparefuncs.CompareInts)
			}
		}
	}
	add("btfloat48cmp", "float4", "float8", comparefuncs.CompareFloats)
	add("btfloat84cmp", "float8", "float4", comparefuncs.CompareFloats)
	add("btnametextcmp", "name", "text", comparefuncs.CompareStrs)
	add("bttextnamecmp", "text", "name", comparefuncs.CompareStrs)
	add("date_cmp_timestamp", "date", "timestamp", comparefuncs.CompareDateTimestamp)
	add("timestamp_cmp_date", "timestamp", "date", comparefuncs.CompareTimestampDate)
	add("date_cmp_timestamptz", "date", "timestamptz", comparefuncs.CompareDateTZ).Stable()
	add("timestamptz_cmp_date", "timestamptz", "date", comparefuncs.CompareTZDate).Stable()
	add("timestamp_cmp_timestamptz", "timestamp", "timestamptz", comparefuncs.CompareTimestampTZ).Stable()
	add("timestamptz_cmp_timestamp", "timestamptz", "timestamp", comparefuncs.CompareTZTimestamp).Stable()
	return all
}

func compared(cmp comparefuncs.CompareFunc) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(cmp(c, a[0], a[1]))), nil
	}
}

// OrdersText reports whether a function compares texts, so that its result depends on their
// collation.
func OrdersText(name string) bool {
	switch name {
	case "bttextcmp", "btnamecmp", "btnametextcmp", "bttextnamecmp", "bpcharcmp", "btarraycmp", "btrecordcmp", "array_larger", "array_smaller",
		"text_larger", "text_smaller", "bpchar_larger", "bpchar_smaller":
		return true
	}
	return false
}
