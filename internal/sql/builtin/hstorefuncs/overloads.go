package hstorefuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "hstore"

// SetPair is the function of assignments to h[key], which the planner calls.
const SetPair = "lichen_set_hstore"

// Overloads declares the operators and functions.
func Overloads() []*call.Overload {
	all := comparisons()
	all = append(all, operators()...)
	all = append(all, makers()...)
	all = append(all, parts()...)
	all = append(all, jsonFunctions()...)
	all = append(all, recordFunctions()...)
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// comparisons are those of the btree operator class, whose names are not the usual ones.
func comparisons() []*call.Overload {
	all := comparefuncs.SixOperators("hstore", "hstore", comparefuncs.CompareDatums)
	for _, o := range all {
		if strings.ContainsAny(o.Name, "<>") && o.Name != "<>" {
			o.Name = "#" + o.Name + "#"
		}
	}
	return append(all, call.Fn("hstore_cmp(hstore,hstore) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(comparefuncs.CompareDatums(c, a[0], a[1]))), nil
	}))
}

func operators() []*call.Overload {
	return []*call.Overload{
		call.Op("hstore -> text text", fetch), call.Op("hstore -> _text _text", fetchAll),
		call.Op("hstore ? text bool", exists), call.Op("hstore ?& _text bool", existsAll), call.Op("hstore ?| _text bool", existsAny),
		call.Op("hstore - text hstore", deleteKey), call.Op("hstore - _text hstore", deleteKeys), call.Op("hstore - hstore hstore", deletePairs),
		call.Op("hstore || hstore hstore", concat), call.Op("hstore @> hstore bool", contains), call.Op("hstore <@ hstore bool", contained),
		call.Op("%% hstore _text", toArray), call.Op("%# hstore _text", toMatrix),
	}
}

// makers are functions that make values.
func makers() []*call.Overload {
	return []*call.Overload{
		call.Fn("hstore(text,text) hstore", fromText).NonStrict(), call.Fn("tconvert(text,text) hstore", fromText).NonStrict(),
		call.Fn("hstore(_text) hstore", fromArray), call.Fn("hstore(_text,_text) hstore", fromArrays).NonStrict(),
		call.Fn("slice(hstore,_text) hstore", slice), call.Fn(SetPair+"(hstore,text,text) hstore", assign).NonStrict(),
	}
}

// parts are functions that read values.
func parts() []*call.Overload {
	return []*call.Overload{
		call.Fn("isexists(hstore,text) bool", exists), call.Fn("defined(hstore,text) bool", defined), call.Fn("isdefined(hstore,text) bool", defined),
		call.Fn("akeys(hstore) _text", keys), call.Fn("avals(hstore) _text", values),
		call.SRF("skeys(hstore) setof text", rowsOf(keys)), call.SRF("svals(hstore) setof text", rowsOf(values)),
		call.SRF("each(hstore) setof record", each).Columns([]string{"key", "value"}, []*types.T{types.Text, types.Text}),
	}
}

func jsonFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("hstore_to_json(hstore) json", toJSON(false, false)), call.Fn("hstore_to_json_loose(hstore) json", toJSON(false, true)),
		call.Fn("hstore_to_jsonb(hstore) jsonb", toJSON(true, false)), call.Fn("hstore_to_jsonb_loose(hstore) jsonb", toJSON(true, true)),
	}
}
