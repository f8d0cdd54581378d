package stringfuncs

import (
	"bytes"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"math/bits"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func byteFunctions() []*call.Overload {
	sum := func(sig string, algorithm func() hash.Hash) *call.Overload {
		return call.Fn(sig, func(c *call.Context, a []types.Datum) (types.Datum, error) {
			h, err := hashOf(c, algorithm(), a[0].Str())
			return types.NewBytes(string(h)), err
		})
	}
	md5Hex := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		h, err := hashOf(c, md5.New(), a[0].Str())
		return types.NewString(hex.EncodeToString(h)), err
	}
	return []*call.Overload{
		call.Fn("length(bytea) int4", intFunc(func(s string) int { return len(s) })).ReadsInPlace(),
		call.Fn("octet_length(bytea) int4", intFunc(func(s string) int { return len(s) })).ReadsInPlace(),
		call.Fn("bit_length(bytea) int4", intFunc(func(s string) int { return 8 * len(s) })).ReadsInPlace(),
		call.Fn("bit_count(bytea) int8", bitCount),
		call.Fn("md5(text) text", md5Hex), call.Fn("md5(bytea) text", md5Hex),
		sum("sha224(bytea) bytea", sha256.New224),
		sum("sha256(bytea) bytea", sha256.New),
		sum("sha384(bytea) bytea", sha512.New384),
		sum("sha512(bytea) bytea", sha512.New),
		call.Fn("encode(bytea,text) text", encode), call.Fn("decode(text,text) bytea", decode),
		call.Fn("substr(bytea,int4) bytea", substrBytes), call.Fn("substr(bytea,int4,int4) bytea", substrBytes),
		call.Fn("substring(bytea,int4) bytea", substrBytes), call.Fn("substring(bytea,int4,int4) bytea", substrBytes),
		call.Fn("position(bytea,bytea) int4", positionBytes),
		call.Fn("overlay(bytea,bytea,int4) bytea", overlayBytes), call.Fn("overlay(bytea,bytea,int4,int4) bytea", overlayBytes),
		call.Fn("btrim(bytea,bytea) bytea", trimBytes(true, true)),
		call.Fn("ltrim(bytea,bytea) bytea", trimBytes(true, false)), call.Fn("rtrim(bytea,bytea) bytea", trimBytes(false, true)),
		call.Fn("get_byte(bytea,int4) int4", getByte), call.Fn("set_byte(bytea,int4,int4) bytea", setByte),
		call.Fn("get_bit(bytea,int8) int4", getBit), call.Fn("set_bit(bytea,int8,int4) bytea", setBit),
		call.Fn("gen_random_uuid() uuid", randomUUID).Volatile(),
	}
}

// hashOf returns the hash of s.
func hashOf(c *call.Context, h hash.Hash, s string) ([]byte, error) {
	err := call.EachPiece(c, s, func(piece string) { _, _ = io.WriteString(h, piece) }) // hashes never fail
	return h.Sum(nil), err
}

func bitCount(c *call.Context, a []types.Datum) (types.Datum, error) {
	n := 0
	err := call.EachPiece(c, a[0].Str(), func(piece string) {
		for i := 0; i < len(piece); i++ {
			n += bits.OnesCount8(piece[i])
		}
	})
	return types.NewInt(int64(n)), err
}

func encode(c *call.Context, a []types.Datum) (types.Datum, error) {
	s := a[0].Str()
	var out strings.Builder
	var err error
	switch strings.ToLower(a[1].Str()) {
	case "hex":
		out.Grow(2 * len(s))
		err = call.EachPiece(c, s, func(piece string) { out.WriteString(hex.EncodeToString([]byte(piece))) })
	case "base64":
		err = encodeBase64(c, &out, s)
	case "escape":
		err = call.EachPiece(c, s, func(piece string) { escapeBytes(&out, piece) })
	default:
		err = errEncoding(a[1].Str())
	}
	return types.NewString(out.String()), err
}

func errEncoding(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", name)
}

// lineBytes are the bytes of a line of base64, of 76 characters as in MIME.
const lineBytes = 57

// encodeBase64 writes s in lines.
func encodeBase64(c *call.Context, out *strings.Builder, s string) error {
	out.Grow(base64.StdEncoding.EncodedLen(len(s)) + len(s)/lineBytes)
	for s != "" {
		n := min(len(s), lineBytes)
		out.WriteString(base64.StdEncoding.EncodeToString([]byte(s[:n])))
		if s = s[n:]; s != "" {
			out.WriteByte('\n')
		}
		if err := c.Step(n); err != nil {
			return err
		}
	}
	return nil
}

// escapeBytes writes zero and bytes above 127 in octal and doubles backslashes.
func escapeBytes(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c == 0 || c >= 0x80:
			b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		default:
			b.WriteByte(c)
		}
	}
}

func decode(c *call.Context, a []types.Datum) (types.Datum, error) {
	s := a[0].Str()
	var b []byte
	var err error
	switch strings.ToLower(a[1].Str()) {
	case "hex":
		b, err = decodeHex(c, s)
	case "base64":
		b, err = decodeBase64(c, s)
	case "escape":
		b, err = decodeEscape(c, s)
	default:
		err = errEncoding(a[1].Str())
	}
	if err != nil {
		return types.Null, err
	}
	return types.NewBytes(types.Owned(b)), nil
}

// IsBlank reports whether c is a blank, a tab or a line end.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func decodeHex(c *call.Context, s string) ([]byte, error) {
	b := make([]byte, 0, len(s)/2)
	digits, v := 0, byte(0)
	for _, r := range s {
		if r < 0x80 && IsBlank(byte(r)) && digits == 0 {
			continue
		}
		d, ok := hexDigit(r)
		if !ok {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%c\"", r)
		}
		v = v<<4 | d
		if digits++; digits == 2 {
			b = append(b, v)
			digits, v = 0, 0
			if err := c.Step(1); err != nil {
				return nil, err
			}
		}
	}
	if digits != 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
	}
	return b, nil
}

func hexDigit(r rune) (byte, bool) {
	switch {
	case r >= '0' && r <= '9':
		return byte(r - '0'), true
	case r >= 'a' && r <= 'f':
		return byte(r-'a') + 10, true
	case r >= 'A' && r <= 'F':
		return byte(r-'A') + 10, true
	}
	return 0, false
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// cleanBase64 returns s without white space, and refuses what base64 does not have.
func cleanBase64(c *call.Context, s string) ([]byte, error) {
	clean := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r < 0x80 && IsBlank(byte(r)):
		case r < 0x80 && strings.IndexByte(base64Alphabet, byte(r)) >= 0:
			clean = append(clean, byte(r))
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue,
				"invalid symbol \"%c\" found while decoding base64 sequence", r)
		}
		if err := c.Step(1); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

func decodeBase64(c *call.Context, s string) ([]byte, error) {
	clean, err := cleanBase64(c, s)
	if err != nil {
		return nil, err
	}
	padding := bytes.IndexByte(clean, '=')
	if padding >= 0 && padding%4 < 2 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence")
	}
	ends := len(clean)%4 == 0 && (padding < 0 || padding/4 == len(clean)/4-1)
	b := make([]byte, 0, base64.StdEncoding.DecodedLen(len(clean)))
	for at := 0; ends && at < len(clean); at += call.PieceBytes { // pieces are whole groups of four
		piece := clean[at:min(at+call.PieceBytes, len(clean))]
		if b, err = base64.StdEncoding.AppendDecode(b, piece); err != nil {
			break
		}
		if err := c.Step(len(piece)); err != nil {
			return nil, err
		}
	}
	if !ends || err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid base64 end sequence").WithHint(
			"Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	return b, nil
}

func decodeEscape(c *call.Context, s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	octal := func(c, maxDigit byte) bool { return c >= '0' && c <= maxDigit }
	for i := 0; i < len(s); {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		switch {
		case s[i] != '\\':
			b = append(b, s[i])
			i++
		case i+1 < len(s) && s[i+1] == '\\':
			b = append(b, '\\')
			i += 2
		case i+3 < len(s) && octal(s[i+1], '3') && octal(s[i+2], '7') && octal(s[i+3], '7'):
			b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 4
		default:
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s", "bytea")
		}
	}
	return b, nil
}

func substrBytes(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, start, n := a[0].Str(), a[1].Int(), int64(1<<32)
	if len(a) == 3 {
		if n = a[2].Int(); n < 0 {
			return types.Null, call.Fail(errNegativeLength)
		}
	}
	return types.NewBytes(sliceBytes(s, start, n)), nil
}

// sliceBytes is substring by bytes, see substring.
func sliceBytes(s string, start, n int64) string {
	end := min(start+n, int64(len(s))+1)
	start = max(start, 1)
	if end <= start {
		return ""
	}
	return s[start-1 : end-1]
}

func positionBytes(c *call.Context, a []types.Datum) (types.Datum, error) {
	i, err := call.Index(c, a[0].Str(), a[1].Str())
	return types.NewInt(int64(i + 1)), err
}

func overlayBytes(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, by, start := a[0].Str(), a[1].Str(), a[2].Int()
	n := int64(len(by))
	if len(a) == 4 {
		n = a[3].Int()
	}
	if start <= 0 {
		return types.Null, call.Fail(errNegativeLength)
	}
	if _, err := numfuncs.CheckInt4(start + n); err != nil {
		return types.Null, err
	}
	return types.NewBytes(sliceBytes(s, 1, start-1) + by + sliceBytes(s, start+n, 1<<32)), nil
}

func trimBytes(left, right bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		s, set := a[0].Str(), a[1].Str()
		for left && s != "" && strings.IndexByte(set, s[0]) >= 0 {
			s = s[1:]
		}
		for right && s != "" && strings.IndexByte(set, s[len(s)-1]) >= 0 {
			s = s[:len(s)-1]
		}
		return types.NewBytes(s), nil
	}
}

func checkIndex(i, n int64) error {
	if i < 0 || i >= n {
		return pgerr.New(pgerr.ArraySubscriptError, "index %d out of valid range, 0..%d", i, n-1)
	}
	return nil
}

func getByte(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, i := a[0].Str(), a[1].Int()
	if err := checkIndex(i, int64(len(s))); err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(s[i])), nil
}

func setByte(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, i := a[0].Str(), a[1].Int()
	if err := checkIndex(i, int64(len(s))); err != nil {
		return types.Null, err
	}
	b := []byte(s)
	b[i] = byte(a[2].Int())
	return types.NewBytes(types.Owned(b)), nil
}

func getBit(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, i := a[0].Str(), a[1].Int()
	if err := checkIndex(i, 8*int64(len(s))); err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(s[i/8] >> (i % 8) & 1)), nil
}

func setBit(_ *call.Context, a []types.Datum) (types.Datum, error) {
	s, i, bit := a[0].Str(), a[1].Int(), a[2].Int()
	if err := checkIndex(i, 8*int64(len(s))); err != nil {
		return types.Null, err
	}
	if bit != 0 && bit != 1 {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
	}
	b := []byte(s)
	b[i/8] = b[i/8]&^(1<<(i%8)) | byte(bit)<<(i%8)
	return types.NewBytes(types.Owned(b)), nil
}

// randomUUID makes a version 4 uuid.
func randomUUID(*call.Context, []types.Datum) (types.Datum, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // ends the process rather than fail
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return types.NewUUID(string(b[:])), nil
}

// encodingFunctions declares the conversions between encodings; UTF8 is the only one that
// Text has.
func encodingFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("convert_from(bytea,name) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := decodeText(c, a[0].Str(), a[1].Str())
			return types.NewString(s), err
		}).Stable(),
		call.Fn("convert_to(text,name) bytea", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := encodeText(c, a[0].Str(), a[1].Str())
			return types.NewBytes(s), err
		}).Stable(),
		call.Fn("convert(bytea,name,name) bytea", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			to := charset.Find(a[2].Str())
			if to == nil {
				return types.Null, errEncodingName("destination", a[2].Str())
			}
			s, err := decodeText(c, a[0].Str(), a[1].Str())
			if err != nil {
				return types.Null, err
			}
			s, err = to.EncodeString(s, c.Format)
			return types.NewBytes(s), err
		}).Stable(),
		call.Fn("length(bytea,name) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			e := charset.Find(a[1].Str())
			if e == nil {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid encoding name \"%s\"", a[1].Str())
			}
			n, err := e.Length(a[0].Str(), c.Format)
			return types.NewInt(n), err
		}).Stable(),
	}
}

func errEncodingName(which, name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid %s encoding name \"%s\"", which, name)
}

func decodeText(c *call.Context, s, encoding string) (string, error) {
	e := charset.Find(encoding)
	if e == nil {
		return "", errEncodingName("source", encoding)
	}
	return e.DecodeString(s, c.Format)
}

func encodeText(c *call.Context, s, encoding string) (string, error) {
	e := charset.Find(encoding)
	if e == nil {
		return "", errEncodingName("destination", encoding)
	}
	return e.EncodeString(s, c.Format)
}
