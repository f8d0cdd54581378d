package builtin

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgregexp"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// randomDatum makes a value of a type, often an extreme one, sometimes NULL.
func randomDatum(r *rand.Rand, t *types.T) types.Datum {
	if r.IntN(12) == 0 {
		return types.Null
	}
	pickOf := func(ns ...int64) int64 { return ns[r.IntN(len(ns))] }
	switch t.Family {
	case types.BoolFamily:
		return types.NewBool(r.IntN(2) == 0)
	case types.IntFamily:
		switch t.Oid {
		case types.Int2.Oid:
			return types.NewInt(pickOf(0, 1, -1, 5, math.MaxInt16, math.MinInt16, int64(int16(r.Uint32()))))
		case types.Int4.Oid:
			return types.NewInt(pickOf(0, 1, -1, 3, 40, math.MaxInt32, math.MinInt32, int64(int32(r.Uint32()))))
		case types.Int8.Oid:
			return types.NewInt(pickOf(0, 1, -1, 7, math.MaxInt64, math.MinInt64, int64(r.Uint64())))
		}
		return types.NewInt(pickOf(0, 1, 23, 1043, math.MaxUint32))
	case types.FloatFamily:
		fs := []float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, -1e18, r.NormFloat64()}
		f := fs[r.IntN(len(fs))]
		if t.Is(types.Float4) {
			f = float64(float32(f))
		}
		return types.NewFloat(f)
	case types.StringFamily:
		return types.NewString(randomText(r))
	case types.BytesFamily:
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return types.NewBytes(string(b))
	case types.ArrayFamily:
		return randomArray(r, t.Elem)
	case types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily, types.TimeTZFamily, types.IntervalFamily:
		return randomTime(r, t)
	}
	return parsedDatum(r, t)
}

func randomText(r *rand.Rand) string {
	words := []string{"", "a", "%", "_", `\`, "abc", "äöü€", "YYYY-MM-DD HH24:MI:SS", "9G999D99S", "FM999.99", "[a-", "(a|b)*", `\1`, "x{3}",
		"year", "month", "UTC", "Europe/Berlin", "hex", "base64", "12:34", "1,2,3", "  ", "'", `"q"`, "%s %I", "%5$L", "%-*s", "select", "\x01",
		"2024-02-30", "-5", "infinity", "gi", "PL9,99MI", "TZH:TZM J", `[[:<:]]`, "*", "a**", "{", "(?i)x", "EEEE", "9.9EEEE", "RN"}
	s := words[r.IntN(len(words))]
	if r.IntN(3) == 0 {
		s += words[r.IntN(len(words))]
	}
	return s
}

func randomArray(r *rand.Rand, elem *types.T) types.Datum {
	elems := make([]types.Datum, r.IntN(5))
	for i := range elems {
		elems[i] = randomDatum(r, elem)
	}
	if len(elems) == 4 && r.IntN(2) == 0 {
		return types.NewArrayDims([]types.ArrayDim{{Len: 2, Lower: int32(r.IntN(5)) - 2}, {Len: 2, Lower: math.MaxInt32 - 2}}, elems)
	}
	return types.NewArray(elems)
}

func randomTime(r *rand.Rand, t *types.T) types.Datum {
	micros := r.Int64N(types.MicrosPerDay + 1)
	ts := []int64{0, types.TimestampInf, types.TimestampNegInf, r.Int64N(8e17), -r.Int64N(2e17), 9223371331199999999, -211813488000000000}
	switch t.Family {
	case types.DateFamily:
		days := []int64{0, types.DateInf, types.DateNegInf, r.Int64N(1e5), -2451545, 2145031948}
		return types.NewDate(days[r.IntN(len(days))])
	case types.TimeFamily:
		return types.NewTime(micros)
	case types.TimeTZFamily:
		return types.NewTimeTZ(micros, int32(r.IntN(100000)-50000))
	case types.TimestampFamily:
		return types.NewTimestamp(ts[r.IntN(len(ts))])
	case types.TimestampTZFamily:
		return types.NewTimestampTZ(ts[r.IntN(len(ts))])
	}
	small := types.IntervalValue{Months: int32(r.IntN(30) - 15), Days: int32(r.IntN(90) - 45), Micros: r.Int64N(1e12) - 5e11}
	ivs := []types.IntervalValue{{}, {Months: math.MaxInt32}, {Days: math.MinInt32}, {Micros: math.MaxInt64}, {Micros: math.MinInt64},
		{Months: math.MinInt32, Days: math.MinInt32, Micros: math.MinInt64}, small, small}
	return types.NewInterval(ivs[r.IntN(len(ivs))])
}

// parsedDatum makes values of the remaining types from text.
func parsedDatum(r *rand.Rand, t *types.T) types.Datum {
	var texts []string
	switch t.Family {
	case types.DecimalFamily:
		texts = []string{"0", "1", "-1.50", "NaN", "Infinity", "-Infinity", "1e-20", "123456789012345678901234567890.5", "-9223372036854775808",
			"0.9999999999", "1e200", "-1e-200", "3", "0.000", "99.95"}
	case types.UUIDFamily:
		texts = []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}
	case types.JSONFamily:
		texts = []string{`{"a": [1, {"b": null}], "c": "x"}`, `[1, 2, "a"]`, `"s"`, "null", "1.5"}
	case types.InetFamily:
		texts = []string{"10.0.0.1/8", "::1", "0.0.0.0/0", "255.255.255.255"}
		if t.Is(types.CIDR) {
			texts = []string{"10.0.0.0/8", "::/0", "10.1.2.3"}
		}
	case types.MACFamily:
		texts = []string{"08:00:2b:01:02:03", "ffffffffffff"}
	case types.BitFamily:
		texts = []string{"", "1", "10110", "000000001"}
	case types.RangeFamily, types.MultirangeFamily:
		return randomRange(r, t)
	case types.TSVectorFamily:
		texts = []string{"", "a b:1,2A", "'x y':3"}
	case types.TSQueryFamily:
		texts = []string{"", "a & !b", "a <-> b | c:*"}
	case types.JSONPathFamily:
		texts = []string{"$", "strict $.a[*] ? (@ > 1)", "$[last] + 1", "$.**.size()", "$.keyvalue().datetime()"}
	case types.OpaqueFamily:
		texts = []string{"10:20:10,14", "1:1:"}
		if t.Is(types.ACLItem) {
			texts = []string{"=r/10", "17=ar*A/4294967295"}
		}
		switch t.Name {
		case "lquery":
			texts = []string{"*", "a.*{1,}.!b|c@*", "a{0}"}
		case "ltxtquery":
			texts = []string{"a", "a & !(b@ | c*)"}
		case "query_int":
			texts = []string{"1", "1 & !(2 | -3)"}
		}
	case types.LabelFamily:
		texts = []string{"", "a", "a.b.c", "A_1.é"}
	case types.CitextFamily:
		texts = []string{"", "a", "Ab%", "É(", "a.b", "\\"}
	case types.HstoreFamily:
		texts = []string{"", "a=>1", "a=>NULL, b=>\"x y\"", "\"\"=>t"}
	case types.GeometryFamily:
		texts = shapeTexts[t.Name]
	case types.VoidFamily, types.RecordFamily, types.AnyFamily, types.EnumFamily:
		return types.Null
	}
	d, err := typeio.ParseText(t, texts[r.IntN(len(texts))], nil)
	if err != nil {
		panic(err)
	}
	return d
}

var shapeTexts = map[string][]string{
	"point":   {"(0,0)", "(1,2)", "(NaN,-Infinity)", "(1e300,-1e-300)"},
	"lseg":    {"[(0,0),(1,1)]", "[(1,1),(1,1)]", "[(NaN,0),(Infinity,1e300)]"},
	"line":    {"{1,-1,0}", "{0,1,2}", "{NaN,Infinity,1e-300}"},
	"box":     {"(0,0),(2,2)", "(1,1),(1,1)", "(NaN,-Infinity),(1e300,0)"},
	"path":    {"((0,0))", "[(0,0),(1,1),(2,0)]", "((0,0),(1,1),(2,0))", "[(NaN,1),(1e300,-1e300)]"},
	"polygon": {"((0,0))", "((0,0),(1,1),(2,0))", "((0,0),(4,0),(4,4),(0,4))", "((NaN,1),(1e300,-1e300),(Infinity,0))"},
	"circle":  {"<(0,0),1>", "<(1,1),0>", "<(NaN,Infinity),1e300>"},
}

func randomRange(r *rand.Rand, t *types.T) types.Datum {
	sub := t.Sub
	if t.Family == types.MultirangeFamily {
		sub = t.Sub.Sub
	}
	texts := []string{"empty", "[1,5)", "(,)", "(2,7]", "[3,)"}
	if sub.Family != types.IntFamily && sub.Family != types.DecimalFamily {
		texts = []string{"empty", "[2020-01-01,2021-01-01)", "(,)", "(2020-06-01,)"}
	}
	s := texts[r.IntN(len(texts))]
	if t.Family == types.MultirangeFamily {
		s = "{" + s + "," + texts[r.IntN(len(texts))] + "}"
	}
	d, err := typeio.ParseText(t, s, nil)
	if err != nil {
		panic(err)
	}
	return d
}

// concreteTypes fits the polymorphic parts of a signature to an element type.
func concreteTypes(o *call.Overload, elem *types.T) []*types.T {
	arr, _ := types.ArrayOf(elem)
	var ts []*types.T
	for _, a := range o.Args {
		switch _, array := coerce.PolyKind(a); {
		case a.Oid == types.AnyRange.Oid:
			a = types.Int4Range
		case a.Oid == types.AnyMultirange.Oid:
			a = types.Int4Multirange
		case a.Oid == types.AnyEnum.Oid:
		case array:
			a = arr
		case coerce.IsPseudo(a):
			a = elem
		}
		ts = append(ts, a)
	}
	return ts
}

// callMemory is what a call may take: the largest values of some are a gigabyte.
const callMemory = 64 << 20

// TestNoPanics calls everything with all kinds of values of the declared types.
func TestNoPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := testContext(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that sleeping ends at once
	c.Ctx = ctx
	c.Session = newFakeSession()
	elems := []*types.T{types.Int4, types.Text, types.Float8, types.Date, types.Numeric}
	const rounds = 60
	for _, o := range everything() {
		for i := 0; i < rounds; i++ {
			ts := concreteTypes(o, elems[i%len(elems)])
			args := make([]types.Datum, len(ts))
			for j := range args {
				args[j] = randomDatum(r, ts[j])
			}
			c.Values = quota.NewValues(quota.NewPool("call", callMemory))
			callSafely(t, c, o, ts, args)
		}
	}
	for _, a := range AllAggregates() {
		ts := concreteTypes(&a.Overload, types.Numeric)
		acc := a.New(ts)
		for i := 0; i < rounds; i++ {
			args := make([]types.Datum, len(ts))
			for j := range args {
				args[j] = randomDatum(r, ts[j])
			}
			if acc.Add(c, args) != nil {
				acc.Reset()
			}
			if _, err := acc.Result(c); err != nil {
				acc.Reset()
			}
		}
	}
}

func callSafely(t *testing.T, c *call.Context, o *call.Overload, ts []*types.T, args []types.Datum) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s of %v: panic: %v", o, args, p)
		}
	}()
	params, ret, err := o.Signature(ts)
	if err != nil {
		return
	}
	if o.IsSRF() {
		for i := range args {
			if o.Strict && args[i].IsNull() {
				return
			}
		}
		f, err := o.BoundSRF(call.Binding{Types: params})
		if err != nil {
			return
		}
		rows, err := f(c, args)
		for i := 0; err == nil && i < 10; i++ {
			var ok bool
			if _, ok, err = rows.Next(); !ok {
				break
			}
		}
		return
	}
	d, err := o.Call(c, params, args)
	if err != nil || d.IsNull() {
		return
	}
	if want := ret.Family; d.Family() != want {
		t.Errorf("%s of %v: result of family %d, want %d", o, args, d.Family(), want)
	}
	if ret.Family != types.VoidFamily {
		typeio.FormatDatum(ret, d, c.Format) // the result must be well formed
	}
}

// TestNoAllocation covers invariant 3.
func TestNoAllocation(t *testing.T) {
	c := testContext(t)
	check := func(name string, ts []*types.T, args ...types.Datum) {
		t.Helper()
		o, err := ResolveOperator(name, ts)
		if err != nil {
			t.Fatal(err)
		}
		f, err := o.Bound(call.Binding{Types: ts})
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = f(c, args) }); n != 0 {
			t.Errorf("%s: %v allocations", o, n)
		}
	}
	i4, i8, f8, tx, num := types.Int4, types.Int8, types.Float8, types.Text, types.Numeric
	one, two := types.NewInt(1), types.NewInt(2)
	for _, op := range []string{"+", "-", "*", "/", "%", "=", "<", ">=", "<>"} {
		check(op, []*types.T{i4, i4}, one, two)
		check(op, []*types.T{i8, i8}, one, two)
	}
	check("/", []*types.T{f8, f8}, types.NewFloat(1.5), types.NewFloat(2.5))
	for _, op := range []string{"+", "-", "*", "=", "<"} {
		check(op, []*types.T{f8, f8}, types.NewFloat(1.5), types.NewFloat(2.5))
		check(op, []*types.T{num, num}, types.NewDecimalInt(150, 2), types.NewDecimalInt(25, 1))
	}
	check("=", []*types.T{tx, tx}, types.NewString("abc"), types.NewString("abd"))
	check("~~", []*types.T{tx, tx}, types.NewString("abc"), types.NewString("a%"))
	check("<", []*types.T{types.Timestamp, types.Timestamp}, types.NewTimestamp(1), types.NewTimestamp(2))
	for _, name := range []string{"sum", "avg", "min", "max", "count"} {
		for _, tc := range []struct {
			t *types.T
			d types.Datum
		}{{i4, one}, {i8, two}, {f8, types.NewFloat(1)}, {num, types.NewDecimalInt(15, 1)}} {
			a, err := ResolveAggregate(name, []*types.T{tc.t})
			if err != nil {
				t.Fatal(err)
			}
			acc, args := a.New([]*types.T{tc.t}), []types.Datum{tc.d}
			_ = acc.Add(c, args)
			if n := testing.AllocsPerRun(100, func() { _ = acc.Add(c, args) }); n != 0 {
				t.Errorf("%s: %v allocations", a, n)
			}
		}
	}
}

// FuzzPatterns gives the functions with a language of their own any text: it
// must be refused or taken, and LIKE must agree with its compiled form.
func FuzzPatterns(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 50; i++ {
		f.Add(randomText(r), randomText(r))
	}
	f.Add("2024-05-17", "YYYY-MM-DD")
	f.Add("12,454.8-", "99G999D9S")
	f.Fuzz(func(t *testing.T, s, pattern string) {
		if len(s) > 200 || len(pattern) > 200 {
			return
		}
		var c call.Context
		a, b := types.NewString(s), types.NewString(pattern)
		two := []*types.T{types.Text, types.Text}
		like, err := ResolveOperator("~~", two)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := like.Bound(call.Binding{Types: two, Consts: []*types.Datum{nil, &b}})
		if err == nil {
			want, wantErr := like.Call(&c, two, []types.Datum{a, b})
			if got, err := compiled(&c, []types.Datum{a, b}); err == nil && wantErr == nil && got.Bool() != want.Bool() {
				t.Errorf("%q LIKE %q: %v %v, compiled %v %v", s, pattern, want, wantErr, got, err)
			}
		}
		if re, err := pgregexp.Compile(pattern, pgregexp.Flags{}); err == nil {
			n := 0
			_ = re.Each(&call.Context{}, s, 0, func([]int) bool { n++; return n < 1000 })
		}
		for _, tc := range []struct {
			name string
			args []types.Datum
			ts   []*types.T
		}{
			{"to_date", []types.Datum{a, b}, two}, {"to_timestamp", []types.Datum{a, b}, two}, {"to_number", []types.Datum{a, b}, two},
			{"like_escape", []types.Datum{a, b}, two}, {"similar_to_escape", []types.Datum{b, a}, two}, {"similar_to_escape", []types.Datum{b}, two[:1]},
			{"to_char", []types.Datum{types.NewDecimalInt(-12345, 2), b}, []*types.T{types.Numeric, types.Text}},
			{"to_char", []types.Datum{types.NewFloat(1e10), b}, []*types.T{types.Float4, types.Text}},
			{"to_char", []types.Datum{types.NewTimestamp(1), b}, []*types.T{types.Timestamp, types.Text}},
			{"parse_ident", []types.Datum{a, types.True}, []*types.T{types.Text, types.Bool}}, {"unistr", []types.Datum{a}, two[:1]},
		} {
			o, err := ResolveFunction(tc.name, tc.ts)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = o.Call(&c, tc.ts, tc.args)
		}
	})
}

// everything returns the functions and operators of the system and of all extensions.
func everything() []*call.Overload {
	list := slices.Clone(All())
	for _, x := range builtins().extensions {
		list = append(list, x...)
	}
	return slices.DeleteFunc(list, func(o *call.Overload) bool { return o.Agg != nil })
}
