package types

import (
	"cmp"
	"slices"
	"strings"
)

// Functions over parsed values end early, with a result to be thrown away, once fc.Step fails.

// NewJSONB returns a jsonb value from a parsed one.
func NewJSONB(v JSONValue, fc *FormatContext) Datum {
	return NewJSON(Owned(AppendJSON(nil, v, fc)))
}

// JSONB parses a jsonb datum. Its text was made by AppendJSON, so it does not
// fail; text of type json may break jsonb's rules and then yields null.
func (d Datum) JSONB(fc *FormatContext) JSONValue {
	v, err := ParseJSON(d.s, fc)
	if err != nil {
		return JSONValue{}
	}
	return v
}

// Get returns the member of an object.
func (v JSONValue) Get(key string) (JSONValue, bool) {
	i, ok := slices.BinarySearchFunc(v.Fields, key, func(f *JSONField, k string) int { return compareKeys(f.Key, k) })
	if !ok {
		return JSONValue{}, false
	}
	return v.Fields[i].Value, true
}

// NewJSONObject returns an object of the given members in jsonb order; the last
// of equal keys wins. It takes over fields; fc may be nil.
func NewJSONObject(fields []*JSONField, fc *FormatContext) JSONValue {
	return JSONValue{Kind: KindObject, Fields: sortFields(fields, fc)}
}

func compareKeys(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func sortFields(fields []*JSONField, fc *FormatContext) []*JSONField {
	slices.SortStableFunc(fields, func(a, b *JSONField) int {
		if fc.Stopped(1) {
			return 0
		}
		return compareKeys(a.Key, b.Key)
	})
	out := fields[:0]
	for i, f := range fields {
		if i+1 < len(fields) && fields[i+1].Key == f.Key {
			continue
		}
		out = append(out, f)
	}
	return out
}

// AppendJSON appends the text of v as jsonb prints it.
func AppendJSON(dst []byte, v JSONValue, fc *FormatContext) []byte {
	if fc.CountSteps(1) != nil {
		return dst
	}
	switch v.Kind {
	case KindNull:
		return append(dst, "null"...)
	case KindString:
		return AppendJSONString(dst, v.Str, fc)
	case KindNumber:
		return AppendDecimal(dst, v.Num)
	case KindBool:
		if v.Bool {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case KindArray:
		dst = append(dst, '[')
		for i, e := range v.Elems.All() {
			if fc.Stopped(0) {
				return dst
			}
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = AppendJSON(dst, e, fc)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, f := range v.Fields {
		if fc.Stopped(0) {
			return dst
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = AppendJSONString(dst, f.Key, fc)
		dst = append(dst, ": "...)
		dst = AppendJSON(dst, f.Value, fc)
	}
	return append(dst, '}')
}

// AppendJSONString appends s as a JSON string literal.
func AppendJSONString(dst []byte, s string, fc *FormatContext) []byte {
	dst = append(dst, '"')
	for len(s) > StepBytes && fc.CountSteps(StepBytes) == nil {
		dst = appendJSONEscaped(dst, s[:StepBytes])
		s = s[StepBytes:]
	}
	return append(appendJSONEscaped(dst, s[:min(len(s), StepBytes)]), '"')
}

func appendJSONEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	plain := 0 // from where on characters stand for themselves
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[plain:i]...)
		plain = i + 1
		switch {
		case c >= 0x20:
			dst = append(dst, '\\', c)
		case strings.IndexByte("\b\f\n\r\t", c) >= 0:
			dst = append(dst, '\\', "bfnrt"[strings.IndexByte("\b\f\n\r\t", c)])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, s[plain:]...)
}

// CompareJSON orders two jsonb values as PostgreSQL does: by kind, containers
// by size before content. At the top level an empty array sorts before every
// scalar, other arrays after.
func CompareJSON(a, b JSONValue, fc *FormatContext) int {
	aScalar, bScalar := a.Kind < KindArray, b.Kind < KindArray
	if aScalar != bScalar {
		if aScalar {
			return -CompareJSON(b, a, fc)
		}
		if a.Kind == KindArray && a.Elems.Len() == 0 {
			return -1
		}
		return 1
	}
	return compareJSON(a, b, fc)
}

func compareJSON(a, b JSONValue, fc *FormatContext) int {
	if fc.CountSteps(1) != nil {
		return 0
	}
	if c := cmp.Compare(a.Kind, b.Kind); c != 0 {
		return c
	}
	switch a.Kind {
	case KindString:
		return CompareStrings(a.Str, b.Str, fc)
	case KindNumber:
		return compareDecimals(a.Num, b.Num)
	case KindBool:
		return compareBools(a.Bool, b.Bool)
	case KindArray:
		if c := cmp.Compare(a.Elems.Len(), b.Elems.Len()); c != 0 {
			return c
		}
		for i, e := range a.Elems.All() {
			if c := compareJSON(e, b.Elems.At(i), fc); c != 0 {
				return c
			}
		}
	case KindObject:
		if c := cmp.Compare(len(a.Fields), len(b.Fields)); c != 0 {
			return c
		}
		for i := range a.Fields {
			if c := strings.Compare(a.Fields[i].Key, b.Fields[i].Key); c != 0 {
				return c
			}
			if c := compareJSON(a.Fields[i].Value, b.Fields[i].Value, fc); c != 0 {
				return c
			}
		}
	}
	return 0
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// appendJSONKey appends the hash key of v.
func appendJSONKey(dst []byte, v JSONValue, fc *FormatContext) []byte {
	if fc.Stopped(1) {
		return dst
	}
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case KindString:
		dst = appendStringKey(dst, v.Str, fc)
	case KindNumber:
		dst = appendDecimalKey(dst, v.Num)
	case KindBool:
		dst = append(dst, boolByte(v.Bool))
	case KindArray:
		dst = appendUvarint(dst, uint64(v.Elems.Len()))
		for _, e := range v.Elems.All() {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendJSONKey(dst, e, fc)
		}
	case KindObject:
		dst = appendUvarint(dst, uint64(len(v.Fields)))
		for _, f := range v.Fields {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendStringKey(dst, f.Key, fc)
			dst = appendJSONKey(dst, f.Value, fc)
		}
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
