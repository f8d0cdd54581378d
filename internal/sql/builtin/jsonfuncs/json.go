package jsonfuncs

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func jsonOperators() []*call.Overload {
	var all []*call.Overload
	for _, t := range []string{"json", "jsonb"} {
		raw := t == "json"
		all = append(all,
			call.Op(t+" -> text "+t, jsonGet(raw, false)), call.Op(t+" -> int4 "+t, jsonGet(raw, false)),
			call.Op(t+" ->> text text", jsonGet(raw, true)), call.Op(t+" ->> int4 text", jsonGet(raw, true)),
			call.Op(t+" #> _text "+t, jsonPath(raw, false)), call.Op(t+" #>> _text text", jsonPath(raw, true)))
	}
	return append(all,
		call.Op("jsonb @> jsonb bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonContains(c, a[0].JSONB(c.Format), a[1].JSONB(c.Format))
		}),
		call.Op("jsonb <@ jsonb bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonContains(c, a[1].JSONB(c.Format), a[0].JSONB(c.Format))
		}),
		call.Op("jsonb || jsonb jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonConcat(c, a[0].JSONB(c.Format), a[1].JSONB(c.Format))
		}),
		call.Op("jsonb - text jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonDelete(c, a[0].JSONB(c.Format), a[1].Str())
		}),
		call.Op("jsonb - _text jsonb", jsonDeleteKeys),
		call.Op("jsonb - int4 jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonDeleteAt(c, a[0].JSONB(c.Format), a[1].Int())
		}),
		call.Op("jsonb ? text bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(jsonHasKey(a[0].JSONB(c.Format), a[1].Str())), nil
		}))
}

// jsonDeleteKeys is jsonb - text[].
func jsonDeleteKeys(c *call.Context, a []types.Datum) (types.Datum, error) {
	if len(a[1].ArrayDims()) > 1 {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	var keys []string
	for _, k := range a[1].DecodeArray(c.Format).Elems {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if !k.IsNull() {
			keys = append(keys, k.Str())
		}
	}
	return jsonDelete(c, a[0].JSONB(c.Format), keys...)
}

func jsonFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("json_typeof(json) text", jsonTypeof), call.Fn("jsonb_typeof(jsonb) text", jsonTypeof),
		call.Fn("json_array_length(json) int4", jsonArrayLength), call.Fn("jsonb_array_length(jsonb) int4", jsonArrayLength),
		call.FnBind("to_json(anyelement) json", bindToJSON(false)).Stable(), call.FnBind("to_jsonb(anyelement) jsonb", bindToJSON(true)).Stable(),
		call.FnBind("array_to_json(anyarray) json", bindToJSON(false)).Stable(),
		call.FnBind("json_build_array(any...) json", bindBuildArray(false)).NonStrict().Stable(),
		call.FnBind("jsonb_build_array(any...) jsonb", bindBuildArray(true)).NonStrict().Stable(),
		call.FnBind("json_build_object(any...) json", bindBuildObject(false)).NonStrict().Stable(),
		call.FnBind("jsonb_build_object(any...) jsonb", bindBuildObject(true)).NonStrict().Stable(),
	}
}

// jsonPart is a value inside of a json (raw text) or jsonb (parsed) value.
type jsonPart struct {
	raw    string
	parsed types.JSONValue
	isRaw  bool
	fc     *types.FormatContext
}

func newJSONPart(c *call.Context, d types.Datum, raw bool) jsonPart {
	if raw {
		return jsonPart{raw: d.Str(), isRaw: true, fc: c.Format}
	}
	return jsonPart{parsed: d.JSONB(c.Format), fc: c.Format}
}

// field returns a member of an object.
func (p jsonPart) field(key string) (jsonPart, bool) {
	if !p.isRaw {
		v, ok := p.parsed.Get(key)
		return jsonPart{parsed: v, fc: p.fc}, ok && p.parsed.Kind == types.KindObject
	}
	if types.RawJSONKind(p.raw) != types.KindObject {
		return p, false
	}
	found := false
	var value string
	err := types.EachJSONMember(p.raw, p.fc, func(m types.RawMember) bool {
		if m.Key == key { // the last one counts
			value, found = m.Value, true
		}
		return true
	})
	if err != nil || !found {
		return p, false
	}
	return jsonPart{raw: value, isRaw: true, fc: p.fc}, true
}

// element returns an element of an array; negative positions count from the
// end.
func (p jsonPart) element(i int64) (jsonPart, bool) {
	if p.isRaw {
		return p.rawElement(i)
	}
	n := int64(p.parsed.Elems.Len())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return p, false
	}
	return jsonPart{parsed: p.parsed.Elems.At(int(i)), fc: p.fc}, true
}

func (p jsonPart) rawElement(i int64) (jsonPart, bool) {
	if types.RawJSONKind(p.raw) != types.KindArray {
		return p, false
	}
	if i < 0 {
		n, err := p.rawLen()
		if i += n; i < 0 || err != nil {
			return p, false
		}
	}
	found := false
	var value string
	err := types.EachJSONMember(p.raw, p.fc, func(m types.RawMember) bool {
		value, found = m.Value, i == 0
		i--
		return !found
	})
	if err != nil || !found {
		return p, false
	}
	return jsonPart{raw: value, isRaw: true, fc: p.fc}, true
}

// rawLen is the number of members or elements.
func (p jsonPart) rawLen() (n int64, err error) {
	err = types.EachJSONMember(p.raw, p.fc, func(types.RawMember) bool {
		n++
		return true
	})
	return n, err
}

// datum returns the part as a json value, or as text with strings unquoted
// and null as NULL.
func (p jsonPart) datum(asText bool) types.Datum {
	if !asText {
		if p.isRaw {
			return types.NewJSON(p.raw)
		}
		return types.NewJSONB(p.parsed, p.fc)
	}
	if p.isRaw {
		v, err := types.ParseJSON(p.raw, p.fc)
		if err != nil || v.Kind != types.KindNull && v.Kind != types.KindString {
			return types.NewString(strings.TrimSpace(p.raw))
		}
		p.parsed = v
	}
	switch p.parsed.Kind {
	case types.KindNull:
		return types.Null
	case types.KindString:
		return types.NewString(p.parsed.Str)
	}
	return types.NewString(string(types.AppendJSON(nil, p.parsed, p.fc)))
}

// jsonGet is -> or ->>, by key or by position.
func jsonGet(raw, asText bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		p := newJSONPart(c, a[0], raw)
		var ok bool
		if a[1].Family() == types.IntFamily {
			if k := p.parsed.Kind; !raw && k != types.KindArray && k != types.KindObject {
				// jsonb keeps a scalar as an array of one, and it shows here.
				p.parsed = types.JSONValue{Kind: types.KindArray, Elems: types.NewJSONElems(p.parsed)}
			}
			p, ok = p.element(a[1].Int())
		} else {
			p, ok = p.field(a[1].Str())
		}
		if !ok {
			return types.Null, nil
		}
		return p.datum(asText), nil
	}
}

// jsonPath is #> or #>>.
func jsonPath(raw, asText bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		p := newJSONPart(c, a[0], raw)
		for _, step := range a[1].DecodeArray(c.Format).Elems {
			if step.IsNull() {
				return types.Null, nil
			}
			next, ok := p.field(step.Str())
			if !ok {
				i, err := strconv.ParseInt(strings.TrimSpace(step.Str()), 10, 32)
				if err != nil {
					return types.Null, nil
				}
				if next, ok = p.element(i); !ok {
					return types.Null, nil
				}
			}
			p = next
		}
		return p.datum(asText), nil
	}
}

// jsonContains is @>.
func jsonContains(c *call.Context, a, b types.JSONValue) (types.Datum, error) {
	m := jsonMatch{c: c}
	yes := m.contains(a, b, true)
	return types.NewBool(yes), m.err
}

// jsonMatch compares two JSON values, each element of arrays with each, until err.
type jsonMatch struct {
	c   *call.Context
	err error
}

// contains reports whether a contains b: at the top, an array contains a scalar that is among
// its elements.
func (m *jsonMatch) contains(a, b types.JSONValue, top bool) bool {
	switch {
	case a.Kind == types.KindObject && b.Kind == types.KindObject:
		for _, f := range b.Fields {
			if m.err = m.c.Step(1); m.err != nil {
				return false
			}
			v, ok := a.Get(f.Key)
			if !ok || !m.contains(v, f.Value, false) {
				return false
			}
		}
		return true
	case a.Kind == types.KindArray && b.Kind == types.KindArray:
		for _, e := range b.Elems.All() {
			if m.err = m.c.Step(1); m.err != nil || !m.has(a.Elems, e) {
				return false
			}
		}
		return true
	case top && a.Kind == types.KindArray && b.Kind != types.KindObject:
		return m.has(a.Elems, b)
	}
	return a.Kind == b.Kind && types.CompareJSON(a, b, m.c.Format) == 0
}

// has reports whether one of elems contains e.
func (m *jsonMatch) has(elems types.JSONElems, e types.JSONValue) bool {
	for _, x := range elems.All() {
		if m.err = m.c.Step(1); m.err != nil {
			return false
		}
		if x.Kind == e.Kind && m.contains(x, e, false) {
			return true
		}
		if m.err != nil {
			return false
		}
	}
	return false
}

// jsonHasKey is ?: a key of an object, a string element of an array, or the
// string itself.
func jsonHasKey(v types.JSONValue, key string) bool {
	switch v.Kind {
	case types.KindObject:
		_, ok := v.Get(key)
		return ok
	case types.KindArray:
		for _, e := range v.Elems.All() {
			if e.Kind == types.KindString && e.Str == key {
				return true
			}
		}
	case types.KindString:
		return v.Str == key
	}
	return false
}

func jsonTypeof(c *call.Context, a []types.Datum) (types.Datum, error) {
	names := map[types.JSONKind]string{
		types.KindNull: "null", types.KindString: "string", types.KindNumber: "number",
		types.KindBool: "boolean", types.KindArray: "array", types.KindObject: "object",
	}
	return call.Text(names[a[0].JSONB(c.Format).Kind])
}

func jsonArrayLength(c *call.Context, a []types.Datum) (types.Datum, error) {
	v := a[0].JSONB(c.Format)
	switch v.Kind {
	case types.KindArray:
		return types.NewInt(int64(v.Elems.Len())), nil
	case types.KindObject:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a non-array")
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of a scalar")
}

// ISOFormat prints dates in JSON: always ISO 8601.
func ISOFormat(c *call.Context) *types.FormatContext {
	fc := types.NewFormatContext()
	if c.Format != nil {
		copied := *c.Format
		fc = &copied
	}
	fc.DateStyle = types.DateStyle{}
	return fc
}

// Result makes a json value of text, or a jsonb value by parsing it. The text is no longer the caller's.
func Result(c *call.Context, b []byte, binary bool) (types.Datum, error) {
	text := unsafe.String(unsafe.SliceData(b), len(b))
	if !binary {
		return types.NewJSON(text), nil
	}
	if call.Large(len(text)) {
		if err := c.Reserve(len(text) + types.ParsedJSONSize(text)); err != nil {
			return types.Null, err
		}
	}
	v, err := types.ParseJSON(text, c.Format)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(v, c.Format), nil
}

func bindToJSON(binary bool) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		t := b.Types[0]
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return Result(c, Append(nil, t, a[0], ISOFormat(c)), binary)
		}, nil
	}
}

func bindBuildArray(binary bool) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		ts := b.Types
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			fc := ISOFormat(c)
			buf := []byte{'['}
			for i := range a {
				if i > 0 {
					buf = append(buf, ", "...)
				}
				buf = Append(buf, ts[i], a[i], fc)
			}
			return Result(c, append(buf, ']'), binary)
		}, nil
	}
}

func errNullKey(argument int, binary bool) error {
	if binary {
		return pgerr.New(pgerr.InvalidParameterValue, "argument %d: key must not be null", argument)
	}
	return pgerr.New(pgerr.InvalidParameterValue, "argument %d cannot be null", argument).
		WithHint("Object keys should be text.")
}

// Key is the text of a value as a key.
func Key(t *types.T, d types.Datum, fc *types.FormatContext) (string, error) {
	switch t.Family {
	case types.BoolFamily:
		return strconv.FormatBool(d.Bool()), nil
	case types.ArrayFamily, types.RecordFamily, types.JSONFamily:
		return "", pgerr.New(pgerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
	}
	return typeio.FormatDatum(t, d, fc), nil
}

func bindBuildObject(binary bool) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		ts := b.Types
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if len(a)%2 != 0 {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "argument list must have even number of elements").
					WithHint("The arguments of json%s_build_object() must consist of alternating keys and values.", pick(binary, "b", ""))
			}
			fc := ISOFormat(c)
			buf := []byte{'{'}
			for i := 0; i < len(a); i += 2 {
				if a[i].IsNull() {
					return types.Null, errNullKey(i+1, binary)
				}
				if i > 0 {
					buf = append(buf, ", "...)
				}
				key, err := Key(ts[i], a[i], fc)
				if err != nil {
					return types.Null, err
				}
				buf = types.AppendJSONString(buf, key, fc)
				buf = append(buf, " : "...)
				buf = Append(buf, ts[i+1], a[i+1], fc)
			}
			return Result(c, append(buf, '}'), binary)
		}, nil
	}
}

// IsScalar reports whether a value is neither an array nor an object.
func IsScalar(v types.JSONValue) bool {
	return v.Kind != types.KindArray && v.Kind != types.KindObject
}

// jsonConcat is ||: it merges objects, and otherwise puts arrays together, a
// value that is none counting as an array of one.
func jsonConcat(c *call.Context, a, b types.JSONValue) (types.Datum, error) {
	if a.Kind == types.KindObject && b.Kind == types.KindObject {
		fields := append([]*types.JSONField(nil), a.Fields...)
		return types.NewJSONB(types.NewJSONObject(append(fields, b.Fields...), c.Format), c.Format), nil
	}
	all := types.JSONValue{Kind: types.KindArray}
	for _, v := range []types.JSONValue{a, b} {
		if v.Kind == types.KindArray {
			all.Elems.AppendRange(v.Elems, 0, v.Elems.Len(), c.Format)
		} else {
			all.Elems.Append(v)
		}
	}
	return types.NewJSONB(all, c.Format), nil
}

// jsonDelete removes members of an object, or string elements of an array.
func jsonDelete(c *call.Context, v types.JSONValue, keys ...string) (types.Datum, error) {
	if IsScalar(v) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot delete from scalar")
	}
	drop := map[string]bool{}
	for _, k := range keys {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		drop[k] = true
	}
	out := types.JSONValue{Kind: v.Kind}
	for _, f := range v.Fields {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if !drop[f.Key] {
			out.Fields = append(out.Fields, f)
		}
	}
	for _, e := range v.Elems.All() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if e.Kind != types.KindString || !drop[e.Str] {
			out.Elems.Append(e)
		}
	}
	return types.NewJSONB(out, c.Format), nil
}

// jsonDeleteAt removes an element of an array; negative positions count from
// the end.
func jsonDeleteAt(c *call.Context, v types.JSONValue, i int64) (types.Datum, error) {
	switch v.Kind {
	case types.KindObject:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot delete from object using integer index")
	case types.KindArray:
	default:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot delete from scalar")
	}
	if i < 0 {
		i += int64(v.Elems.Len())
	}
	if i < 0 || i >= int64(v.Elems.Len()) {
		return types.NewJSONB(v, c.Format), nil
	}
	v.Elems = v.Elems.Splice(int(i), int(i)+1, c.Format)
	return types.NewJSONB(v, c.Format), nil
}
