package types

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The types of PostgreSQL's own bookkeeping. Those that are numbers are integers to everything
// else: cid; tid, the block above 16 bits of the offset; xid8 and pg_lsn, which are unsigned,
// less 2^63, which orders as they do.

// NewUint64 returns an xid8 or pg_lsn.
func NewUint64(u uint64) Datum { return NewInt(int64(u ^ 1<<63)) }

// Uint64 returns the value of an xid8 or pg_lsn.
func (d Datum) Uint64() uint64 { return uint64(d.n) ^ 1<<63 }

// NewTID returns a tid.
func NewTID(block uint32, offset uint16) Datum { return NewInt(int64(block)<<16 | int64(offset)) }

// scanUint reads a number as C's strtoul does: white space, a sign (a minus wraps), digits. In
// base 0, 0x and 0 begin other bases. It stops at what is no digit, and at the largest number.
func scanUint(s string, base int) (u uint64, rest string) {
	rest = s
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	neg := s != "" && s[0] == '-'
	if neg || s != "" && s[0] == '+' {
		s = s[1:]
	}
	hex := len(s) > 2 && s[0] == '0' && s[1]|' ' == 'x' && digitValue(s[2]) < 16
	switch {
	case base == 0 && hex:
		base, s = 16, s[2:]
	case base == 0 && s != "" && s[0] == '0':
		base = 8
	case base == 0:
		base = 10
	}
	over := false
	for ; s != "" && digitValue(s[0]) < base; s = s[1:] {
		d := uint64(digitValue(s[0]))
		over = over || u > (math.MaxUint64-d)/uint64(base)
		u, rest = u*uint64(base)+d, s[1:]
	}
	switch {
	case over:
		return math.MaxUint64, rest
	case neg:
		return -u, rest
	}
	return u, rest
}

// digitValue is the value of a digit of base 16, 16 for anything else.
func digitValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|' ' >= 'a' && c|' ' <= 'f':
		return int(c|' '-'a') + 10
	}
	return 16
}

// parseUnsigned reads an xid, cid or xid8: whatever number the text begins with, without a
// complaint, as PostgreSQL does.
func parseUnsigned(t *T, s string) Datum {
	u, _ := scanUint(s, 0)
	if t.Oid == Xid8.Oid {
		return NewUint64(u)
	}
	return NewInt(int64(uint32(u)))
}

// parseTID reads "(block,offset)".
func parseTID(s string) (Datum, error) {
	_, in, ok := strings.Cut(s, "(")
	if !ok {
		return Null, errSyntax(TID, s)
	}
	block, rest := scanUint(in, 10)
	in, ok = strings.CutPrefix(rest, ",")
	if !ok || block > math.MaxUint32 && block < 1<<64-1<<31 {
		return Null, errSyntax(TID, s)
	}
	offset, rest := scanUint(in, 10)
	if !strings.HasPrefix(rest, ")") || offset > math.MaxUint16 {
		return Null, errSyntax(TID, s)
	}
	return NewTID(uint32(block), uint16(offset)), nil
}

func appendTID(dst []byte, d Datum) []byte {
	dst = strconv.AppendInt(append(dst, '('), d.n>>16, 10)
	dst = strconv.AppendInt(append(dst, ','), d.n&0xffff, 10)
	return append(dst, ')')
}

// parseLSN reads the two halves of a position in the log, in hexadecimal.
func parseLSN(s string) (Datum, error) {
	high, low, ok := strings.Cut(s, "/")
	if !ok || !isHexHalf(high) || !isHexHalf(low) {
		return Null, errSyntax(PgLSN, s)
	}
	h, _ := scanUint("0x"+high, 0)
	l, _ := scanUint("0x"+low, 0)
	return NewUint64(h<<32 | l), nil
}

func isHexHalf(s string) bool {
	for i := range len(s) {
		if digitValue(s[i]) == 16 {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 8
}

func appendLSN(dst []byte, u uint64) []byte {
	return append(dst, strings.ToUpper(strconv.FormatUint(u>>32, 16)+"/"+strconv.FormatUint(u&math.MaxUint32, 16))...)
}

// checkSchema returns an error if a qualified name names a schema that does not exist.
func checkSchema(name string, fc *FormatContext) error {
	schema, _, ok := strings.Cut(name, ".")
	if !ok || fc == nil || fc.Names == nil {
		return nil
	}
	_, err := fc.Names.OidOf(Regnamespace, schema)
	return err
}

// parseOpaque reads a value of the types of OpaqueFamily.
func parseOpaque(t *T, s string, fc *FormatContext) (Datum, error) {
	switch t.Oid {
	case PgSnapshot.Oid, TxidSnapshot.Oid:
		return parseSnapshot(s)
	case ACLItem.Oid:
		return parseACLItem(s, fc)
	}
	return Datum{fam: OpaqueFamily, s: s}, VerifyUTF8(s)
}

func appendOpaque(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	if t.Oid == ACLItem.Oid {
		return appendACLItem(dst, d.ACLItem(), fc)
	}
	return append(dst, d.s...)
}

// appendOpaqueBinary writes the binary form; PostgreSQL has none for aclitem, whose
// text stands for it, with roles by number.
func appendOpaqueBinary(dst []byte, t *T, d Datum) []byte {
	if t.Oid != PgSnapshot.Oid && t.Oid != TxidSnapshot.Oid {
		return appendOpaque(dst, t, d, nil)
	}
	be := binary.BigEndian
	v := d.Snapshot()
	dst = be.AppendUint32(dst, uint32(len(v.Xip)))
	dst = be.AppendUint64(be.AppendUint64(dst, v.Xmin), v.Xmax)
	for _, x := range v.Xip {
		dst = be.AppendUint64(dst, x)
	}
	return dst
}

// opaque reads the binary form.
func (m *message) opaque(t *T) (Datum, error) {
	if t.Oid != PgSnapshot.Oid && t.Oid != TxidSnapshot.Oid {
		return parseOpaque(t, m.rest(), nil)
	}
	n := m.int32()
	v := SnapshotValue{Xmin: uint64(m.int64()), Xmax: uint64(m.int64())}
	for ; n > 0 && m.err == nil; n-- {
		v.Xip = append(v.Xip, uint64(m.int64()))
	}
	if m.err != nil || n < 0 || !v.valid() {
		return Null, errBinary("invalid external pg_snapshot data")
	}
	return NewSnapshot(v), nil
}

// SnapshotValue is a pg_snapshot: transactions below Xmin have ended, none from Xmax on had begun,
// and those of Xip, which rise, were going on.
type SnapshotValue struct {
	Xmin, Xmax uint64
	Xip        []uint64
}

func (v SnapshotValue) valid() bool {
	if v.Xmin == 0 || v.Xmin > v.Xmax || v.Xmax > math.MaxInt64 {
		return false
	}
	last := v.Xmin
	for _, x := range v.Xip {
		if x < last || x >= v.Xmax {
			return false
		}
		last = x
	}
	return true
}

// Sees reports whether what transaction id did is visible in the snapshot.
func (v SnapshotValue) Sees(id uint64) bool {
	_, going := slices.BinarySearch(v.Xip, id)
	return id < v.Xmin || id < v.Xmax && !going
}

// NewSnapshot returns a pg_snapshot.
func NewSnapshot(v SnapshotValue) Datum {
	b := strconv.AppendUint(nil, v.Xmin, 10)
	b = append(strconv.AppendUint(append(b, ':'), v.Xmax, 10), ':')
	for i, x := range slices.Compact(v.Xip) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, x, 10)
	}
	return Datum{fam: OpaqueFamily, s: string(b)}
}

// Snapshot returns the value of a pg_snapshot.
func (d Datum) Snapshot() SnapshotValue {
	v, _ := scanSnapshot(d.s)
	return v
}

func parseSnapshot(s string) (Datum, error) {
	v, ok := scanSnapshot(s)
	if !ok {
		return Null, errSyntax(PgSnapshot, s)
	}
	return NewSnapshot(v), nil
}

// scanSnapshot reads "xmin:xmax:xip,xip".
func scanSnapshot(s string) (v SnapshotValue, ok bool) {
	if v.Xmin, s = scanUint(s, 10); !strings.HasPrefix(s, ":") {
		return v, false
	}
	if v.Xmax, s = scanUint(s[1:], 10); !strings.HasPrefix(s, ":") {
		return v, false
	}
	for s = s[1:]; s != ""; {
		x, rest := scanUint(s, 10)
		if rest != "" && rest[0] != ',' {
			return v, false
		}
		v.Xip = append(v.Xip, x)
		s = strings.TrimPrefix(rest, ",")
	}
	return v, v.valid()
}

// addSystemCasts declares the casts of system types.
func addSystemCasts(add castAdder) {
	add(Xid8, CastExplicit, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
		return NewInt(int64(uint32(d.Uint64()))), nil
	}, Xid)
	add(Money, CastAssignment, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
		return NewDecimalInt(d.n, moneyDigits), nil
	}, Numeric)
	add(Numeric, CastAssignment, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
		return MoneyFromDecimal(d)
	}, Money)
	for _, t := range []*T{Int4, Int8} {
		add(t, CastAssignment, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
			return MoneyFromDecimal(NewDecimalInt(d.n, 0))
		}, Money)
	}
}
