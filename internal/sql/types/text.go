package types

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ParseText reads the text form s of a value of type t: PostgreSQL's input
// function. A modifier of t is applied as an assignment does, so that a too
// long varchar is an error; for an explicit cast, parse with t.WithTypmod(-1)
// and call ApplyTypmod.
func ParseText(t *T, s string, fc *FormatContext) (Datum, error) {
	if t.Typmod >= 0 && t.Family != IntervalFamily && t.Family != ArrayFamily {
		d, err := parseText(t, s, fc)
		if err != nil {
			return Null, err
		}
		return ApplyTypmod(d, t, false)
	}
	return parseText(t, s, fc)
}

func parseText(t *T, s string, fc *FormatContext) (Datum, error) {
	switch t.Family {
	case IntFamily:
		return parseIntText(t, s, fc)
	case StringFamily:
		return parseString(t, s)
	case FloatFamily:
		return parseFloat(t, s)
	case BoolFamily:
		return parseBool(t, s)
	case DecimalFamily:
		return parseDecimal(s)
	case BytesFamily:
		return parseBytea(s)
	case UUIDFamily:
		return parseUUID(s)
	case DateFamily, TimeFamily, TimeTZFamily, TimestampFamily, TimestampTZFamily, IntervalFamily:
		return parseDateTime(t, s, fc)
	case JSONFamily:
		return parseJSONText(t, s, fc)
	case ArrayFamily:
		return parseArray(t, s, fc)
	case VoidFamily:
		return VoidDatum, nil
	case RecordFamily:
		return parseRecord(t, s, fc)
	case EnumFamily:
		return parseEnum(t, s)
	case InetFamily:
		return parseInet(t, s)
	case MACFamily:
		return parseMAC(t, s)
	case BitFamily:
		return parseBits(s)
	case RangeFamily:
		return parseRange(t, s, fc)
	case MultirangeFamily:
		return parseMultirange(t, s, fc)
	case TSVectorFamily, TSQueryFamily:
		return parseTextSearch(t, s)
	case JSONPathFamily:
		return parseJSONPath(s)
	case OpaqueFamily:
		return parseOpaque(t, s, fc)
	}
	return Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
}

// AppendText appends the text form of d, which must not be NULL: PostgreSQL's
// output function.
func AppendText(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	switch d.fam {
	case IntFamily:
		return appendIntText(dst, t, d, fc)
	case StringFamily:
		if t.Oid == Char.Oid {
			return appendChar(dst, d.s)
		}
		return append(dst, d.s...)
	case JSONFamily:
		return append(dst, d.s...)
	case FloatFamily:
		return appendFloat(dst, d.Float(), t.Oid == Float4.Oid, fc.extraFloatDigits())
	case BoolFamily:
		if d.n != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case DecimalFamily:
		return appendDecimal(dst, d)
	case BytesFamily:
		return appendBytea(dst, d.s, fc)
	case UUIDFamily:
		return appendUUID(dst, d.s)
	case DateFamily, TimeFamily, TimeTZFamily, TimestampFamily, TimestampTZFamily, IntervalFamily:
		return appendDateTime(dst, d, fc)
	case ArrayFamily:
		return appendArray(dst, t, d, fc)
	case RecordFamily:
		return appendRecord(dst, t, d, fc)
	case EnumFamily:
		return appendEnum(dst, t, d, fc)
	case InetFamily:
		return appendInet(dst, t, d.s)
	case MACFamily:
		return appendMAC(dst, d.s)
	case BitFamily:
		return appendBits(dst, d)
	case RangeFamily:
		return appendRange(dst, t, d.Range(), fc)
	case MultirangeFamily:
		return appendMultirange(dst, t, d, fc)
	case TSVectorFamily, TSQueryFamily, JSONPathFamily:
		return append(dst, d.s...)
	case OpaqueFamily:
		return appendOpaque(dst, t, d, fc)
	}
	return dst
}

// FormatDatum returns the text form of d as a string.
func FormatDatum(t *T, d Datum, fc *FormatContext) string {
	if d.fam == StringFamily && t.Oid != Char.Oid {
		return d.s
	}
	var buf [64]byte
	return string(AppendText(buf[:0], t, d, fc))
}

func parseIntText(t *T, s string, fc *FormatContext) (Datum, error) {
	switch {
	case t.IsReg():
		return parseReg(t, s, fc)
	case t.Oid == Oid.Oid:
		return parseOid(t, s)
	}
	switch t.Oid {
	case Money.Oid:
		return parseMoney(s)
	case Xid.Oid, CID.Oid, Xid8.Oid:
		return parseUnsigned(t, s), nil
	case PgLSN.Oid:
		return parseLSN(s)
	case TID.Oid:
		return parseTID(s)
	}
	return parseInt(t, s)
}

func appendIntText(dst []byte, t *T, d Datum, fc *FormatContext) []byte {
	if t.IsInteger() {
		return strconv.AppendInt(dst, d.n, 10)
	}
	switch t.Oid {
	case Money.Oid:
		return appendMoney(dst, d.n)
	case Xid8.Oid:
		return strconv.AppendUint(dst, d.Uint64(), 10)
	case PgLSN.Oid:
		return appendLSN(dst, d.Uint64())
	case TID.Oid:
		return appendTID(dst, d)
	}
	if t.IsReg() {
		return appendReg(dst, t, uint32(d.n), fc)
	}
	return strconv.AppendInt(dst, d.n, 10)
}

func parseJSONText(t *T, s string, fc *FormatContext) (Datum, error) {
	if err := VerifyUTF8(s); err != nil {
		return Null, err
	}
	if t.Oid == JSON.Oid {
		p := jsonParser{s: s, fc: fc}
		_, err := p.document()
		return NewJSON(s), p.located(err)
	}
	p := jsonParser{s: s, build: true, fc: fc}
	v, err := p.document()
	if err != nil {
		return Null, p.located(err)
	}
	return NewJSONB(v), nil
}

// parseReg reads an object identifier: a number, "-" for none, or a name the
// catalog knows.
func parseReg(t *T, s string, fc *FormatContext) (Datum, error) {
	if s == "-" {
		return NewInt(0), nil
	}
	if s != "" && isDigit(s[0]) {
		if d, err := parseOid(Oid, s); err == nil {
			return d, nil
		}
	}
	switch t.Oid {
	case Regconfig.Oid:
		return parseRegconfig(s, fc)
	case Regdictionary.Oid:
		return parseRegdictionary(s, fc)
	}
	if t.Oid == Regtype.Oid {
		if u, ok := ByName(typeNameOnly(s)); ok {
			return NewInt(int64(u.Oid)), nil
		}
	}
	if fc != nil && fc.Names != nil {
		oid, err := fc.Names.OidOf(t, s)
		return NewInt(int64(oid)), err
	}
	switch t.Oid {
	case Regtype.Oid:
		return Null, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", s)
	case Regproc.Oid, Regprocedure.Oid:
		return Null, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", s)
	case Regoper.Oid, Regoperator.Oid:
		return Null, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", s)
	case Regrole.Oid:
		return Null, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", s)
	case Regcollation.Oid:
		return Null, pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", s)
	case Regnamespace.Oid:
		return Null, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", s)
	}
	return Null, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", s)
}

// typeNameOnly drops a modifier and the system schema from a type's name.
func typeNameOnly(s string) string {
	s = strings.TrimPrefix(trimSpace(s), "pg_catalog.")
	if open, end := strings.IndexByte(s, '('), strings.IndexByte(s, ')'); open > 0 && end > open {
		s = strings.TrimRight(s[:open], " ") + s[end+1:]
	}
	return s
}

func appendReg(dst []byte, t *T, oid uint32, fc *FormatContext) []byte {
	if oid == 0 {
		return append(dst, '-')
	}
	switch t.Oid {
	case Regconfig.Oid:
		return appendRegconfig(dst, oid)
	case Regdictionary.Oid:
		return appendRegdictionary(dst, oid)
	}
	if fc != nil && fc.Names != nil {
		if name, ok := fc.Names.NameOf(t, oid); ok {
			return append(dst, name...)
		}
	}
	if t.Oid == Regtype.Oid {
		if u, ok := ByOid(oid); ok {
			return append(dst, u.SQLName...)
		}
	}
	return strconv.AppendUint(dst, uint64(oid), 10)
}
