package jsonfuncs

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pathKeys returns a path as texts.
func pathKeys(d types.Datum, fc *types.FormatContext) ([]string, error) {
	if len(d.ArrayDims()) > 1 {
		return nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	var keys []string
	for _, k := range d.ArrayElems() {
		if err := fc.CountSteps(1); err != nil {
			return nil, err
		}
		if k.IsNull() {
			keys = append(keys, nullKey)
			continue
		}
		keys = append(keys, k.Str())
	}
	return keys, nil
}

// jsonEdit is what happens at the end of a path.
type jsonEdit uint8

// jsonEditor makes a change to a value below another.
type jsonEditor struct {
	edit jsonEdit
	val  types.JSONValue // what is put there
	fc   *types.FormatContext
}

// setPath changes the value at a path, whose first step is the one at a position from 1 of the
// whole path.
func (e jsonEditor) setPath(v types.JSONValue, path []string, at int) (types.JSONValue, error) {
	if len(path) == 0 {
		return v, nil
	}
	if path[0] == nullKey {
		return v, pgerr.New(pgerr.NullValueNotAllowed, "path element at position %d is null", at)
	}
	switch v.Kind {
	case types.KindObject:
		return e.setInObject(v, path, at)
	case types.KindArray:
		return e.setInArray(v, path, at)
	}
	if e.edit == editFill {
		return v, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	return v, nil
}

// emptyFor makes the value that holds a path's next step.
func emptyFor(path []string, val types.JSONValue) (types.JSONValue, error) {
	if len(path) == 0 {
		return val, nil
	}
	inner, err := emptyFor(path[1:], val)
	if err != nil {
		return val, err
	}
	i, err := strconv.ParseInt(path[0], 10, 32)
	if err != nil {
		return types.NewJSONObject([]*types.JSONField{{Key: path[0], Value: inner}}, nil), nil
	}
	if i > MaxJSONFill {
		return val, errJSONFill()
	}
	elems := append(make([]types.JSONValue, max(i, 0)), inner)
	return types.JSONValue{Kind: types.KindArray, Elems: types.NewJSONElems(elems...)}, nil
}

func errJSONFill() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "an assignment may add %d array elements at most", MaxJSONFill)
}

func (e jsonEditor) setInObject(v types.JSONValue, path []string, at int) (types.JSONValue, error) {
	out := types.JSONValue{Kind: types.KindObject}
	key, found, last := path[0], false, len(path) == 1
	for _, f := range v.Fields {
		if err := e.fc.CountSteps(1); err != nil {
			return v, err
		}
		if f.Key == key {
			found = true
			switch {
			case last && e.edit == editDelete:
				continue
			case last && (e.edit == editInsertBefore || e.edit == editInsertAfter):
				return v, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
					WithHint("Try using the function jsonb_set to replace key value.")
			case last:
				f = &types.JSONField{Key: key, Value: e.val}
			default:
				inner, err := e.setPath(f.Value, path[1:], at+1)
				if err != nil {
					return v, err
				}
				f = &types.JSONField{Key: key, Value: inner}
			}
		}
		out.Fields = append(out.Fields, f)
	}
	switch {
	case found:
	case last && e.edit != editDelete && e.edit != editReplace:
		return types.NewJSONObject(append(out.Fields, &types.JSONField{Key: key, Value: e.val}), e.fc), nil
	case e.edit == editFill:
		v, err := emptyFor(path[1:], e.val)
		return types.NewJSONObject(append(out.Fields, &types.JSONField{Key: key, Value: v}), e.fc), err
	}
	return out, nil
}

func (e jsonEditor) setInArray(v types.JSONValue, path []string, at int) (types.JSONValue, error) {
	n := v.Elems.Len()
	idx, err := e.position(path[0], at, n)
	if err != nil {
		return v, err
	}
	last := len(path) == 1
	switch {
	case idx < 0 || idx >= n:
		return e.setOutside(v, path, idx)
	case !last:
		inner, err := e.setPath(v.Elems.At(idx), path[1:], at+1)
		if err != nil {
			return v, err
		}
		v.Elems = v.Elems.Splice(idx, idx+1, e.fc, inner)
	case e.edit == editDelete:
		v.Elems = v.Elems.Splice(idx, idx+1, e.fc)
	case e.edit == editInsertBefore:
		v.Elems = v.Elems.Splice(idx, idx, e.fc, e.val)
	case e.edit == editInsertAfter:
		v.Elems = v.Elems.Splice(idx+1, idx+1, e.fc, e.val)
	default:
		v.Elems = v.Elems.Splice(idx, idx+1, e.fc, e.val)
	}
	return v, nil
}

// position reads a step of a path as a position in an array of n elements: -1 if it is before
// the first.
func (e jsonEditor) position(step string, at, n int) (int, error) {
	idx, err := strconv.ParseInt(step, 10, 32)
	switch {
	case err != nil:
		return 0, pgerr.New(pgerr.InvalidTextRepresentation, "path element at position %d is not an integer: \"%s\"", at, step)
	case idx >= 0:
		return int(idx), nil
	case int(-idx) <= n:
		return int(idx) + n, nil
	case e.edit == editFill:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "path element at position %d is out of range: %d", at, idx)
	}
	return -1, nil
}

// setOutside changes an array at a position that it does not have.
func (e jsonEditor) setOutside(v types.JSONValue, path []string, idx int) (types.JSONValue, error) {
	n, last := v.Elems.Len(), len(path) == 1
	switch {
	case e.edit == editFill && idx-n > MaxJSONFill:
		return v, errJSONFill()
	case !last && e.edit != editFill, e.edit == editDelete, e.edit == editReplace:
		return v, nil
	case idx < 0:
		v.Elems = v.Elems.Splice(0, 0, e.fc, e.val)
		return v, nil
	}
	inner, err := emptyFor(path[1:], e.val)
	if err != nil {
		return v, err
	}
	var missing []types.JSONValue
	if e.edit == editFill {
		missing = make([]types.JSONValue, idx-n)
	}
	v.Elems = v.Elems.Splice(n, n, e.fc, append(missing, inner)...)
	return v, nil
}

func editJSON(c *call.Context, a []types.Datum, val types.JSONValue, edit jsonEdit) (types.Datum, error) {
	v := a[0].JSONB(c.Format)
	keys, err := pathKeys(a[1], c.Format)
	if err != nil {
		return types.Null, err
	}
	if IsScalar(v) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot %s path in scalar", pick(edit == editDelete, "delete", "set"))
	}
	if (edit == editReplace || edit == editDelete) && v.Elems.Len()+len(v.Fields) == 0 { // whatever the path
		return a[0], nil
	}
	out, err := jsonEditor{edit, val, c.Format}.setPath(v, keys, 1)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(out, c.Format), nil
}

func jsonDeletePath(c *call.Context, a []types.Datum) (types.Datum, error) {
	return editJSON(c, a, types.JSONValue{}, editDelete)
}

func jsonbSet(c *call.Context, a []types.Datum) (types.Datum, error) {
	edit := editReplace
	if a[3].Bool() {
		edit = editCreate
	}
	return editJSON(c, a, a[2].JSONB(c.Format), edit)
}

func jsonbInsert(c *call.Context, a []types.Datum) (types.Datum, error) {
	edit := editInsertBefore
	if a[3].Bool() {
		edit = editInsertAfter
	}
	return editJSON(c, a, a[2].JSONB(c.Format), edit)
}

func jsonbSetLax(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() || a[1].IsNull() || a[3].IsNull() {
		return types.Null, nil
	}
	if a[4].IsNull() {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
	}
	if !a[2].IsNull() {
		return jsonbSet(c, a)
	}
	switch a[4].Str() {
	case "raise_exception":
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "JSON value must not be null").
			WithDetail("Exception was raised because null_value_treatment is \"raise_exception\".").
			WithHint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")
	case "use_json_null":
		return jsonbSet(c, []types.Datum{a[0], a[1], types.NewJSON("null"), a[3]})
	case "delete_key":
		return jsonDeletePath(c, a)
	case "return_target":
		return a[0], nil
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
}

// jsonAssignments declares what an assignment to a subscript of a jsonb value calls: it takes the
// old value and returns the new one.
func jsonAssignments() []*call.Overload {
	return []*call.Overload{
		call.Fn("lichen_set_json(jsonb,jsonb,any...) jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return SetJSONElement(c, a[0], a[2:], a[1])
		}).NonStrict(),
	}
}

// SetJSONElement is an assignment to a subscript of a jsonb value: what is
// missing on the way is made.
func SetJSONElement(c *call.Context, target types.Datum, path []types.Datum, val types.Datum) (types.Datum, error) {
	v := types.JSONValue{}
	if !val.IsNull() {
		v = val.JSONB(c.Format)
	}
	keys := make([]string, len(path))
	for i, p := range path {
		if p.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "jsonb subscript in assignment must not be null")
		}
		if p.Family() == types.IntFamily {
			keys[i] = strconv.FormatInt(p.Int(), 10)
		} else {
			keys[i] = p.Str()
		}
	}
	if target.IsNull() {
		start := types.JSONValue{Kind: types.KindObject}
		if path[0].Family() == types.IntFamily {
			start.Kind = types.KindArray
		}
		target = types.NewJSONB(start, c.Format)
	}
	if t := target.JSONB(c.Format); IsScalar(t) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	out, err := jsonEditor{editFill, v, c.Format}.setPath(target.JSONB(c.Format), keys, 1)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(out, c.Format), nil
}
