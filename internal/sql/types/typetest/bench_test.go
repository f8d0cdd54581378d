package typetest_test

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

var benchValues = []struct {
	t  *types.T
	in string
}{
	{types.Int4, "-123456"},
	{types.Int8, "9007199254740993"},
	{types.Float8, "3.141592653589793"},
	{types.Numeric, "12345.6789"},
	{types.Numeric, "123456789012345678901234567890.12"},
	{types.Timestamp, "2024-02-29 01:02:03.456"},
	{types.TimestampTZ, "2024-02-29 01:02:03.456-08"},
	{types.TimestampTZ, "Feb 29 2024 01:02:03 PST"},
	{types.Interval, "1 year 2 mons 3 days 04:05:06"},
	{types.Int4Array, "{1,2,3,4,5,6,7,8}"},
	{types.JSONB, `{"a":1,"b":[true,null,"x"]}`},
}

func benchContext() *types.FormatContext {
	fc := types.NewFormatContext()
	fc.TimeZone, _ = time.LoadLocation("America/New_York")
	return fc
}

func benchName(t *types.T, in string) string { return t.Name + "/" + in[:min(len(in), 12)] }

func BenchmarkParseText(b *testing.B) {
	fc := benchContext()
	for _, v := range benchValues {
		b.Run(benchName(v.t, v.in), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := typeio.ParseText(v.t, v.in, fc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendText(b *testing.B) {
	fc := benchContext()
	for _, v := range benchValues {
		b.Run(benchName(v.t, v.in), func(b *testing.B) {
			d, err := typeio.ParseText(v.t, v.in, fc)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = typeio.AppendText(buf[:0], v.t, d, fc)
			}
		})
	}
}

func BenchmarkCompareDecimal(b *testing.B) {
	x, y := types.NewDecimalInt(12345, 2), types.NewDecimalInt(1234567, 4)
	b.ReportAllocs()
	for b.Loop() {
		if types.Compare(x, y) != -1 {
			b.Fatal("wrong order")
		}
	}
}
