package typeio

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// ParseText reads the text form s of a value of type t: PostgreSQL's input
// function. A modifier of t is applied as an assignment does, so that a too
// long varchar is an error; for an explicit cast, parse with t.WithTypmod(-1)
// and call ApplyTypmod.
func ParseText(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if t.Typmod >= 0 && t.Family != types.IntervalFamily && t.Family != types.ArrayFamily {
		d, err := parseText(t, s, fc)
		if err != nil {
			return types.Null, err
		}
		return types.ApplyTypmod(d, t, false, fc)
	}
	return parseText(t, s, fc)
}

func parseText(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	switch t.Family {
	case types.IntFamily:
		return parseIntText(t, s, fc)
	case types.StringFamily:
		return parseString(t, s, fc)
	case types.FloatFamily:
		return ParseFloat(t, s)
	case types.BoolFamily:
		return parseBool(t, s)
	case types.DecimalFamily:
		return types.ParseDecimal(s)
	case types.BytesFamily:
		return parseBytea(s, fc)
	case types.UUIDFamily:
		return parseUUID(s)
	case types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily:
		return datetime.Parse(t, s, fc)
	case types.JSONFamily:
		return parseJSONText(t, s, fc)
	case types.ArrayFamily:
		return parseArray(t, s, fc)
	case types.VoidFamily:
		return types.VoidDatum, nil
	case types.RecordFamily:
		return parseRecord(t, s, fc)
	case types.EnumFamily:
		return types.EnumValue(t, s)
	case types.InetFamily:
		return parseInet(t, s)
	case types.MACFamily:
		return parseMAC(t, s)
	case types.BitFamily:
		return parseBits(s, fc)
	case types.RangeFamily:
		return parseRange(t, s, fc)
	case types.MultirangeFamily:
		return parseMultirange(t, s, fc)
	case types.TSVectorFamily, types.TSQueryFamily:
		return parseTextSearch(t, s, fc)
	case types.JSONPathFamily:
		return parseJSONPath(s, fc)
	case types.OpaqueFamily:
		return parseOpaque(t, s, fc)
	case types.GeometryFamily:
		return parseGeometry(t, s, fc)
	case types.CitextFamily:
		return parseCitext(s, fc)
	case types.HstoreFamily:
		return parseHstore(s, fc)
	case types.LabelFamily:
		return parseLabels(s, fc)
	}
	return types.Null, pgerr.Unsupported("cannot accept a value of type %s", t.SQLName)
}

// AppendText appends the text form of d, which must not be NULL: PostgreSQL's
// output function.
func AppendText(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	switch d.Family() {
	case types.IntFamily:
		return appendIntText(dst, t, d, fc)
	case types.StringFamily:
		if t.Oid == types.Char.Oid {
			return AppendChar(dst, d.Str())
		}
		return append(dst, d.Str()...)
	case types.JSONFamily:
		return append(dst, d.Str()...)
	case types.FloatFamily:
		return types.AppendFloat(dst, d.Float(), t.Oid == types.Float4.Oid, extraFloatDigits(fc))
	case types.BoolFamily:
		if d.Int() != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case types.DecimalFamily:
		return types.AppendDecimal(dst, d)
	case types.BytesFamily:
		return appendBytea(dst, d.Str(), fc)
	case types.UUIDFamily:
		return appendUUID(dst, d.Str())
	case types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily, types.IntervalFamily:
		return datetime.Append(dst, d, fc)
	case types.ArrayFamily:
		return appendArray(dst, t, d, fc)
	case types.RecordFamily:
		return appendRecord(dst, t, d, fc)
	case types.EnumFamily:
		return appendEnum(dst, t, d, fc)
	case types.InetFamily:
		return appendInet(dst, t, d.Str())
	case types.MACFamily:
		return appendMAC(dst, d.Str())
	case types.BitFamily:
		return appendBits(dst, d, fc)
	case types.RangeFamily:
		return appendRange(dst, t, d.Range(), fc)
	case types.MultirangeFamily:
		return appendMultirange(dst, t, d, fc)
	case types.TSVectorFamily, types.TSQueryFamily, types.JSONPathFamily, types.CitextFamily, types.LabelFamily:
		return append(dst, d.Str()...)
	case types.HstoreFamily:
		return hstore.AppendText(dst, d.Str())
	case types.OpaqueFamily:
		return appendOpaque(dst, t, d, fc)
	case types.GeometryFamily:
		return appendGeometry(dst, t, d, fc)
	}
	return dst
}

// longText is the size from which on the text of a value is not copied once more.
const longText = 64 << 10

// FormatDatum returns the text form of d as a string.
func FormatDatum(t *types.T, d types.Datum, fc *types.FormatContext) string {
	if d.Family() == types.CitextFamily || d.Family() == types.StringFamily && t.Oid != types.Char.Oid {
		return d.Str()
	}
	if len(d.Str()) >= longText {
		return types.Owned(AppendText(nil, t, d, fc))
	}
	var buf [64]byte
	return string(AppendText(buf[:0], t, d, fc))
}

func parseIntText(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	switch {
	case t.IsReg():
		return parseReg(t, s, fc)
	case t.Oid == types.Oid.Oid:
		return parseOid(t, s)
	}
	switch t.Oid {
	case types.Money.Oid:
		return parseMoney(s)
	case types.Xid.Oid, types.CID.Oid, types.Xid8.Oid:
		return parseUnsigned(t, s), nil
	case types.PgLSN.Oid:
		return parseLSN(s)
	case types.TID.Oid:
		return parseTID(s)
	}
	return parseInt(t, s)
}

func appendIntText(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	if t.IsInteger() {
		return strconv.AppendInt(dst, d.Int(), 10)
	}
	switch t.Oid {
	case types.Money.Oid:
		return appendMoney(dst, d.Int())
	case types.Xid8.Oid:
		return strconv.AppendUint(dst, d.Uint64(), 10)
	case types.PgLSN.Oid:
		return appendLSN(dst, d.Uint64())
	case types.TID.Oid:
		return appendTID(dst, d)
	}
	if t.IsReg() {
		return appendReg(dst, t, uint32(d.Int()), fc)
	}
	return strconv.AppendInt(dst, d.Int(), 10)
}

func parseJSONText(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	if t.Oid == types.JSON.Oid {
		return types.NewJSON(s), types.ValidateJSON(s, fc)
	}
	v, err := types.ParseJSON(s, fc)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(v, fc), fc.CountSteps(0)
}

// parseReg reads an object identifier: a number, "-" for none, or a name the
// catalog knows.
func parseReg(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if s == "-" {
		return types.NewInt(0), nil
	}
	if s != "" && ascii.IsDigit(s[0]) {
		if d, err := parseOid(types.Oid, s); err == nil {
			return d, nil
		}
	}
	switch t.Oid {
	case types.Regconfig.Oid:
		return parseRegconfig(s, fc)
	case types.Regdictionary.Oid:
		return parseRegdictionary(s, fc)
	}
	if t.Oid == types.Regtype.Oid {
		if u, ok := types.ByName(typeNameOnly(s)); ok {
			return types.NewInt(int64(u.Oid)), nil
		}
	}
	if fc != nil && fc.Names != nil {
		oid, err := fc.Names.OidOf(t, s)
		return types.NewInt(int64(oid)), err
	}
	switch t.Oid {
	case types.Regtype.Oid:
		return types.Null, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", s)
	case types.Regproc.Oid, types.Regprocedure.Oid:
		return types.Null, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", s)
	case types.Regoper.Oid, types.Regoperator.Oid:
		return types.Null, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", s)
	case types.Regrole.Oid:
		return types.Null, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", s)
	case types.Regcollation.Oid:
		return types.Null, pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", s)
	case types.Regnamespace.Oid:
		return types.Null, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", s)
	}
	return types.Null, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", s)
}

// typeNameOnly drops a modifier and the system schema from a type's name.
func typeNameOnly(s string) string {
	s = strings.TrimPrefix(ascii.TrimSpace(s), "pg_catalog.")
	if open, end := strings.IndexByte(s, '('), strings.IndexByte(s, ')'); open > 0 && end > open {
		s = strings.TrimRight(s[:open], " ") + s[end+1:]
	}
	return s
}

func appendReg(dst []byte, t *types.T, oid uint32, fc *types.FormatContext) []byte {
	if oid == 0 {
		if t.Oid == types.Regoper.Oid || t.Oid == types.Regoperator.Oid { // - is an operator
			return append(dst, '0')
		}
		return append(dst, '-')
	}
	switch t.Oid {
	case types.Regconfig.Oid:
		return appendRegconfig(dst, oid)
	case types.Regdictionary.Oid:
		return appendRegdictionary(dst, oid)
	}
	if fc != nil && fc.Names != nil {
		if name, ok := fc.Names.NameOf(t, oid); ok {
			return append(dst, name...)
		}
	}
	if t.Oid == types.Regtype.Oid {
		if u, ok := types.ByOid(oid); ok && u.Extension() == "" {
			return append(dst, u.SQLName...)
		}
	}
	return strconv.AppendUint(dst, uint64(oid), 10)
}

func extraFloatDigits(fc *types.FormatContext) int {
	if fc == nil {
		return 1
	}
	return fc.ExtraFloatDigits
}
