package encoding

import "bytes"

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

// AppendString is AppendBytes for a string.
func AppendString(dst []byte, v string) []byte {
	for i := 0; i < len(v); i++ {
		if v[i] == escape {
			return AppendBytes(dst, []byte(v))
		}
	}
	dst = append(dst, v...)
	return append(dst, escape, terminator)
}

// AppendBytesDesc is AppendBytes with the order reversed.
func AppendBytesDesc(dst, v []byte) []byte {
	return invertFrom(AppendBytes(dst, v), len(dst))
}

// AppendStringDesc is AppendString with the order reversed.
func AppendStringDesc(dst []byte, v string) []byte {
	return invertFrom(AppendString(dst, v), len(dst))
}

// DecodeBytes reads what AppendBytes or AppendString wrote. The value aliases b
// if it holds no zero byte; otherwise it is appended to buf, which may be nil.
func DecodeBytes(b, buf []byte) (v, rest []byte, err error) {
	i := bytes.IndexByte(b, escape)
	if i < 0 || i+1 >= len(b) {
		return nil, nil, ErrTruncated
	}
	if b[i+1] == terminator {
		return b[:i:i], b[i+2:], nil
	}
	return decodeBytes(b, buf, 0)
}

// DecodeBytesDesc reads what AppendBytesDesc or AppendStringDesc wrote. The
// value is appended to buf, which may be nil.
func DecodeBytesDesc(b, buf []byte) (v, rest []byte, err error) {
	return decodeBytes(b, buf, 0xff)
}

func decodeBytes(b, buf []byte, mask byte) (v, rest []byte, err error) {
	start := len(buf)
	for {
		i := bytes.IndexByte(b, escape^mask)
		if i < 0 || i+1 >= len(b) {
			return nil, nil, ErrTruncated
		}
		buf = append(buf, b[:i]...)
		next := b[i+1] ^ mask
		b = b[i+2:]
		switch next {
		case terminator:
			if mask != 0 {
				// What was copied verbatim is inverted as a whole; the zero bytes
				// put in for escapes were stored inverted as well.
				invertFrom(buf, start)
			}
			return buf[start:], b, nil
		case escapedNul:
			buf = append(buf, escape^mask)
		default:
			return nil, nil, ErrMalformed
		}
	}
}

// SkipBytes returns what follows a value of AppendBytes without decoding it.
func SkipBytes(b []byte) (rest []byte, err error) { return skipBytes(b, 0) }

// SkipBytesDesc returns what follows a value of AppendBytesDesc.
func SkipBytesDesc(b []byte) (rest []byte, err error) { return skipBytes(b, 0xff) }

func skipBytes(b []byte, mask byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(b, escape^mask)
		if i < 0 || i+1 >= len(b) {
			return nil, ErrTruncated
		}
		next := b[i+1] ^ mask
		b = b[i+2:]
		switch next {
		case terminator:
			return b, nil
		case escapedNul:
		default:
			return nil, ErrMalformed
		}
	}
}
