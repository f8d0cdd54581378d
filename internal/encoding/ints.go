package encoding

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Errors of the decoders. They say what is wrong with the bytes; the caller
// knows where the bytes came from.
var (
	// ErrTruncated means that the input ended inside a value.
	ErrTruncated = errors.New("encoding: input too short")
	// ErrMalformed means that the input is no encoding of the asked type.
	ErrMalformed = errors.New("encoding: malformed value")
	// ErrTrailing means that bytes are left after the last value.
	ErrTrailing = errors.New("encoding: unexpected bytes after the value")
)

// Ordered unsigned integers: values below uvarintSmall are their own byte; a
// larger one is uvarintSmall+n-1 and its n big-endian bytes, n as small as it
// can be.
const uvarintSmall = 240

// AppendUvarintOrdered appends v in 1 to 9 bytes whose order is v's order.
func AppendUvarintOrdered(dst []byte, v uint64) []byte {
	if v < uvarintSmall {
		return append(dst, byte(v))
	}
	n := (bits.Len64(v) + 7) / 8
	return appendBigEndian(append(dst, byte(uvarintSmall+n-1)), v, n, 0)
}

// AppendUvarintDesc is AppendUvarintOrdered with the order reversed.
func AppendUvarintDesc(dst []byte, v uint64) []byte {
	return invertFrom(AppendUvarintOrdered(dst, v), len(dst))
}

// DecodeUvarintOrdered reads what AppendUvarintOrdered wrote.
func DecodeUvarintOrdered(b []byte) (v uint64, rest []byte, err error) {
	if len(b) > 0 && b[0] < uvarintSmall {
		return uint64(b[0]), b[1:], nil
	}
	return decodeUvarint(b, 0)
}

// DecodeUvarintDesc reads what AppendUvarintDesc wrote.
func DecodeUvarintDesc(b []byte) (v uint64, rest []byte, err error) {
	return decodeUvarint(b, 0xff)
}

func decodeUvarint(b []byte, mask byte) (uint64, []byte, error) {
	if len(b) == 0 {
		return 0, nil, ErrTruncated
	}
	first := b[0] ^ mask
	if first < uvarintSmall {
		return uint64(first), b[1:], nil
	}
	n := int(first) - uvarintSmall + 1
	if n > 8 {
		return 0, nil, ErrMalformed
	}
	if len(b) < 1+n {
		return 0, nil, ErrTruncated
	}
	v := bigEndian(b[1:1+n], mask)
	if v < uvarintSmall || (bits.Len64(v)+7)/8 != n {
		return 0, nil, ErrMalformed // two encodings of one value would be two keys
	}
	return v, b[1+n:], nil
}

// Ordered signed integers. The first byte is
//
//	0x88-n       for negative v that needs n bytes,
//	0x88+v       for v from 0 to varintSmall-1,
//	0xf7+n       for larger v that needs n bytes,
//
// followed by the n low bytes, big-endian. Bytes below 0x80 never begin one.
const (
	varintZero  = 0x88
	varintSmall = 0x70
	varintBig   = varintZero + varintSmall - 1 // 0xf7
)

// AppendVarintOrdered appends v in 1 to 9 bytes whose order is v's order.
func AppendVarintOrdered(dst []byte, v int64) []byte {
	switch {
	case v >= varintSmall:
		n := (bits.Len64(uint64(v)) + 7) / 8
		return appendBigEndian(append(dst, byte(varintBig+n)), uint64(v), n, 0)
	case v >= 0:
		return append(dst, byte(varintZero+v))
	default:
		n := negativeLen(v)
		return appendBigEndian(append(dst, byte(varintZero-n)), uint64(v), n, 0)
	}
}

// AppendVarintDesc is AppendVarintOrdered with the order reversed.
func AppendVarintDesc(dst []byte, v int64) []byte {
	return invertFrom(AppendVarintOrdered(dst, v), len(dst))
}

// DecodeVarintOrdered reads what AppendVarintOrdered wrote.
func DecodeVarintOrdered(b []byte) (v int64, rest []byte, err error) {
	if len(b) > 0 && b[0] >= varintZero && b[0] <= varintBig {
		return int64(b[0]) - varintZero, b[1:], nil
	}
	return decodeVarint(b, 0)
}

// DecodeVarintDesc reads what AppendVarintDesc wrote.
func DecodeVarintDesc(b []byte) (v int64, rest []byte, err error) {
	return decodeVarint(b, 0xff)
}

func decodeVarint(b []byte, mask byte) (int64, []byte, error) {
	if len(b) == 0 {
		return 0, nil, ErrTruncated
	}
	first := int(b[0] ^ mask)
	var n int
	switch {
	case first < varintZero-8:
		return 0, nil, ErrMalformed
	case first < varintZero:
		n = varintZero - first
	case first <= varintBig:
		return int64(first) - varintZero, b[1:], nil
	default:
		n = first - varintBig
	}
	if len(b) < 1+n {
		return 0, nil, ErrTruncated
	}
	u, rest := bigEndian(b[1:1+n], mask), b[1+n:]
	if first > varintBig {
		if u > math.MaxInt64 || u < varintSmall || (bits.Len64(u)+7)/8 != n {
			return 0, nil, ErrMalformed
		}
		return int64(u), rest, nil
	}
	if n < 8 {
		u |= ^uint64(0) << (8 * n)
	}
	v := int64(u)
	if v >= 0 || negativeLen(v) != n {
		return 0, nil, ErrMalformed
	}
	return v, rest, nil
}

// negativeLen is the number of low bytes that tell v from the other negative
// numbers of that length.
func negativeLen(v int64) int { return max(1, (bits.Len64(uint64(^v))+7)/8) }

func appendBigEndian(dst []byte, v uint64, n int, mask byte) []byte {
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i))^mask)
	}
	return dst
}

func bigEndian(b []byte, mask byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c^mask)
	}
	return v
}

// invertFrom inverts b[n:] in place, which reverses its order.
func invertFrom(b []byte, n int) []byte {
	for i := n; i < len(b); i++ {
		b[i] = ^b[i]
	}
	return b
}

// AppendUvarint appends v in the usual, unordered base-128 form.
func AppendUvarint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

// DecodeUvarint reads what AppendUvarint wrote.
func DecodeUvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, varintError(n)
	}
	return v, b[n:], nil
}

// AppendVarint appends v in the usual, unordered zigzag form.
func AppendVarint(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

// DecodeVarint reads what AppendVarint wrote.
func DecodeVarint(b []byte) (v int64, rest []byte, err error) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, varintError(n)
	}
	return v, b[n:], nil
}

func varintError(n int) error {
	if n == 0 {
		return ErrTruncated
	}
	return ErrMalformed
}

// DecodeLenBytes reads a length as AppendUvarint wrote it and that many bytes,
// which alias b.
func DecodeLenBytes(b []byte) (v, rest []byte, err error) {
	n, rest, err := DecodeUvarint(b)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(rest)) {
		return nil, nil, ErrTruncated
	}
	return rest[:n:n], rest[n:], nil
}

// AppendLenBytes appends the length of v and v.
func AppendLenBytes(dst, v []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}
