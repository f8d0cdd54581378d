package encoding

import (
	"bytes"
	"cmp"
	"math"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"
)

// codec is one ordered encoding with what it promises.
type codec[T any] struct {
	gen       *rapid.Generator[T]
	compare   func(a, b T) int
	asc, desc func(dst []byte, v T) []byte
	dec, decD func(b []byte) (T, []byte, error)
}

// checkCodec tests order, round trip and concatenation (invariant 1).
func checkCodec[T any](t *testing.T, name string, c codec[T]) {
	t.Run(name, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			a, b := c.gen.Draw(t, "a"), c.gen.Draw(t, "b")
			tail := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "tail")
			ea, eb := c.asc([]byte("p"), a), c.asc([]byte("p"), b)
			da, db := c.desc([]byte("p"), a), c.desc([]byte("p"), b)
			want := c.compare(a, b)
			if got := bytes.Compare(ea, eb); got != want {
				t.Fatalf("ascending: %v ? %v is %d, the bytes %x ? %x say %d", a, b, want, ea, eb, got)
			}
			if got := bytes.Compare(da, db); got != -want {
				t.Fatalf("descending: %v ? %v is %d, the bytes %x ? %x say %d", a, b, want, da, db, got)
			}
			if want != 0 && (bytes.HasPrefix(ea, eb) || bytes.HasPrefix(da, db)) {
				t.Fatalf("%x begins with %x", ea, eb)
			}
			for i, dec := range []func([]byte) (T, []byte, error){c.dec, c.decD} {
				e := [][]byte{ea, da}[i]
				v, rest, err := dec(append(bytes.Clone(e[1:]), tail...))
				if err != nil || !bytes.Equal(rest, tail) || c.compare(v, a) != 0 {
					t.Fatalf("%v became %v, rest %x, %v", a, v, rest, err)
				}
				for cut := range len(e) - 1 {
					if _, _, err := dec(e[1 : 1+cut]); err == nil {
						t.Fatalf("%x cut to %d bytes was accepted", e[1:], cut)
					}
				}
			}
		})
	})
}

var edgeInts = []int64{
	0, 1, -1, 111, 112, 113, 127, 128, 239, 240, 255, 256, -255, -256, -257, -128, 65535, 65536, -65536, -65537,
	math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1,
}

var intGen = rapid.OneOf(rapid.SampledFrom(edgeInts), rapid.Int64(), rapid.Int64Range(-300, 300))

func TestOrder(t *testing.T) {
	checkCodec(t, "varint", codec[int64]{
		gen: intGen, compare: cmp.Compare[int64],
		asc: AppendVarintOrdered, desc: AppendVarintDesc, dec: DecodeVarintOrdered, decD: DecodeVarintDesc,
	})
	checkCodec(t, "uvarint", codec[uint64]{
		gen:     rapid.Map(intGen, func(v int64) uint64 { return uint64(v) }),
		compare: cmp.Compare[uint64],
		asc:     AppendUvarintOrdered, desc: AppendUvarintDesc, dec: DecodeUvarintOrdered, decD: DecodeUvarintDesc,
	})
	checkCodec(t, "float", codec[float64]{
		gen: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
			math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1, -1,
		})),
		compare: compareFloat,
		asc:     AppendFloat, desc: AppendFloatDesc, dec: DecodeFloat, decD: DecodeFloatDesc,
	})
	checkCodec(t, "bool", codec[bool]{
		gen: rapid.Bool(),
		compare: func(a, b bool) int {
			return cmp.Compare(AppendBool(nil, a)[0], AppendBool(nil, b)[0])
		},
		asc: AppendBool, desc: AppendBoolDesc, dec: DecodeBool, decD: DecodeBoolDesc,
	})
	checkCodec(t, "uuid", codec[[16]byte]{
		gen: rapid.Custom(func(t *rapid.T) (v [16]byte) {
			copy(v[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
			return v
		}),
		compare: func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) },
		asc:     AppendUUID, desc: AppendUUIDDesc, dec: DecodeUUID, decD: DecodeUUIDDesc,
	})
}

func TestOrderOfStrings(t *testing.T) {
	bytesGen := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 0xfe, 0xff}), 0, 6)
	checkCodec(t, "bytes", codec[[]byte]{
		gen: bytesGen, compare: bytes.Compare, asc: AppendBytes, desc: AppendBytesDesc,
		dec:  func(b []byte) ([]byte, []byte, error) { return DecodeBytes(b, nil) },
		decD: func(b []byte) ([]byte, []byte, error) { return DecodeBytesDesc(b, []byte("before")) },
	})
	checkCodec(t, "string", codec[string]{
		gen:     rapid.Map(bytesGen, func(b []byte) string { return string(b) }),
		compare: cmp.Compare[string],
		asc:     AppendString, desc: AppendStringDesc,
		dec: func(b []byte) (string, []byte, error) {
			v, rest, err := DecodeBytes(b, nil)
			return string(v), rest, err
		},
		decD: func(b []byte) (string, []byte, error) {
			v, rest, err := DecodeBytesDesc(b, nil)
			return string(v), rest, err
		},
	})
	rapid.Check(t, func(t *rapid.T) {
		v := bytesGen.Draw(t, "v")
		rest, err := SkipBytes(append(AppendBytes(nil, v), 'x'))
		restD, errD := SkipBytesDesc(append(AppendBytesDesc(nil, v), 'x'))
		if err != nil || errD != nil || string(rest) != "x" || string(restD) != "x" {
			t.Fatalf("skip of %x: %x %x %v %v", v, rest, restD, err, errD)
		}
	})
}

func compareFloat(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	default:
		return cmp.Compare(a, b)
	}
}

var decimalGen = rapid.Custom(func(t *rapid.T) *apd.Decimal {
	switch rapid.IntRange(0, 12).Draw(t, "special") {
	case 0:
		return &apd.Decimal{Form: apd.NaN}
	case 1:
		return &apd.Decimal{Form: apd.Infinite}
	case 2:
		return &apd.Decimal{Form: apd.Infinite, Negative: true}
	}
	digits := rapid.StringMatching(`[0-9]{1,30}`).Draw(t, "digits")
	if rapid.Bool().Draw(t, "short") {
		digits = digits[:1]
	}
	d, _, err := apd.NewFromString(digits)
	if err != nil {
		t.Fatal(err)
	}
	d.Exponent = rapid.Int32Range(-40, 40).Draw(t, "exponent")
	d.Negative = rapid.Bool().Draw(t, "negative") && d.Coeff.Sign() != 0
	return d
})

// compareDecimal is PostgreSQL's order: NaN equals itself and is the greatest.
func compareDecimal(a, b *apd.Decimal) int {
	an, bn := a.Form == apd.NaN, b.Form == apd.NaN
	switch {
	case an && bn:
		return 0
	case an:
		return 1
	case bn:
		return -1
	default:
		return a.Cmp(b)
	}
}

func TestOrderOfDecimals(t *testing.T) {
	checkCodec(t, "decimal", codec[*apd.Decimal]{
		gen: decimalGen, compare: compareDecimal, asc: AppendDecimal, desc: AppendDecimalDesc,
		dec: func(b []byte) (*apd.Decimal, []byte, error) {
			d := new(apd.Decimal)
			rest, err := DecodeDecimal(b, d)
			return d, rest, err
		},
		decD: func(b []byte) (*apd.Decimal, []byte, error) {
			d := new(apd.Decimal)
			rest, err := DecodeDecimalDesc(b, d)
			return d, rest, err
		},
	})
	for _, same := range [][2]string{{"1", "1.000"}, {"100", "1E2"}, {"-0.50", "-5E-1"}, {"0", "0.000"}} {
		a, _, _ := apd.NewFromString(same[0])
		b, _, _ := apd.NewFromString(same[1])
		if !bytes.Equal(AppendDecimal(nil, a), AppendDecimal(nil, b)) {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
}

// order is the length of an interval in microseconds, exact in a big number.
func (v Interval) order() *apd.BigInt {
	days := new(apd.BigInt).SetInt64(int64(v.Months)*daysPerMonth + int64(v.Days))
	days.Mul(days, new(apd.BigInt).SetInt64(microsPerDay))
	return days.Add(days, new(apd.BigInt).SetInt64(v.Micros))
}

func TestOrderOfIntervals(t *testing.T) {
	edge := func(max int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1, max, -max - 1}), rapid.Int64Range(-max-1, max))
	}
	gen := rapid.Custom(func(t *rapid.T) Interval {
		v := Interval{
			Months: int32(edge(math.MaxInt32).Draw(t, "months")),
			Days:   int32(edge(math.MaxInt32).Draw(t, "days")),
			Micros: edge(math.MaxInt64).Draw(t, "micros"),
		}
		if rapid.Bool().Draw(t, "small") {
			v.Months, v.Days, v.Micros = v.Months%3, v.Days%60, v.Micros%(3*microsPerDay)
		}
		return v
	})
	checkCodec(t, "exact", codec[Interval]{
		gen: gen,
		compare: func(a, b Interval) int {
			return cmp.Or(a.order().Cmp(b.order()), cmp.Compare(a.Months, b.Months), cmp.Compare(a.Days, b.Days))
		},
		asc: AppendInterval, desc: AppendIntervalDesc, dec: DecodeInterval, decD: DecodeIntervalDesc,
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		want := a.order().Cmp(b.order())
		if got := bytes.Compare(AppendIntervalOrder(nil, a), AppendIntervalOrder(nil, b)); got != want {
			t.Fatalf("%v ? %v is %d, the bytes say %d", a, b, want, got)
		}
		if got := bytes.Compare(AppendIntervalOrderDesc(nil, a), AppendIntervalOrderDesc(nil, b)); got != -want {
			t.Fatalf("descending %v ? %v", a, b)
		}
	})
	month := AppendIntervalOrder(nil, Interval{Months: 1})
	if !bytes.Equal(month, AppendIntervalOrder(nil, Interval{Days: 29, Micros: microsPerDay})) {
		t.Error("1 month and 29 days 24 hours differ")
	}
}

func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s := intGen.Draw(t, "v"), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "s")
		b := AppendLenBytes(AppendUvarint(AppendVarint(nil, v), uint64(v)), s)
		i, b, err1 := DecodeVarint(b)
		u, b, err2 := DecodeUvarint(b)
		got, b, err3 := DecodeLenBytes(b)
		if err1 != nil || err2 != nil || err3 != nil || i != v || u != uint64(v) || !bytes.Equal(got, s) || len(b) != 0 {
			t.Fatalf("%d %x became %d %d %x", v, s, i, u, got)
		}
	})
	if _, _, err := DecodeLenBytes([]byte{200, 200, 200, 200, 1, 'x'}); err != ErrTruncated {
		t.Errorf("a length past the end: %v", err)
	}
	if !(NullFirst < NotNull && NotNull < NullLast) {
		t.Error("the markers are out of order")
	}
}

// TestSizes holds the sizes that keys rely on.
func TestSizes(t *testing.T) {
	for v, want := range map[int64]int{0: 1, 111: 1, 112: 2, -1: 2, -256: 2, -257: 3, 255: 2, 256: 3, math.MinInt64: 9, math.MaxInt64: 9} {
		if got := len(AppendVarintOrdered(nil, v)); got != want {
			t.Errorf("varint %d takes %d bytes, want %d", v, got, want)
		}
	}
	for v, want := range map[uint64]int{0: 1, 239: 1, 240: 2, 255: 2, 256: 3, math.MaxUint64: 9} {
		if got := len(AppendUvarintOrdered(nil, v)); got != want {
			t.Errorf("uvarint %d takes %d bytes, want %d", v, got, want)
		}
	}
}
