package jsonfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// jsonPathOperators declares the operators of jsonb that take several keys or
// a path.
func jsonPathOperators() []*call.Overload {
	hasKeys := func(all bool) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			v := a[0].JSONB(c.Format)
			for _, k := range a[1].ArrayElems() {
				if err := c.Step(1 + v.Elems.Len()); err != nil {
					return types.Null, err
				}
				if !k.IsNull() && jsonHasKey(v, k.Str()) != all {
					return types.NewBool(!all), nil
				}
			}
			return types.NewBool(all), nil
		}
	}
	return []*call.Overload{
		call.Op("jsonb ?| _text bool", hasKeys(false)), call.Op("jsonb ?& _text bool", hasKeys(true)),
		call.Op("jsonb #- _text jsonb", jsonDeletePath),
		call.Op("jsonb @? jsonpath bool", jsonPathExists(true)), call.Op("jsonb @@ jsonpath bool", jsonPathMatch(true)),
	}
}

// jsonPartFunctions declares the functions that take apart, change and print
// json.
func jsonPartFunctions() []*call.Overload {
	all := []*call.Overload{
		call.Fn("json_extract_path(json,text...) json", jsonExtract(true, false)), call.Fn("jsonb_extract_path(jsonb,text...) jsonb", jsonExtract(false, false)),
		call.Fn("json_extract_path_text(json,text...) text", jsonExtract(true, true)), call.Fn("jsonb_extract_path_text(jsonb,text...) text", jsonExtract(false, true)),
		call.Fn("jsonb_delete(jsonb,text...) jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return jsonDeleteKeys(c, []types.Datum{a[0], types.NewArray(append([]types.Datum(nil), a[1:]...))})
		}),
		call.Fn("jsonb_set(jsonb,_text,jsonb,bool) jsonb", jsonbSet).WithDefaults(types.True),
		call.Fn("jsonb_set_lax(jsonb,_text,jsonb,bool,text) jsonb", jsonbSetLax).NonStrict().WithDefaults(types.True, types.NewString("use_json_null")),
		call.Fn("jsonb_insert(jsonb,_text,jsonb,bool) jsonb", jsonbInsert).WithDefaults(types.False),
		call.Fn("jsonb_pretty(jsonb) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return call.Text(types.Owned(appendPretty(c, nil, a[0].JSONB(c.Format), 0)))
		}),
		call.Fn("json_strip_nulls(json) json", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			b, err := stripRaw(c, nil, a[0].Str())
			return types.NewJSON(types.Owned(b)), err
		}),
		call.Fn("jsonb_strip_nulls(jsonb) jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewJSONB(stripNulls(c, a[0].JSONB(c.Format)), c.Format), nil
		}),
		call.Fn("json_build_array() json", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewJSON("[]"), nil }).Stable(),
		call.Fn("jsonb_build_array() jsonb", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewJSON("[]"), nil }).Stable(),
		call.Fn("json_build_object() json", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewJSON("{}"), nil }).Stable(),
		call.Fn("jsonb_build_object() jsonb", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewJSON("{}"), nil }).Stable(),
		call.Fn("json_object(_text) json", jsonObject(false)), call.Fn("json_object(_text,_text) json", jsonObject(false)),
		call.Fn("jsonb_object(_text) jsonb", jsonObject(true)), call.Fn("jsonb_object(_text,_text) jsonb", jsonObject(true)),
		call.FnBind("array_to_json(anyarray,bool) json", bindPrettyJSON).Stable(),
		call.FnBind("row_to_json(record) json", bindToJSON(false)).Stable(),
		call.FnBind("row_to_json(record,bool) json", bindPrettyJSON).Stable(),
	}
	for _, b := range []string{"", "b"} {
		raw, t := b == "", "json"+b
		all = append(all,
			call.SRF(t+"_each("+t+") setof record", jsonEach(t, raw, false)).Columns([]string{"key", "value"}, []*types.T{types.Text, jsonType(raw)}),
			call.SRF(t+"_each_text("+t+") setof record", jsonEach(t+"_each_text", raw, true)).Columns([]string{"key", "value"}, []*types.T{types.Text, types.Text}),
			call.SRF(t+"_array_elements("+t+") setof "+t, jsonElements(raw, false)).Columns([]string{"value"}, []*types.T{jsonType(raw)}),
			call.SRF(t+"_array_elements_text("+t+") setof text", jsonElements(raw, true)).Columns([]string{"value"}, []*types.T{types.Text}),
			call.SRF(t+"_object_keys("+t+") setof text", jsonKeys(t, raw)))
	}
	return append(all, jsonRecordFunctions()...)
}

func jsonType(raw bool) *types.T {
	if raw {
		return types.JSON
	}
	return types.JSONB
}

func jsonExtract(raw, asText bool) call.EvalFunc {
	walk := jsonPath(raw, asText)
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return walk(c, []types.Datum{a[0], types.NewArray(a[1:])})
	}
}

// jsonMembers are what is inside of an object or array: members or elements.
type jsonMembers struct {
	kind types.JSONKind
	of   jsonPart
	raws []types.RawMember // of text
}

// members takes a part apart.
func (p jsonPart) members() (m jsonMembers, err error) {
	if !p.isRaw {
		return jsonMembers{kind: p.parsed.Kind, of: p}, nil
	}
	m.of = p
	m.kind, m.raws, err = types.SplitJSON(p.raw, p.fc)
	return m, err
}

func (m *jsonMembers) len() int {
	if m.of.isRaw {
		return len(m.raws)
	}
	return len(m.of.parsed.Fields) + m.of.parsed.Elems.Len()
}

func (m *jsonMembers) at(i int) jsonMember {
	switch v := &m.of.parsed; {
	case m.of.isRaw:
		return jsonMember{m.raws[i].Key, jsonPart{raw: m.raws[i].Value, isRaw: true, fc: m.of.fc}}
	case v.Kind == types.KindObject:
		return jsonMember{v.Fields[i].Key, jsonPart{parsed: v.Fields[i].Value, fc: m.of.fc}}
	default:
		return jsonMember{"", jsonPart{parsed: v.Elems.At(i), fc: m.of.fc}}
	}
}

// memberRows yields a row for each member, made when it is asked for.
type memberRows struct {
	jsonMembers
	next int
	row  func(jsonMember) []types.Datum
}

// Next implements call.RowIterator.
func (r *memberRows) Next() ([]types.Datum, bool, error) {
	if r.next == r.len() {
		return nil, false, nil
	}
	m := r.at(r.next)
	r.next++
	return r.row(m), true, nil
}

// jsonMember is a member of an object or an element of an array.
type jsonMember struct {
	key   string
	value jsonPart
}

func jsonEach(name string, raw, asText bool) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		ms, err := newJSONPart(c, a[0], raw).members()
		if err != nil {
			return nil, err
		}
		if ms.kind != types.KindObject {
			switch {
			case raw && ms.kind == types.KindArray:
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct an array as an object")
			case raw:
				return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct a scalar")
			}
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", strings.TrimSuffix(name, "_text")+pick(asText, "_text", "_each"))
		}
		return &memberRows{jsonMembers: ms, row: func(m jsonMember) []types.Datum {
			return []types.Datum{types.NewString(m.key), m.value.datum(asText)}
		}}, nil
	}
}

func jsonElements(raw, asText bool) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		ms, err := newJSONPart(c, a[0], raw).members()
		if err != nil {
			return nil, err
		}
		switch {
		case ms.kind == types.KindArray:
		case ms.kind == types.KindObject && !raw:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from an object")
		case ms.kind == types.KindObject:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-array", pick(asText, "json_array_elements_text", "json_array_elements"))
		case raw:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a scalar", pick(asText, "json_array_elements_text", "json_array_elements"))
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from a scalar")
		}
		return &memberRows{jsonMembers: ms, row: func(m jsonMember) []types.Datum { return []types.Datum{m.value.datum(asText)} }}, nil
	}
}

func jsonKeys(t string, raw bool) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		ms, err := newJSONPart(c, a[0], raw).members()
		if err != nil {
			return nil, err
		}
		if ms.kind != types.KindObject {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot call %s_object_keys on %s", t, pick(ms.kind == types.KindArray, "an array", "a scalar"))
		}
		return &memberRows{jsonMembers: ms, row: func(m jsonMember) []types.Datum { return []types.Datum{types.NewString(m.key)} }}, nil
	}
}

// appendPretty prints jsonb over several lines.
func appendPretty(c *call.Context, dst []byte, v types.JSONValue, level int) []byte {
	if c.Step(1) != nil {
		return dst
	}
	indent := func(n int) {
		dst = append(dst, '\n')
		for range 4 * n {
			dst = append(dst, ' ')
		}
	}
	switch v.Kind {
	case types.KindArray:
		dst = append(dst, '[')
		for i, e := range v.Elems.All() {
			if c.Stopped() != nil {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			indent(level + 1)
			dst = appendPretty(c, dst, e, level+1)
		}
		indent(level)
		return append(dst, ']')
	case types.KindObject:
		dst = append(dst, '{')
		for i, f := range v.Fields {
			if c.Stopped() != nil {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			indent(level + 1)
			dst = append(types.AppendJSONString(dst, f.Key, c.Format), ": "...)
			dst = appendPretty(c, dst, f.Value, level+1)
		}
		indent(level)
		return append(dst, '}')
	}
	return types.AppendJSON(dst, v, c.Format)
}

func stripNulls(c *call.Context, v types.JSONValue) types.JSONValue {
	if c.Step(1) != nil {
		return v
	}
	out := types.JSONValue{Kind: v.Kind, Bool: v.Bool, Str: v.Str, Num: v.Num}
	for _, e := range v.Elems.All() {
		if c.Stopped() != nil {
			return out
		}
		out.Elems.Append(stripNulls(c, e))
	}
	for _, f := range v.Fields {
		if c.Stopped() != nil {
			return out
		}
		if f.Value.Kind != types.KindNull {
			out.Fields = append(out.Fields, &types.JSONField{Key: f.Key, Value: stripNulls(c, f.Value)})
		}
	}
	return out
}

// stripRaw is stripNulls for text; white space goes too.
func stripRaw(c *call.Context, dst []byte, s string) ([]byte, error) {
	kind, ms, err := types.SplitJSON(s, c.Format)
	if err != nil {
		return dst, err
	}
	if kind != types.KindArray && kind != types.KindObject {
		s = strings.Trim(s, " \t\n\r")
		if kind == types.KindString {
			v, err := types.ParseJSON(s, c.Format)
			if err != nil {
				return dst, err
			}
			return types.AppendJSONString(dst, v.Str, c.Format), nil
		}
		return append(dst, s...), nil
	}
	start := len(dst)
	dst = append(dst, pick(kind == types.KindArray, "[", "{")...)
	for _, m := range ms {
		if err := c.Step(1); err != nil {
			return dst, err
		}
		if kind == types.KindObject && types.RawJSONKind(m.Value) == types.KindNull {
			continue
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		if kind == types.KindObject {
			dst = append(types.AppendJSONString(dst, m.Key, c.Format), ':')
		}
		if dst, err = stripRaw(c, dst, m.Value); err != nil {
			return dst, err
		}
	}
	return append(dst, pick(kind == types.KindArray, "]", "}")...), nil
}

// jsonObject is json_object: pairs of an array, or keys and values.
func jsonObject(binary bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		keys, values, err := objectPairs(c, a)
		if err != nil {
			return types.Null, err
		}
		buf := []byte{'{'}
		for i := range keys {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if keys[i].IsNull() {
				return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for object key")
			}
			if i > 0 {
				buf = append(buf, ", "...)
			}
			buf = append(types.AppendJSONString(buf, keys[i].Str(), c.Format), " : "...)
			if values[i].IsNull() {
				buf = append(buf, "null"...)
			} else {
				buf = types.AppendJSONString(buf, values[i].Str(), c.Format)
			}
		}
		return Result(c, append(buf, '}'), binary)
	}
}

func objectPairs(c *call.Context, a []types.Datum) (keys, values []types.Datum, err error) {
	arr := a[0].DecodeArray(c.Format)
	if len(a) == 2 {
		other := a[1].DecodeArray(c.Format)
		if len(arr.Dims) > 1 || len(arr.Dims) != len(other.Dims) {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
		}
		if len(arr.Elems) != len(other.Elems) {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "mismatched array dimensions")
		}
		return arr.Elems, other.Elems, nil
	}
	switch len(arr.Dims) {
	case 0:
		return nil, nil, nil
	case 1:
		if arr.Dims[0].Len%2 != 0 {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array must have even number of elements")
		}
	case 2:
		if arr.Dims[1].Len != 2 {
			return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array must have two columns")
		}
	default:
		return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	for i := 0; i+1 < len(arr.Elems); i += 2 {
		if err := c.Step(1); err != nil {
			return nil, nil, err
		}
		keys, values = append(keys, arr.Elems[i]), append(values, arr.Elems[i+1])
	}
	return keys, values, nil
}

// bindPrettyJSON is array_to_json and row_to_json with line feeds between the
// outermost elements.
func bindPrettyJSON(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		w := jsonWriter{fc: ISOFormat(c), lines: a[1].Bool()}
		return types.NewJSON(string(w.value(nil, t, a[0]))), nil
	}, nil
}

// nullKey stands for a NULL in a path, which is an error when the path is
// followed to there; no text has a zero byte.
const nullKey = "\x00"

const (
	editDelete jsonEdit = iota
	editReplace
	editCreate // replace, or create what is missing
	editInsertBefore
	editInsertAfter
	editFill // editCreate that makes what is missing on the way
)

// MaxJSONFill bounds how many elements an assignment past the end of an array
// adds.
const MaxJSONFill = 1 << 20

// pick returns one of two words.
func pick(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
