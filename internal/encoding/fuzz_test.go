package encoding

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/apd/v3"
)

// canonical decodes b with every decoder and checks that what one accepts is
// exactly what its encoder writes (invariants 2 and 3).
func canonical(t *testing.T, b []byte) {
	t.Helper()
	same := func(name string, rest []byte, err error, encode func() []byte) {
		if err != nil {
			return
		}
		used := b[:len(b)-len(rest)]
		if got := encode(); !bytes.Equal(got, used) {
			t.Fatalf("%s: %x was accepted, its value encodes to %x", name, used, got)
		}
	}
	u, rest, err := DecodeUvarintOrdered(b)
	same("uvarint", rest, err, func() []byte { return AppendUvarintOrdered(nil, u) })
	u, rest, err = DecodeUvarintDesc(b)
	same("uvarint desc", rest, err, func() []byte { return AppendUvarintDesc(nil, u) })
	i, rest, err := DecodeVarintOrdered(b)
	same("varint", rest, err, func() []byte { return AppendVarintOrdered(nil, i) })
	i, rest, err = DecodeVarintDesc(b)
	same("varint desc", rest, err, func() []byte { return AppendVarintDesc(nil, i) })
	f, rest, err := DecodeFloat(b)
	same("float", rest, err, func() []byte { return AppendFloat(nil, f) })
	f, rest, err = DecodeFloatDesc(b)
	same("float desc", rest, err, func() []byte { return AppendFloatDesc(nil, f) })
	v, rest, err := DecodeBool(b)
	same("bool", rest, err, func() []byte { return AppendBool(nil, v) })
	v, rest, err = DecodeBoolDesc(b)
	same("bool desc", rest, err, func() []byte { return AppendBoolDesc(nil, v) })
	s, rest, err := DecodeBytes(b, nil)
	same("bytes", rest, err, func() []byte { return AppendBytes(nil, s) })
	same("string", rest, err, func() []byte { return AppendString(nil, string(s)) })
	if skipped, skipErr := SkipBytes(b); (skipErr == nil) != (err == nil) || !bytes.Equal(skipped, rest) {
		t.Fatalf("skip of %x: %x %v, decode: %x %v", b, skipped, skipErr, rest, err)
	}
	s, rest, err = DecodeBytesDesc(b, nil)
	same("bytes desc", rest, err, func() []byte { return AppendBytesDesc(nil, s) })
	if skipped, skipErr := SkipBytesDesc(b); (skipErr == nil) != (err == nil) || !bytes.Equal(skipped, rest) {
		t.Fatalf("descending skip of %x: %x %v, decode: %x %v", b, skipped, skipErr, rest, err)
	}
	var d apd.Decimal
	rest, err = DecodeDecimal(b, &d)
	same("decimal", rest, err, func() []byte { return AppendDecimal(nil, &d) })
	rest, err = DecodeDecimalDesc(b, &d)
	same("decimal desc", rest, err, func() []byte { return AppendDecimalDesc(nil, &d) })
	iv, rest, err := DecodeInterval(b)
	same("interval", rest, err, func() []byte { return AppendInterval(nil, iv) })
	iv, rest, err = DecodeIntervalDesc(b)
	same("interval desc", rest, err, func() []byte { return AppendIntervalDesc(nil, iv) })
	id, rest, err := DecodeUUID(b)
	same("uuid", rest, err, func() []byte { return AppendUUID(nil, id) })
	id, rest, err = DecodeUUIDDesc(b)
	same("uuid desc", rest, err, func() []byte { return AppendUUIDDesc(nil, id) })
	_, _, _ = DecodeUvarint(b)
	_, _, _ = DecodeVarint(b)
	_, _, _ = DecodeLenBytes(b)
}

// TestCanonical tries every input of up to two bytes and a tail.
func TestCanonical(t *testing.T) {
	tail := []byte{0, 1, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88, 0, 1}
	canonical(t, nil)
	for a := range 256 {
		canonical(t, []byte{byte(a)})
		for b := range 256 {
			canonical(t, []byte{byte(a), byte(b)})
			canonical(t, append([]byte{byte(a), byte(b)}, tail...))
		}
	}
}

func FuzzDecode(f *testing.F) {
	d, _, _ := apd.NewFromString("-123.4567890123456789012")
	f.Add(AppendDecimal(nil, d))
	f.Add(AppendDecimalDesc(nil, d))
	f.Add(AppendInterval(nil, Interval{Months: -1, Days: 2, Micros: 3}))
	f.Add(AppendBytes(nil, []byte("a\x00b")))
	f.Add(AppendVarintOrdered(nil, -1<<40))
	f.Add(AppendFloat(nil, 1.5))
	f.Fuzz(canonical)
}
