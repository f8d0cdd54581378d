package jsonfuncs

import (
	"errors"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func jsonpathFunctions() []*call.Overload {
	var all []*call.Overload
	vars, silent := types.NewJSON("{}"), types.False
	for _, tz := range []bool{false, true} {
		suffix := pick(tz, "_tz", "")
		args := "(jsonb,jsonpath,jsonb,bool)"
		list := []*call.Overload{
			call.Fn("jsonb_path_exists"+suffix+args+" bool", jsonPathExistsTZ(false, tz)),
			call.Fn("jsonb_path_match"+suffix+args+" bool", jsonPathMatchTZ(false, tz)),
			call.SRF("jsonb_path_query"+suffix+args+" setof jsonb", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
				vs, err := queryPath(c, a, tz)
				out := make([]types.Datum, vs.Len())
				for i, v := range vs.All() {
					out[i] = types.NewJSONB(v, c.Format)
				}
				return call.NewColumn(out), err
			}),
			call.Fn("jsonb_path_query_array"+suffix+args+" jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				vs, err := queryPath(c, a, tz)
				return types.NewJSONB(types.JSONValue{Kind: types.KindArray, Elems: vs}, c.Format), err
			}),
			call.Fn("jsonb_path_query_first"+suffix+args+" jsonb", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				vs, err := queryPath(c, a, tz)
				if err != nil || vs.Len() == 0 {
					return types.Null, err
				}
				return types.NewJSONB(vs.At(0), c.Format), nil
			}),
		}
		for _, o := range list {
			if o.WithDefaults(vars, silent); tz {
				o.Stable()
			}
		}
		all = append(all, list...)
	}
	return append(all,
		call.Fn("jsonb_path_exists_opr(jsonb,jsonpath) bool", jsonPathExists(true)),
		call.Fn("jsonb_path_match_opr(jsonb,jsonpath) bool", jsonPathMatch(true)))
}

// pathRun prepares the evaluation of a path.
func pathRun(c *call.Context, a []types.Datum, tz bool) (*pathExec, *jsonpath.Path, error) {
	p, err := c.JSONPath(a[1])
	if err != nil {
		return nil, nil, err
	}
	x := &pathExec{c: c, lax: !p.Strict, ignore: !p.Strict, tz: tz, root: a[0].JSONB(c.Format)}
	x.current = jsonItem(x.root)
	if len(a) > 2 {
		x.vars = a[2].JSONB(c.Format)
		if x.vars.Kind != types.KindObject {
			return nil, nil, errPathVars()
		}
	}
	return x, p, nil
}

func errPathVars() error {
	return pgerr.New(pgerr.InvalidParameterValue, "\"vars\" argument is not an object").
		WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
}

func isSilent(a []types.Datum) bool { return len(a) > 3 && a[3].Bool() }

func queryPath(c *call.Context, a []types.Datum, tz bool) (types.JSONElems, error) {
	var out types.JSONElems
	x, p, err := pathRun(c, a, tz)
	if err != nil {
		return out, err
	}
	err = x.run(p.Root, jsonItem(x.root), func(i pathItem) error {
		out.Append(i.json(c))
		return nil
	})
	if soft(err) && isSilent(a) {
		err = nil
	}
	return out, err
}

func jsonPathExists(silent bool) call.EvalFunc { return jsonPathExistsTZ(silent, false) }

func jsonPathExistsTZ(silent, tz bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		x, p, err := pathRun(c, a, tz)
		if err != nil {
			return types.Null, err
		}
		found := false
		err = x.run(p.Root, jsonItem(x.root), func(pathItem) error {
			found = true
			if x.lax {
				return errPathStop
			}
			return nil
		})
		if soft(err) && (silent || isSilent(a)) {
			return types.Null, nil
		}
		if errors.Is(err, errPathStop) {
			err = nil
		}
		return types.NewBool(found), err
	}
}

func jsonPathMatch(silent bool) call.EvalFunc { return jsonPathMatchTZ(silent, false) }

func jsonPathMatchTZ(silent, tz bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if len(a) > 2 && a[2].JSONB(c.Format).Kind != types.KindObject { // an error even in silence
			return types.Null, errPathVars()
		}
		vs, err := queryPath(c, a, tz)
		silent := silent || isSilent(a)
		if soft(err) && silent {
			return types.Null, nil
		}
		if err != nil {
			return types.Null, err
		}
		if vs.Len() == 1 {
			switch v := vs.At(0); v.Kind {
			case types.KindBool:
				return types.NewBool(v.Bool), nil
			case types.KindNull:
				return types.Null, nil
			}
		}
		if silent {
			return types.Null, nil
		}
		return types.Null, pgerr.New(codeSingletonRequired, "single boolean result is expected")
	}
}
