package encoding

import (
	"bytes"
	"errors"
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
	n := byteLen(v)
	dst = append(dst, byte(uvarintSmall+n-1))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}

// DecodeUvarintOrdered reads what AppendUvarintOrdered wrote.
func DecodeUvarintOrdered(b []byte) (v uint64, rest []byte, err error) {
	if len(b) > 0 && b[0] < uvarintSmall {
		return uint64(b[0]), b[1:], nil
	}
	return decodeLongUvarint(b)
}

func decodeLongUvarint(b []byte) (v uint64, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, ErrTruncated
	}
	n := int(b[0]) - uvarintSmall + 1
	if n > 8 {
		return 0, nil, ErrMalformed
	}
	if len(b) < 1+n {
		return 0, nil, ErrTruncated
	}
	for _, c := range b[1 : 1+n] {
		v = v<<8 | uint64(c)
	}
	if v < uvarintSmall || byteLen(v) != n {
		return 0, nil, ErrMalformed // two encodings of one value would be two keys
	}
	return v, b[1+n:], nil
}

// byteLen is the number of bytes that v needs.
func byteLen(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// Ordered byte strings: 0x00 becomes 0x00 0xff and the end is 0x00 0x01, so a
// string sorts before every longer one that begins with it.
const (
	escape     = 0x00
	escapedNul = 0xff
	terminator = 0x01
)

// AppendBytes appends v so that the order of encodings is the order of the
// strings, whatever follows them.
func AppendBytes(dst, v []byte) []byte {
	for {
		i := bytes.IndexByte(v, escape)
		if i < 0 {
			break
		}
		dst = append(dst, v[:i]...)
		dst = append(dst, escape, escapedNul)
		v = v[i+1:]
	}
	dst = append(dst, v...)
	return append(dst, escape, terminator)
}

// DecodeBytes reads what AppendBytes wrote. The value aliases b if it holds no
// zero byte; otherwise it is a copy.
func DecodeBytes(b []byte) (v, rest []byte, err error) {
	i := bytes.IndexByte(b, escape)
	if i >= 0 && i+1 < len(b) && b[i+1] == terminator {
		return b[:i:i], b[i+2:], nil
	}
	for ; i >= 0 && i+1 < len(b); i = bytes.IndexByte(b, escape) {
		v = append(v, b[:i]...)
		next := b[i+1]
		b = b[i+2:]
		switch next {
		case terminator:
			return v, b, nil
		case escapedNul:
			v = append(v, escape)
		default:
			return nil, nil, ErrMalformed
		}
	}
	return nil, nil, ErrTruncated
}
