package casts

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Cast is a way from one type to another.
type Cast struct {
	Context types.CastContext
	// Method is pg_cast.castmethod: 'f' by function, 'b' binary coercible,
	// 'i' through text.
	Method byte
	// Fn converts; nil when a datum serves both types as it is. It leaves the
	// target's modifier to ApplyTypmod, but reads interval fields from it.
	Fn types.CastFunc
	// Declared is what CREATE CAST made, nil for a cast of the system. If that has a function, expressions call
	// it; Fn converts what is no expression's, and has no values but those of sessions.
	Declared *types.CastDef
}

// Function returns the function that users have given the cast, nil if there is none.
func (c *Cast) Function() *types.CastFunction {
	if c.Declared == nil {
		return nil
	}
	return c.Declared.Function
}

type castKey struct{ from, to uint32 }

// byTypes holds every pg_cast row between predeclared types that does not adjust
// a length.
var byTypes = castTable()

// Find returns the cast from one type to another: the identity, a row of
// pg_cast, through text for strings, element by element for arrays.
func Find(from, to *types.T) (Cast, bool) {
	if from.Oid == to.Oid {
		return Cast{Context: types.CastImplicit, Method: 'b'}, true
	}
	if c, ok := byTypes[castKey{from.Oid, to.Oid}]; ok {
		return c, true
	}
	if from.Oid == types.Unknown.Oid && to.Family != types.AnyFamily {
		return Cast{Context: types.CastImplicit, Method: 'i', Fn: castFromText}, true
	}
	if isArrayType(from) && isArrayType(to) && !types.IsVector(to) {
		return arrayCast(from, to)
	}
	if to.Def != nil || from.Def != nil {
		if has, i := types.DeclaredCast(from, to); has != nil && !from.IsDomain() && !to.IsDomain() {
			return declaredCast(&has.Def.Casts[i], from, to), true
		}
		if c, ok := recordCast(from, to); ok {
			return c, true
		}
		if to.Family == types.MultirangeFamily && to.Sub.Oid == from.Oid {
			return Cast{Context: types.CastExplicit, Method: 'f', Fn: castToMultirange}, true
		}
	}
	switch {
	case from.Family == types.AnyFamily || to.Family == types.AnyFamily || from.Family == types.VoidFamily && to.Category() != 'S':
		return Cast{}, false
	case to.Category() == 'S':
		return Cast{Context: types.CastAssignment, Method: 'i', Fn: castToText(from)}, true
	case from.Category() == 'S':
		return Cast{Context: types.CastExplicit, Method: 'i', Fn: castFromText}, true
	}
	return Cast{}, false
}

// declaredCast returns a cast that CREATE CAST has made.
func declaredCast(def *types.CastDef, from, to *types.T) Cast {
	c := Cast{Context: def.Context, Method: 'i', Fn: castFromText, Declared: def}
	if def.Function != nil {
		c.Method, c.Fn = 'f', castByFunction(from)
	} else if to.Category() == 'S' {
		c.Fn = castToText(from)
	} else if from.Category() != 'S' {
		c.Fn = castThroughText(from)
	}
	return c
}

// castByFunction calls the function of a cast.
func castByFunction(from *types.T) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		if fc == nil || fc.Cast == nil {
			return types.Null, pgerr.Unsupported("casts by a user's function are not available here")
		}
		return fc.Cast(from, to, d)
	}
}

func isArrayType(t *types.T) bool { return t.Family == types.ArrayFamily && t.Elem != nil }

// IsSystem reports whether a cast is a row of pg_cast between predeclared types.
func IsSystem(from, to *types.T) bool {
	_, ok := byTypes[castKey{from.Oid, to.Oid}]
	return ok
}

// Each calls f for every row of pg_cast between predeclared types.
func Each(f func(from, to *types.T, c Cast)) {
	each(types.All(), f)
}

// EachOf calls f for the casts that an extension brings.
func EachOf(extension string, f func(from, to *types.T, c Cast)) {
	each(append(types.OfExtension(extension), types.All()...), func(from, to *types.T, c Cast) {
		if from.Extension() == extension || to.Extension() == extension {
			f(from, to, c)
		}
	})
}

func each(list []*types.T, f func(from, to *types.T, c Cast)) {
	for _, a := range list {
		for _, b := range list {
			if c, ok := byTypes[castKey{a.Oid, b.Oid}]; ok {
				f(a, b, c)
			}
		}
	}
}

func arrayCast(from, to *types.T) (Cast, bool) {
	if from.Elem.Oid == to.Elem.Oid {
		return Cast{Context: types.CastImplicit, Method: 'b'}, true
	}
	c, ok := Find(from.Elem, to.Elem)
	if !ok || c.Fn == nil {
		return c, ok
	}
	fn := c.Fn
	c.Fn = func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		elem := to.Elem.WithTypmod(to.Typmod)
		return types.MapArray(d, fc, func(e types.Datum) (types.Datum, error) { return fn(fc, e, elem) })
	}
	return c, true
}

// castFromText reads a value from its text form.
func castFromText(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	if to.Family != types.IntervalFamily {
		to = to.WithTypmod(-1)
	}
	return typeio.ParseText(to, d.Str(), fc)
}

// castToText prints a value, as a name cut to a name's length.
func castToText(from *types.T) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		return fitName(typeio.FormatDatum(from, d, fc), to), nil
	}
}

// castThroughText prints a value and reads it as one of another type.
func castThroughText(from *types.T) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		return castFromText(fc, types.NewString(typeio.FormatDatum(from, d, fc)), to)
	}
}

func fitName(s string, to *types.T) types.Datum {
	if to.Oid == types.Name.Oid {
		s = types.TruncateName(s)
	}
	return types.NewString(s)
}

func castTable() map[castKey]Cast {
	m := map[castKey]Cast{}
	add := func(from *types.T, ctx types.CastContext, method byte, fn types.CastFunc, to ...*types.T) {
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
	addGeometryCasts(add)
	addSystemCasts(add)
	addExtensionCasts(add)
	return m
}

type castAdder func(from *types.T, ctx types.CastContext, method byte, fn types.CastFunc, to ...*types.T)

func addStringCasts(add castAdder) {
	const i, a, e = types.CastImplicit, types.CastAssignment, types.CastExplicit
	add(types.Bool, a, 'f', castBoolText, types.Text, types.Varchar, types.Bpchar)
	add(types.Bool, e, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewInt(d.Int()), nil
	}, types.Int4)
	add(types.Int4, e, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewBool(d.Int() != 0), nil
	}, types.Bool)
	add(types.Bpchar, i, 'f', castTrim, types.Text, types.Varchar, types.Name)
	add(types.Bpchar, a, 'f', castToChar, types.Char)
	add(types.PgNodeTree, i, 'b', nil, types.Text)
	add(types.Text, i, 'b', nil, types.Bpchar, types.Varchar)
	add(types.Text, a, 'f', castToChar, types.Char)
	add(types.Text, i, 'f', castTrimName, types.Name)
	add(types.Varchar, i, 'b', nil, types.Text, types.Bpchar)
	add(types.Varchar, a, 'f', castToChar, types.Char)
	add(types.Varchar, i, 'f', castTrimName, types.Name)
	add(types.Text, i, 'f', castFromText, types.Regclass)
	add(types.Varchar, i, 'f', castFromText, types.Regclass)
	add(types.Name, i, 'f', nil, types.Text)
	add(types.Name, a, 'f', nil, types.Varchar, types.Bpchar)
	add(types.Char, i, 'f', castCharText, types.Text)
	add(types.Char, a, 'f', castCharText, types.Varchar, types.Bpchar)
	add(types.Char, e, 'f', castCharInt, types.Int4)
	add(types.Int4, e, 'f', castIntChar, types.Char)
}

func castBoolText(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.Int() != 0 {
		return types.NewString("true"), nil
	}
	return types.NewString("false"), nil
}

func castTrim(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	return fitName(strings.TrimRight(d.Str(), " "), to), nil
}

func castTrimName(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	return fitName(d.Str(), to), nil
}

func castToChar(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewString(typeio.CharByte(d.Str())), nil
}

func castCharText(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewString(string(typeio.AppendChar(nil, d.Str()))), nil
}

func castCharInt(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.Str() == "" {
		return types.NewInt(0), nil
	}
	return types.NewInt(int64(int8(d.Str()[0]))), nil
}

func castIntChar(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.Int() != int64(int8(d.Int())) {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
	}
	return types.NewString(typeio.CharByte(string([]byte{byte(d.Int())}))), nil
}

func addJSONCasts(add castAdder) {
	add(types.JSON, types.CastAssignment, 'i', castFromText, types.JSONB)
	add(types.JSONB, types.CastAssignment, 'i', nil, types.JSON)
	add(types.JSONB, types.CastExplicit, 'f', castJSONB, types.Bool, types.Numeric, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8)
}

var jsonKindNames = [...]string{
	types.KindNull: "null", types.KindString: "string", types.KindNumber: "numeric",
	types.KindBool: "boolean", types.KindArray: "array", types.KindObject: "object",
}

// castJSONB converts a scalar jsonb to a boolean or number.
func castJSONB(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	v := d.JSONB(fc)
	if err := fc.CountSteps(0); err != nil {
		return types.Null, err
	}
	switch {
	case to.Family == types.BoolFamily && v.Kind == types.KindBool:
		return types.NewBool(v.Bool), nil
	case to.Family == types.DecimalFamily && v.Kind == types.KindNumber:
		return v.Num, nil
	case to.Family != types.BoolFamily && v.Kind == types.KindNumber:
		return castDecimal(fc, v.Num, to)
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue,
		"cannot cast jsonb %s to type %s", jsonKindNames[v.Kind], to.SQLName)
}
