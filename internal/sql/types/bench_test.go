package types

import (
	"testing"
	"time"
)

var benchValues = []struct {
	t  *T
	in string
}{
	{Int4, "-123456"},
	{Int8, "9007199254740993"},
	{Float8, "3.141592653589793"},
	{Numeric, "12345.6789"},
	{Numeric, "123456789012345678901234567890.12"},
	{Timestamp, "2024-02-29 01:02:03.456"},
	{TimestampTZ, "2024-02-29 01:02:03.456-08"},
	{TimestampTZ, "Feb 29 2024 01:02:03 PST"},
	{Interval, "1 year 2 mons 3 days 04:05:06"},
	{Int4Array, "{1,2,3,4,5,6,7,8}"},
	{JSONB, `{"a":1,"b":[true,null,"x"]}`},
}

func benchContext() *FormatContext {
	fc := NewFormatContext()
	fc.TimeZone, _ = time.LoadLocation("America/New_York")
	return fc
}

func benchName(t *T, in string) string { return t.Name + "/" + in[:min(len(in), 12)] }

func BenchmarkParseText(b *testing.B) {
	fc := benchContext()
	for _, v := range benchValues {
		b.Run(benchName(v.t, v.in), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseText(v.t, v.in, fc); err != nil {
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
			d, err := ParseText(v.t, v.in, fc)
			if err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendText(buf[:0], v.t, d, fc)
			}
		})
	}
}

func BenchmarkCompareDecimal(b *testing.B) {
	x, y := NewDecimalInt(12345, 2), NewDecimalInt(1234567, 4)
	b.ReportAllocs()
	for b.Loop() {
		if Compare(x, y) != -1 {
			b.Fatal("wrong order")
		}
	}
}
