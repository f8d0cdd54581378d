package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

// CastContext says where a cast may be applied.
type CastContext byte

// The contexts, as in pg_cast.castcontext: everywhere, when storing into a
// column, only when written.
const (
	CastImplicit   CastContext = 'i'
	CastAssignment CastContext = 'a'
	CastExplicit   CastContext = 'e'
)

// Allows reports whether a cast of context c may be applied in context in.
func (c CastContext) Allows(in CastContext) bool {
	switch c {
	case CastImplicit:
		return true
	case CastAssignment:
		return in != CastImplicit
	}
	return in == CastExplicit
}

// CastFunc converts a datum that is not NULL; the result may be NULL.
type CastFunc func(fc *FormatContext, d Datum, to *T) (Datum, error)

// Cast is a way from one type to another.
type Cast struct {
	Context CastContext
	// Method is pg_cast.castmethod: 'f' by function, 'b' binary coercible,
	// 'i' through text.
	Method byte
	// Fn converts; nil when a datum serves both types as it is. It leaves the
	// target's modifier to ApplyTypmod, but reads interval fields from it.
	Fn CastFunc
}

type castKey struct{ from, to uint32 }

// casts holds every pg_cast row between predeclared types that does not adjust
// a length.
var casts = castTable()

// FindCast returns the cast from one type to another: the identity, a row of
// pg_cast, through text for strings, element by element for arrays.
func FindCast(from, to *T) (Cast, bool) {
	if from.Oid == to.Oid {
		return Cast{Context: CastImplicit, Method: 'b'}, true
	}
	if c, ok := casts[castKey{from.Oid, to.Oid}]; ok {
		return c, true
	}
	if from.Oid == Unknown.Oid && to.Family != AnyFamily {
		return Cast{Context: CastImplicit, Method: 'i', Fn: castFromText}, true
	}
	if isArrayType(from) && isArrayType(to) && !isVector(to) {
		return arrayCast(from, to)
	}
	if to.Def != nil || from.Def != nil {
		if has, i := DeclaredCast(from, to); has != nil {
			return has.Def.Casts[i].cast(from, to), true
		}
		if c, ok := recordCast(from, to); ok {
			return c, true
		}
		if to.Family == MultirangeFamily && to.Sub.Oid == from.Oid {
			return Cast{Context: CastExplicit, Method: 'f', Fn: castToMultirange}, true
		}
	}
	switch {
	case from.Family == AnyFamily || to.Family == AnyFamily || from.Family == VoidFamily && to.Category() != 'S':
		return Cast{}, false
	case to.Category() == 'S':
		return Cast{Context: CastAssignment, Method: 'i', Fn: castToText(from)}, true
	case from.Category() == 'S':
		return Cast{Context: CastExplicit, Method: 'i', Fn: castFromText}, true
	}
	return Cast{}, false
}

func (d *CastDef) cast(from, to *T) Cast {
	c := Cast{Context: d.Context, Method: 'i', Fn: castFromText}
	if to.Category() == 'S' {
		c.Fn = castToText(from)
	} else if from.Category() != 'S' {
		c.Fn = castThroughText(from)
	}
	return c
}

func isArrayType(t *T) bool { return t.Family == ArrayFamily && t.Elem != nil }

// IsSystemCast reports whether a cast is a row of pg_cast between predeclared types.
func IsSystemCast(from, to *T) bool {
	_, ok := casts[castKey{from.Oid, to.Oid}]
	return ok
}

// EachCast calls f for every row of pg_cast between predeclared types.
func EachCast(f func(from, to *T, c Cast)) {
	for _, a := range All() {
		for _, b := range All() {
			if c, ok := casts[castKey{a.Oid, b.Oid}]; ok {
				f(a, b, c)
			}
		}
	}
}

func arrayCast(from, to *T) (Cast, bool) {
	if from.Elem.Oid == to.Elem.Oid {
		return Cast{Context: CastImplicit, Method: 'b'}, true
	}
	c, ok := FindCast(from.Elem, to.Elem)
	if !ok || c.Fn == nil {
		return c, ok
	}
	fn := c.Fn
	c.Fn = func(fc *FormatContext, d Datum, to *T) (Datum, error) {
		elem := to.Elem.WithTypmod(to.Typmod)
		return mapArray(d, func(e Datum) (Datum, error) { return fn(fc, e, elem) })
	}
	return c, true
}

// castFromText reads a value from its text form.
func castFromText(fc *FormatContext, d Datum, to *T) (Datum, error) {
	if to.Family != IntervalFamily {
		to = to.WithTypmod(-1)
	}
	return ParseText(to, d.s, fc)
}

// castToText prints a value, as a name cut to a name's length.
func castToText(from *T) CastFunc {
	return func(fc *FormatContext, d Datum, to *T) (Datum, error) {
		return fitName(FormatDatum(from, d, fc), to), nil
	}
}

// castThroughText prints a value and reads it as one of another type.
func castThroughText(from *T) CastFunc {
	return func(fc *FormatContext, d Datum, to *T) (Datum, error) {
		return castFromText(fc, NewString(FormatDatum(from, d, fc)), to)
	}
}

func fitName(s string, to *T) Datum {
	if to.Oid == Name.Oid {
		s = TruncateName(s)
	}
	return NewString(s)
}

func castTable() map[castKey]Cast {
	m := map[castKey]Cast{}
	add := func(from *T, ctx CastContext, method byte, fn CastFunc, to ...*T) {
		for _, t := range to {
			m[castKey{from.Oid, t.Oid}] = Cast{Context: ctx, Method: method, Fn: fn}
		}
	}
	addNumericCasts(add)
	addOidCasts(add)
	addStringCasts(add)
	addTimeCasts(add)
	addJSONCasts(add)
	addBitCasts(add)
	addNetworkCasts(add)
	addRangeCasts(add)
	addSystemCasts(add)
	return m
}

type castAdder func(from *T, ctx CastContext, method byte, fn CastFunc, to ...*T)

func addStringCasts(add castAdder) {
	const i, a, e = CastImplicit, CastAssignment, CastExplicit
	add(Bool, a, 'f', castBoolText, Text, Varchar, Bpchar)
	add(Bool, e, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) { return NewInt(d.n), nil }, Int4)
	add(Int4, e, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) { return NewBool(d.n != 0), nil }, Bool)
	add(Bpchar, i, 'f', castTrim, Text, Varchar, Name)
	add(Bpchar, a, 'f', castToChar, Char)
	add(PgNodeTree, i, 'b', nil, Text)
	add(Text, i, 'b', nil, Bpchar, Varchar)
	add(Text, a, 'f', castToChar, Char)
	add(Text, i, 'f', castTrimName, Name)
	add(Varchar, i, 'b', nil, Text, Bpchar)
	add(Varchar, a, 'f', castToChar, Char)
	add(Varchar, i, 'f', castTrimName, Name)
	add(Text, i, 'f', castFromText, Regclass)
	add(Varchar, i, 'f', castFromText, Regclass)
	add(Name, i, 'f', nil, Text)
	add(Name, a, 'f', nil, Varchar, Bpchar)
	add(Char, i, 'f', castCharText, Text)
	add(Char, a, 'f', castCharText, Varchar, Bpchar)
	add(Char, e, 'f', castCharInt, Int4)
	add(Int4, e, 'f', castIntChar, Char)
}

func castBoolText(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.n != 0 {
		return NewString("true"), nil
	}
	return NewString("false"), nil
}

func castTrim(_ *FormatContext, d Datum, to *T) (Datum, error) {
	return fitName(trimBlanks(d.s), to), nil
}

func castTrimName(_ *FormatContext, d Datum, to *T) (Datum, error) { return fitName(d.s, to), nil }

func castToChar(_ *FormatContext, d Datum, _ *T) (Datum, error) { return NewString(charByte(d.s)), nil }

func castCharText(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewString(string(appendChar(nil, d.s))), nil
}

func castCharInt(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.s == "" {
		return NewInt(0), nil
	}
	return NewInt(int64(int8(d.s[0]))), nil
}

func castIntChar(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.n != int64(int8(d.n)) {
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
	}
	return NewString(charByte(string([]byte{byte(d.n)}))), nil
}

func addJSONCasts(add castAdder) {
	add(JSON, CastAssignment, 'i', castFromText, JSONB)
	add(JSONB, CastAssignment, 'i', nil, JSON)
	add(JSONB, CastExplicit, 'f', castJSONB, Bool, Numeric, Int2, Int4, Int8, Float4, Float8)
}

var jsonKindNames = [...]string{
	KindNull: "null", KindString: "string", KindNumber: "numeric",
	KindBool: "boolean", KindArray: "array", KindObject: "object",
}

// castJSONB converts a scalar jsonb to a boolean or number.
func castJSONB(fc *FormatContext, d Datum, to *T) (Datum, error) {
	v := d.JSONB()
	switch {
	case to.Family == BoolFamily && v.Kind == KindBool:
		return NewBool(v.Bool), nil
	case to.Family == DecimalFamily && v.Kind == KindNumber:
		return v.Num, nil
	case to.Family != BoolFamily && v.Kind == KindNumber:
		return castDecimal(fc, v.Num, to)
	}
	return Null, pgerr.New(pgerr.InvalidParameterValue,
		"cannot cast jsonb %s to type %s", jsonKindNames[v.Kind], to.SQLName)
}
