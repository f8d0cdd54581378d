package typetest_test

import (
	"bytes"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func genDecimal(t *rapid.T) types.Datum {
	switch rapid.IntRange(0, 9).Draw(t, "form") {
	case 0:
		return []types.Datum{types.DecimalNaN, types.DecimalInf, types.DecimalNegInf}[rapid.IntRange(0, 2).Draw(t, "special")]
	case 1, 2, 3:
		b := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "coeff"))
		var c apd.BigInt
		c.SetMathBigInt(b)
		return types.NewDecimalBig(&c, b.Sign() != 0 && rapid.Bool().Draw(t, "neg"), int32(rapid.IntRange(0, 60).Draw(t, "scale")))
	case 4: // values that differ in scale only
		n := rapid.Int64Range(-3, 3).Draw(t, "n")
		k := rapid.IntRange(0, 6).Draw(t, "zeros")
		return types.NewDecimalInt(n*int64(math.Pow10(k)), int32(k+rapid.IntRange(0, 1).Draw(t, "extra")))
	}
	return types.NewDecimalInt(rapid.Int64().Draw(t, "n"), int32(rapid.IntRange(0, 30).Draw(t, "scale")))
}

func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOf(rapid.RuneFrom([]rune(`ab "\{},é()' `))),
		rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })),
	)
}

func genJSON(t *rapid.T, depth int) types.JSONValue {
	top := 5
	if depth > 2 {
		top = 3
	}
	v := types.JSONValue{Kind: types.JSONKind(rapid.IntRange(0, top).Draw(t, "kind"))}
	switch v.Kind {
	case types.KindString:
		v.Str = genText().Draw(t, "str")
	case types.KindNumber:
		v.Num = genDecimal(t)
		if v.Num.IsNaN() || v.Num.IsInf() {
			v.Num = types.NewDecimalInt(7, 1)
		}
	case types.KindBool:
		v.Bool = rapid.Bool().Draw(t, "bool")
	case types.KindArray:
		for range rapid.IntRange(0, 3).Draw(t, "elems") {
			v.Elems.Append(genJSON(t, depth+1))
		}
	case types.KindObject:
		var fields []*types.JSONField
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			fields = append(fields, &types.JSONField{Key: genText().Draw(t, "key"), Value: genJSON(t, depth+1)})
		}
		v = types.NewJSONObject(fields, nil)
	}
	return v
}

func genArray(t *rapid.T, typ *types.T) types.Datum {
	dims := make([]types.ArrayDim, rapid.IntRange(0, 3).Draw(t, "dims"))
	for i := range dims {
		dims[i] = types.ArrayDim{Len: int32(rapid.IntRange(1, 3).Draw(t, "len")), Lower: int32(rapid.IntRange(-1, 2).Draw(t, "lower"))}
	}
	if types.IsVector(typ) {
		dims = []types.ArrayDim{{Len: int32(rapid.IntRange(0, 4).Draw(t, "len")), Lower: 0}}
	}
	n := min(len(dims), 1)
	for _, d := range dims {
		n *= int(d.Len)
	}
	elems := make([]types.Datum, n)
	for i := range elems {
		if types.IsVector(typ) || rapid.IntRange(0, 4).Draw(t, "null") > 0 {
			elems[i] = genDatum(t, typ.Elem)
		}
	}
	return types.NewArrayDims(dims, elems)
}

func genInstant(t *rapid.T, lo, hi, neg, pos int64) int64 {
	switch rapid.IntRange(0, 9).Draw(t, "instant") {
	case 0:
		return neg
	case 1:
		return pos
	case 2:
		return rapid.SampledFrom([]int64{lo, hi - 1}).Draw(t, "extreme")
	case 3, 4, 5:
		return rapid.Int64Range(lo/200, hi/200).Draw(t, "near")
	}
	return rapid.Int64Range(lo, hi-1).Draw(t, "far")
}

// genDatum draws a value of any type with text and binary input.
func genDatum(t *rapid.T, typ *types.T) types.Datum {
	switch typ.Family {
	case types.BoolFamily:
		return types.NewBool(rapid.Bool().Draw(t, "bool"))
	case types.IntFamily:
		lo, hi := typeio.IntBounds(typ)
		return types.NewInt(rapid.Int64Range(lo, hi).Draw(t, "int"))
	case types.FloatFamily:
		if typ.Oid == types.Float4.Oid {
			return types.NewFloat(float64(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0,
				float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), 1e-4, 1e6})).Draw(t, "float4")))
		}
		return types.NewFloat(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0,
			math.Copysign(0, -1), math.NaN(), math.Inf(-1), 1e15, 1e-4, 1e-5})).Draw(t, "float8"))
	case types.DecimalFamily:
		return genDecimal(t)
	case types.StringFamily:
		s := genText().Draw(t, "text")
		switch typ.Oid {
		case types.Char.Oid:
			return types.NewString(typeio.CharByte(s))
		case types.Name.Oid:
			return types.NewString(types.TruncateName(s))
		}
		return types.NewString(s)
	case types.BytesFamily:
		return types.NewBytes(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
	case types.CitextFamily:
		return types.NewCitext(rapid.StringOf(rapid.RuneFrom([]rune("aAbBéÉßI İk"))).Draw(t, "citext"))
	case types.HstoreFamily:
		return genHstore(t)
	case types.LabelFamily:
		return types.NewLabels(rapid.StringMatching(`([ab_é9]{1,3}(\.[AB]){0,3})?`).Draw(t, "ltree"))
	case types.UUIDFamily:
		return types.NewUUID(string(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")))
	case types.JSONFamily:
		return types.NewJSONB(genJSON(t, 0), nil)
	case types.ArrayFamily:
		return genArray(t, typ)
	case types.DateFamily:
		return types.NewDate(genInstant(t, types.MinDate, types.EndDate, types.DateNegInf, types.DateInf))
	case types.TimeFamily:
		return types.NewTime(rapid.Int64Range(0, types.MicrosPerDay).Draw(t, "time"))
	case types.TimeTZFamily:
		return types.NewTimeTZ(rapid.Int64Range(0, types.MicrosPerDay).Draw(t, "time"),
			rapid.Int32Range(1-typeio.MaxZoneOffset, typeio.MaxZoneOffset-1).Draw(t, "zone"))
	case types.IntervalFamily:
		return types.NewInterval(genInterval(t))
	}
	if texts := sampleTexts(typ); texts != nil {
		d, err := typeio.ParseText(typ, rapid.SampledFrom(texts).Draw(t, "text"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return types.NewTimestampOf(typ.Family, genInstant(t, types.MinTimestamp, types.EndTimestamp, types.TimestampNegInf, types.TimestampInf))
}

// genInterval leaves out the least int32: its text, "2147483648 days ago", does
// not read back, in PostgreSQL either.
func genInterval(t *rapid.T) types.IntervalValue {
	return types.IntervalValue{
		Months: rapid.OneOf(rapid.Int32Range(-30, 30), rapid.Int32Min(-1<<31+1)).Draw(t, "months"),
		Days:   rapid.OneOf(rapid.Int32Range(-3, 3), rapid.Int32Min(-1<<31+1)).Draw(t, "days"),
		Micros: rapid.OneOf(rapid.Int64Range(-3e6, 3e6), rapid.Int64Range(-1<<62, 1<<62)).Draw(t, "micros"),
	}
}

// sampleTexts are values of types that have no generator.
func sampleTexts(typ *types.T) []string {
	switch typ.Oid {
	case types.Regconfig.Oid:
		return []string{"simple", "english"}
	case types.Int4Range.Oid, types.Int8Range.Oid, types.NumRange.Oid:
		return []string{"empty", "[1,5)", "(,)", "[-3,7]", "(2,)", "[1,1]", "(,10]"}
	case types.DateRange.Oid, types.TSRange.Oid, types.TSTZRange.Oid:
		return []string{"empty", "[2020-01-01,2021-01-01)", "(,)", "[2020-01-01,infinity)", "[2020-01-01,2020-01-01]"}
	case types.Int4Multirange.Oid, types.Int8Multirange.Oid, types.NumMultirange.Oid:
		return []string{"{}", "{[1,5),[7,9)}", "{(,)}", "{[1,2],[3,4]}"}
	case types.DateMultirange.Oid, types.TSMultirange.Oid, types.TSTZMultirange.Oid:
		return []string{"{}", "{[2020-01-01,2021-01-01),[2022-01-01,)}"}
	case types.PgSnapshot.Oid, types.TxidSnapshot.Oid:
		return []string{"1:1:", "10:20:10,14,15", "5:9223372036854775807:6"}
	case types.ACLItem.Oid:
		return []string{"=/10", "=r/10", "17=ar*wdDxtXUCTcsA*/4294967295"}
	case types.Refcursor.Oid:
		return []string{"", "c", "a b"}
	case types.CIDR.Oid:
		return []string{"10.0.0.0/8", "10", "192.168.1", "::/0", "2001:db8::/32", "10.0.0.0/16"}
	case types.Point.Oid:
		return []string{"(0,0)", "1.5,-2", "(NaN,-Infinity)", "(1e300,-0)"}
	case types.LSeg.Oid:
		return []string{"[(0,0),(1,1)]", "((1,2),(1,2))"}
	case types.Line.Oid:
		return []string{"{1,-1,0}", "[(0,0),(1,2)]"}
	case types.Box.Oid:
		return []string{"(0,0),(2,2)", "((NaN,3),(1,-Infinity))"}
	case types.Path.Oid:
		return []string{"((0,0))", "[(0,0),(1,1),(2,0)]", "((0,0),(1,1),(2,0))"}
	case types.Polygon.Oid:
		return []string{"((0,0))", "((0,0),(1,1),(2,0))"}
	case types.Lquery.Oid:
		return []string{"*", "a.b|c@*.!d%{1,}", "*{,3}.a{0}"}
	case types.Ltxtquery.Oid:
		return []string{"a", "a & !( b@ | c* )", "( a | b ) | c"}
	case types.QueryInt.Oid:
		return []string{"1", "1 & !( 2 | -3 )", "( 1 | 2 ) | 3"}
	case types.Circle.Oid:
		return []string{"<(0,0),1>", "<(NaN,1e-300),Infinity>"}
	}
	switch typ.Family {
	case types.InetFamily:
		return []string{"10.0.0.1/8", "10.0.0.1", "192.168.1.5/24", "::1", "2001:db8::1/32", "::ffff:1.2.3.4", "10.0.0.2/16"}
	case types.MACFamily:
		return []string{"08:00:2b:01:02:03", "08-00-2b-01-02-04", "0800.2b01.0203", "ffffffffffff"}
	case types.BitFamily:
		return []string{"", "0", "1", "10", "101", "10000000", "100000000", "X1F"}
	case types.TSVectorFamily:
		return []string{"", "a", "a:1 b:2A,3", "'x y' z"}
	case types.TSQueryFamily:
		return []string{"", "a", "a & b | !c", "a <-> b <2> (c <-> d:*A)"}
	case types.JSONPathFamily:
		return []string{"$", "strict $.a[*] ? (@.b > 1.50)", "($.a + 1) * 2"}
	}
	return nil
}

func genHstore(t *rapid.T) types.Datum {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aB\"\\=,> ")), 0, 3, -1)
	var pairs []hstore.Pair
	for range rapid.IntRange(0, 3).Draw(t, "pairs") {
		p := hstore.Pair{Key: text.Draw(t, "key"), Null: rapid.Bool().Draw(t, "null")}
		if !p.Null {
			p.Value = text.Draw(t, "value")
		}
		pairs = append(pairs, p)
	}
	s, err := hstore.Build(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return types.NewHstore(s)
}

// inputTypes are the types that can be read from text and binary.
func inputTypes() []*types.T {
	var ts []*types.T
	for _, t := range append(types.All(), types.OfExtension("")...) {
		e := t
		if t.Elem != nil {
			e = t.Elem
		}
		switch e.Family {
		case types.AnyFamily, types.RecordFamily, types.VoidFamily:
			continue
		}
		if t == types.PgNodeTree { // no input
			continue
		}
		ts = append(ts, t)
	}
	return ts
}

var formatZones = []string{"UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"}

func genFormat(t *rapid.T, typ *types.T) *types.FormatContext {
	fc := types.NewFormatContext()
	zone := rapid.SampledFrom(formatZones).Draw(t, "zone")
	fc.TimeZone, _ = time.LoadLocation(zone)
	fc.DateStyle.Order = types.DateOrder(rapid.IntRange(0, 2).Draw(t, "order"))
	fc.IntervalStyle = types.IntervalStyle(rapid.IntRange(0, 3).Draw(t, "intervalstyle"))
	fc.ByteaOutput = types.ByteaOutput(rapid.IntRange(0, 1).Draw(t, "bytea"))
	// Other styles print zone abbreviations, which are ambiguous, and with YMD
	// an order they do not read; PostgreSQL does not read those back either.
	if zone == "UTC" && fc.DateStyle.Order != types.OrderYMD {
		fc.DateStyle.Format = types.DateFormat(rapid.IntRange(0, 2).Draw(t, "format"))
	}
	return fc
}

// same reports whether two values are the same, not only equal: scale, zone
// and shape count.
func same(a, b types.Datum) bool {
	return bytes.Equal(types.AppendEncoded(nil, a), types.AppendEncoded(nil, b)) || a.IsNaN() && b.IsNaN()
}

// lossless reports whether typ's text form keeps the value in every detail.
func lossless(typ *types.T, fc *types.FormatContext) bool {
	e := typ
	if typ.Elem != nil {
		e = typ.Elem
	}
	return e.Family != types.FloatFamily
}

func TestRoundTrip(t *testing.T) {
	for _, typ := range inputTypes() {
		t.Run(typ.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := genDatum(t, typ)
				fc := genFormat(t, typ)
				checkRoundTrip(t, typ, d, fc)
			})
		})
	}
}

func checkRoundTrip(t *rapid.T, typ *types.T, d types.Datum, fc *types.FormatContext) {
	text := string(typeio.AppendText(nil, typ, d, fc))
	back, err := typeio.ParseText(typ, text, fc)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if types.CompareTyped(typ, d, back, nil) != 0 || lossless(typ, fc) && !same(d, back) {
		t.Fatalf("%q read back as %q", text, typeio.AppendText(nil, typ, back, fc))
	}
	bin := typeio.AppendBinary(nil, typ, d, nil)
	back, err = typeio.ParseBinary(typ, bin, nil)
	if err != nil {
		t.Fatalf("%x: %v", bin, err)
	}
	if !same(d, back) && lossless(typ, fc) {
		t.Fatalf("%q: binary %x read back as %q", text, bin, typeio.AppendText(nil, typ, back, fc))
	}
	enc := types.AppendEncoded(nil, d)
	back, rest, err := types.DecodeEncoded(string(enc) + "x")
	if err != nil || rest != "x" || !same(d, back) {
		t.Fatalf("%q: encoded %x read back as %q, %q, %v", text, enc, typeio.AppendText(nil, typ, back, fc), rest, err)
	}
}

func TestCompareAndHash(t *testing.T) {
	for _, typ := range inputTypes() {
		t.Run(typ.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ds := []types.Datum{genDatum(t, typ), genDatum(t, typ), genDatum(t, typ), types.Null}
				for _, a := range ds {
					for _, b := range ds {
						checkPair(t, typ, a, b)
						for _, c := range ds {
							if types.CompareTyped(typ, a, b, nil) <= 0 && types.CompareTyped(typ, b, c, nil) <= 0 && types.CompareTyped(typ, a, c, nil) > 0 {
								t.Fatalf("not transitive: %v %v %v", a, b, c)
							}
						}
					}
				}
			})
		})
	}
}

func checkPair(t *rapid.T, typ *types.T, a, b types.Datum) {
	c := types.CompareTyped(typ, a, b, nil)
	if c != -types.CompareTyped(typ, b, a, nil) {
		t.Fatalf("not antisymmetric: %v %v", a, b)
	}
	ka, kb := types.AppendHashKeyTyped(nil, typ, a, nil), types.AppendHashKeyTyped(nil, typ, b, nil)
	if bytes.Equal(ka, kb) != (c == 0) {
		t.Fatalf("comparison %d, hash keys %x %x", c, ka, kb)
	}
}

// TestDecimalAgainstApd checks the fast paths of decimals against apd.
func TestDecimalAgainstApd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDecimal(t), genDecimal(t)
		if a.IsNaN() || b.IsNaN() || a.IsInf() || b.IsInf() {
			return
		}
		var x, y apd.Decimal
		a.Decimal(&x)
		b.Decimal(&y)
		if got, want := types.Compare(a, b), x.Cmp(&y); got != want {
			t.Fatalf("%v %v: %d, want %d", &x, &y, got, want)
		}
		if !same(types.NewDecimal(&x), a) {
			t.Fatalf("%v does not survive NewDecimal", &x)
		}
		scale := int32(rapid.IntRange(0, 40).Draw(t, "round"))
		ctx := apd.BaseContext.WithPrecision(2000)
		ctx.Rounding = apd.RoundHalfUp
		var want, got apd.Decimal
		if _, err := ctx.Quantize(&want, &x, -scale); err != nil {
			t.Fatal(err)
		}
		types.RoundDecimal(a, scale).Decimal(&got)
		if got.Cmp(&want) != 0 || got.Exponent != -scale {
			t.Fatalf("%v rounded to %d: %v, want %v", &x, scale, &got, &want)
		}
	})
}

// TestCivilAgainstTime checks the calendar against package time.
func TestCivilAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(types.MinDate, types.EndTimestamp/types.MicrosPerDay-1).Draw(t, "days")
		g := types.TimeFromMicros(days * types.MicrosPerDay)
		y, m, d := datetime.CivilFromDays(days)
		if y != g.Year() || m != int(g.Month()) || d != g.Day() {
			t.Fatalf("%d: %d-%d-%d, want %v", days, y, m, d, g)
		}
		if back := datetime.DaysFromCivil(y, m, d); back != days {
			t.Fatalf("%d-%d-%d: %d, want %d", y, m, d, back, days)
		}
		if datetime.DayOfWeek(days) != int(g.Weekday()) || datetime.DayOfYear(y, m, d) != g.YearDay() {
			t.Fatalf("weekday %d or day of year %d of %v", datetime.DayOfWeek(days), datetime.DayOfYear(y, m, d), g)
		}
		wy, w := datetime.ISOWeek(days)
		gy, gw := g.ISOWeek()
		if wy != gy || w != gw {
			t.Fatalf("week %d-%d, want %d-%d", wy, w, gy, gw)
		}
		if monday := datetime.DaysFromISOWeek(wy, w); monday > days || days-monday > 6 {
			t.Fatalf("week %d-%d starts %d, day %d", wy, w, monday, days)
		}
	})
}
