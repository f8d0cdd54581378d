package builtin

import (
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pathKeys returns a path as texts.
func pathKeys(d types.Datum) ([]string, error) {
	if len(d.ArrayDims()) > 1 {
		return nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	var keys []string
	for _, k := range d.ArrayElems() {
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

// jsonSetPath changes the value at a path.
func jsonSetPath(v types.JSONValue, path []string, at int, val types.JSONValue, edit jsonEdit) (types.JSONValue, error) {
	if len(path) == 0 {
		return v, nil
	}
	if path[0] == nullKey {
		return v, pgerr.New(pgerr.NullValueNotAllowed, "path element at position %d is null", at)
	}
	switch v.Kind {
	case types.KindObject:
		return setInObject(v, path, at, val, edit)
	case types.KindArray:
		return setInArray(v, path, at, val, edit)
	}
	if edit == editFill {
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
		return types.NewJSONObject([]types.JSONField{{Key: path[0], Value: inner}}), nil
	}
	if i > MaxJSONFill {
		return val, errJSONFill()
	}
	out := types.JSONValue{Kind: types.KindArray, Elems: make([]types.JSONValue, max(i, 0))}
	out.Elems = append(out.Elems, inner)
	return out, nil
}

func errJSONFill() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "an assignment may add %d array elements at most", MaxJSONFill)
}

func setInObject(v types.JSONValue, path []string, at int, val types.JSONValue, edit jsonEdit) (types.JSONValue, error) {
	out := types.JSONValue{Kind: types.KindObject}
	key, found, last := path[0], false, len(path) == 1
	for _, f := range v.Fields {
		if f.Key == key {
			found = true
			switch {
			case last && edit == editDelete:
				continue
			case last && (edit == editInsertBefore || edit == editInsertAfter):
				return v, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
					WithHint("Try using the function jsonb_set to replace key value.")
			case last:
				f.Value = val
			default:
				var err error
				if f.Value, err = jsonSetPath(f.Value, path[1:], at+1, val, edit); err != nil {
					return v, err
				}
			}
		}
		out.Fields = append(out.Fields, f)
	}
	switch {
	case found:
	case last && edit != editDelete && edit != editReplace:
		return types.NewJSONObject(append(out.Fields, types.JSONField{Key: key, Value: val})), nil
	case edit == editFill:
		v, err := emptyFor(path[1:], val)
		return types.NewJSONObject(append(out.Fields, types.JSONField{Key: key, Value: v})), err
	}
	return out, nil
}

func setInArray(v types.JSONValue, path []string, at int, val types.JSONValue, edit jsonEdit) (types.JSONValue, error) {
	idx, err := strconv.ParseInt(path[0], 10, 32)
	if err != nil {
		return v, pgerr.New(pgerr.InvalidTextRepresentation, "path element at position %d is not an integer: \"%s\"", at, path[0])
	}
	n, last := int64(len(v.Elems)), len(path) == 1
	if idx < 0 {
		if -idx > n {
			if edit == editFill {
				return v, pgerr.New(pgerr.InvalidParameterValue, "path element at position %d is out of range: %d", at, idx)
			}
			idx = -1 << 31
		} else {
			idx += n
		}
	}
	elems := slices.Clone(v.Elems)
	out := types.JSONValue{Kind: types.KindArray}
	switch {
	case idx < 0 || idx >= n:
		if edit == editFill && idx-n > MaxJSONFill {
			return v, errJSONFill()
		}
		for edit == editFill && int64(len(elems)) < idx {
			elems = append(elems, types.JSONValue{})
		}
		switch {
		case !last && edit != editFill, edit == editDelete, edit == editReplace:
		case idx < 0:
			elems = slices.Insert(elems, 0, val)
		default:
			e, err := emptyFor(path[1:], val)
			if err != nil {
				return v, err
			}
			elems = append(elems, e)
		}
	case !last:
		if elems[idx], err = jsonSetPath(elems[idx], path[1:], at+1, val, edit); err != nil {
			return v, err
		}
	case edit == editDelete:
		elems = slices.Delete(elems, int(idx), int(idx)+1)
	case edit == editInsertBefore:
		elems = slices.Insert(elems, int(idx), val)
	case edit == editInsertAfter:
		elems = slices.Insert(elems, int(idx)+1, val)
	default:
		elems[idx] = val
	}
	out.Elems = elems
	return out, nil
}

func editJSON(c *Context, a []types.Datum, val types.JSONValue, edit jsonEdit) (types.Datum, error) {
	v := a[0].JSONB(c.Format)
	keys, err := pathKeys(a[1])
	if err != nil {
		return types.Null, err
	}
	if isJSONScalar(v) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot %s path in scalar", pick(edit == editDelete, "delete", "set"))
	}
	if (edit == editReplace || edit == editDelete) && len(v.Elems)+len(v.Fields) == 0 { // whatever the path
		return a[0], nil
	}
	out, err := jsonSetPath(v, keys, 1, val, edit)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(out, c.Format), nil
}

func jsonDeletePath(c *Context, a []types.Datum) (types.Datum, error) {
	return editJSON(c, a, types.JSONValue{}, editDelete)
}

func jsonbSet(c *Context, a []types.Datum) (types.Datum, error) {
	edit := editReplace
	if a[3].Bool() {
		edit = editCreate
	}
	return editJSON(c, a, a[2].JSONB(c.Format), edit)
}

func jsonbInsert(c *Context, a []types.Datum) (types.Datum, error) {
	edit := editInsertBefore
	if a[3].Bool() {
		edit = editInsertAfter
	}
	return editJSON(c, a, a[2].JSONB(c.Format), edit)
}

func jsonbSetLax(c *Context, a []types.Datum) (types.Datum, error) {
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

// SetJSONElement is an assignment to a subscript of a jsonb value: what is
// missing on the way is made.
func SetJSONElement(c *Context, target types.Datum, path []types.Datum, val types.Datum) (types.Datum, error) {
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
	if t := target.JSONB(c.Format); isJSONScalar(t) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	out, err := jsonSetPath(target.JSONB(c.Format), keys, 1, v, editFill)
	if err != nil {
		return types.Null, err
	}
	return types.NewJSONB(out, c.Format), nil
}
