package encoding

import (
	"encoding/binary"
	"math"
)

// Markers are the single bytes that stand before the values of a column that
// may be NULL. With NullFirst and NotNull, NULL sorts before every value; with
// NotNull and NullLast, after. A descending column inverts the marker too, so
// the caller chooses the one that puts NULL where the statement wants it.
const (
	NullFirst byte = 0x00
	NotNull   byte = 0x01
	NullLast  byte = 0x02
)

// AppendBool appends one byte; false sorts before true.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendBoolDesc is AppendBool with the order reversed.
func AppendBoolDesc(dst []byte, v bool) []byte { return invertFrom(AppendBool(dst, v), len(dst)) }

// DecodeBool reads what AppendBool wrote.
func DecodeBool(b []byte) (v bool, rest []byte, err error) { return decodeBool(b, 0) }

// DecodeBoolDesc reads what AppendBoolDesc wrote.
func DecodeBoolDesc(b []byte) (v bool, rest []byte, err error) { return decodeBool(b, 0xff) }

func decodeBool(b []byte, mask byte) (bool, []byte, error) {
	if len(b) == 0 {
		return false, nil, ErrTruncated
	}
	switch b[0] ^ mask {
	case 0:
		return false, b[1:], nil
	case 1:
		return true, b[1:], nil
	default:
		return false, nil, ErrMalformed
	}
}

// canonicalNaN is the one NaN that is stored: it sorts after +Inf, and all NaNs
// are equal, as PostgreSQL has it.
const canonicalNaN = 0x7ff8000000000000

// AppendFloat appends v in 8 bytes whose order is PostgreSQL's order of floats:
// negative zero equals zero and NaN is the greatest.
func AppendFloat(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, floatBits(v))
}

// AppendFloatDesc is AppendFloat with the order reversed.
func AppendFloatDesc(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, ^floatBits(v))
}

func floatBits(v float64) uint64 {
	u := math.Float64bits(v)
	switch {
	case v != v:
		u = canonicalNaN
	case v == 0:
		u = 0
	}
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

// DecodeFloat reads what AppendFloat wrote.
func DecodeFloat(b []byte) (v float64, rest []byte, err error) { return decodeFloat(b, 0) }

// DecodeFloatDesc reads what AppendFloatDesc wrote.
func DecodeFloatDesc(b []byte) (v float64, rest []byte, err error) { return decodeFloat(b, 0xff) }

func decodeFloat(b []byte, mask byte) (float64, []byte, error) {
	if len(b) < 8 {
		return 0, nil, ErrTruncated
	}
	stored := bigEndian(b[:8], mask)
	u := stored
	if u>>63 != 0 {
		u &^= 1 << 63
	} else {
		u = ^u
	}
	v := math.Float64frombits(u)
	if floatBits(v) != stored {
		return 0, nil, ErrMalformed
	}
	return v, b[8:], nil
}

// UUIDLen is the length of an encoded UUID.
const UUIDLen = 16

// AppendUUID appends the bytes of a UUID, which are in order as they are.
func AppendUUID(dst []byte, v [UUIDLen]byte) []byte { return append(dst, v[:]...) }

// AppendUUIDDesc is AppendUUID with the order reversed.
func AppendUUIDDesc(dst []byte, v [UUIDLen]byte) []byte {
	return invertFrom(append(dst, v[:]...), len(dst))
}

// DecodeUUID reads what AppendUUID wrote.
func DecodeUUID(b []byte) (v [UUIDLen]byte, rest []byte, err error) { return decodeUUID(b, 0) }

// DecodeUUIDDesc reads what AppendUUIDDesc wrote.
func DecodeUUIDDesc(b []byte) (v [UUIDLen]byte, rest []byte, err error) { return decodeUUID(b, 0xff) }

func decodeUUID(b []byte, mask byte) (v [UUIDLen]byte, rest []byte, err error) {
	if len(b) < UUIDLen {
		return v, nil, ErrTruncated
	}
	for i := range v {
		v[i] = b[i] ^ mask
	}
	return v, b[UUIDLen:], nil
}
