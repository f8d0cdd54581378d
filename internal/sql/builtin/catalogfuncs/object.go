package catalogfuncs

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The oids of the access methods of indexes.
const (
	OidBtree = 403
	OidHash  = 405
	OidGIN   = 2742
)

func objectFunctions() []*call.Overload {
	describe := func(c *call.Context, a []types.Datum) (o call.ObjectName, ok bool, err error) {
		s, err := c.NeedSession()
		if err != nil {
			return o, false, err
		}
		return s.DescribeObject(uint32(a[0].Int()), uint32(a[1].Int()), int32(a[2].Int()))
	}
	return []*call.Overload{
		call.Fn("pg_describe_object(oid,oid,int4) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			o, ok, err := describe(c, a)
			return call.TextOrNull(o.Text, ok, err)
		}).Stable(),
		call.SRF("pg_identify_object(oid,oid,int4) setof record", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			o, _, err := describe(c, a)
			row := make([]types.Datum, 4)
			for i, v := range []string{o.Kind, o.Schema, o.Name, o.Identity} {
				if v != "" {
					row[i] = types.NewString(v)
				}
			}
			return call.NewRows([][]types.Datum{row}), err
		}).Stable().Columns([]string{"type", "schema", "name", "identity"}, []*types.T{types.Text, types.Text, types.Text, types.Text}).AtMostOneRow(),
		call.SRF("pg_identify_object_as_address(oid,oid,int4) setof record", identifyAsAddress).Stable().Columns(
			[]string{"type", "object_names", "object_args"}, []*types.T{types.Text, types.TextArray, types.TextArray}).AtMostOneRow(),
		call.SRF("pg_get_object_address(text,_text,_text) setof record", getObjectAddress).Stable().Columns(
			[]string{"classid", "objid", "objsubid"}, []*types.T{types.Oid, types.Oid, types.Int4}).AtMostOneRow(),
		call.Fn("pg_sequence_last_value(regclass) int8", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			n, ok, err := s.SequenceLastValue(uint32(a[0].Int()))
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		})).Volatile(),
		call.SRF("pg_sequence_parameters(oid) setof record", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			s, err := c.NeedSession()
			if err != nil {
				return nil, err
			}
			row, err := s.SequenceParameters(uint32(a[0].Int()))
			return call.NewRows([][]types.Datum{row}), err
		}).Stable().Columns(
			[]string{"start_value", "minimum_value", "maximum_value", "increment", "cycle_option", "cache_size", "data_type"},
			[]*types.T{types.Int8, types.Int8, types.Int8, types.Int8, types.Bool, types.Int8, types.Oid}).AtMostOneRow(),
		call.Fn("pg_relation_is_updatable(regclass,bool) int4", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			events, err := s.RelationUpdatable(uint32(a[0].Int()))
			return types.NewInt(int64(events)), err
		})).Stable(),
		call.Fn("pg_column_is_updatable(regclass,int2,bool) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			ok, err := s.ColumnUpdatable(uint32(a[0].Int()), int16(a[1].Int()))
			return types.NewBool(ok), err
		})).Stable(),
	}
}

// indexPropertyFunctions declares what tells of the properties of index methods, indexes and their columns.
func indexPropertyFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("pg_indexam_has_property(oid,text) bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return methodProperty(uint32(a[0].Int()), strings.ToLower(a[1].Str())), nil
		}).Stable(),
		call.Fn("pg_index_has_property(regclass,text) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			method, _, _, ok := s.IndexKeys(uint32(a[0].Int()))
			if !ok {
				return types.Null, nil
			}
			return indexProperty(method, strings.ToLower(a[1].Str())), nil
		})).Stable(),
		call.Fn("pg_index_column_has_property(regclass,int4,text) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			method, keys, included, ok := s.IndexKeys(uint32(a[0].Int()))
			n := int(a[1].Int())
			if !ok || n < 1 || n > len(keys)+included {
				return types.Null, nil
			}
			var key *call.KeyOrder
			if n <= len(keys) {
				key = &keys[n-1]
			}
			return columnProperty(method, key, strings.ToLower(a[2].Str())), nil
		})).Stable(),
	}
}

// methodProperty returns what indexes of a method may be; inverted ones have one column.
func methodProperty(method uint32, name string) types.Datum {
	switch {
	case method != OidBtree && method != OidHash && method != OidGIN:
		return types.Null
	case name == "can_exclude":
		return types.NewBool(method != OidGIN)
	case slices.Contains([]string{"can_order", "can_unique", "can_multi_col", "can_include"}, name):
		return types.NewBool(method == OidBtree)
	}
	return types.Null
}

// indexProperty returns what an index of a method is good for.
func indexProperty(method uint32, name string) types.Datum {
	switch name {
	case "clusterable":
		return types.NewBool(method == OidBtree)
	case "index_scan", "backward_scan":
		return types.NewBool(method != OidGIN)
	case "bitmap_scan":
		return types.True
	}
	return types.Null
}

// columnProperty returns how a column of an index is ordered and found; key is nil for
// those that are only included.
func columnProperty(method uint32, key *call.KeyOrder, name string) types.Datum {
	ordered := key != nil && method == OidBtree
	switch name {
	case "asc", "desc", "nulls_first", "nulls_last", "search_array", "search_nulls":
		if key == nil {
			return types.Null
		}
		return types.NewBool(ordered && map[string]bool{
			"asc": !key.Desc, "desc": key.Desc, "nulls_first": key.NullsFirst, "nulls_last": !key.NullsFirst,
			"search_array": true, "search_nulls": true,
		}[name])
	case "orderable":
		return types.NewBool(ordered)
	case "distance_orderable":
		return types.False
	case "returnable":
		return types.NewBool(method == OidBtree)
	}
	return types.Null
}

func identifyAsAddress(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	addr, ok, err := s.ObjectAddress(uint32(a[0].Int()), uint32(a[1].Int()), int32(a[2].Int()))
	row := []types.Datum{types.Null, types.Null, types.Null}
	if addr.Kind != "" {
		row[0] = types.NewString(addr.Kind)
	}
	if ok {
		row[1], row[2] = call.TextArray(addr.Names), call.TextArray(addr.Args)
	}
	return call.NewRows([][]types.Datum{row}), err
}

func getObjectAddress(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	addr := call.ObjectAddress{Kind: a[0].Str()}
	for i, list := range []*[]string{&addr.Names, &addr.Args} {
		for _, d := range a[i+1].ArrayElems() {
			if err := c.Step(1); err != nil {
				return nil, err
			}
			if d.IsNull() {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "name or argument lists may not contain nulls")
			}
			*list = append(*list, d.Str())
		}
	}
	class, oid, sub, err := s.ObjectByAddress(addr)
	return call.NewRows([][]types.Datum{{types.NewInt(int64(class)), types.NewInt(int64(oid)), types.NewInt(int64(sub))}}), err
}
