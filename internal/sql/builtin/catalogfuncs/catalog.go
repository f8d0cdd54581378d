package catalogfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func catalogFunctions() []*call.Overload {
	var all []*call.Overload
	for _, kind := range []string{"table", "type", "function", "operator", "opclass", "opfamily", "collation", "conversion",
		"statistics_obj", "ts_config", "ts_dict", "ts_parser", "ts_template"} {
		all = append(all, call.Fn("pg_"+kind+"_is_visible(oid) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			visible, ok, err := s.ObjectVisible(kind, uint32(a[0].Int()))
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewBool(visible), nil
		})).Stable())
	}
	for _, r := range []struct {
		sig string
		typ *types.T
	}{
		{"to_regclass(text) regclass", types.Regclass}, {"to_regtype(text) regtype", types.Regtype},
		{"to_regproc(text) regproc", types.Regproc}, {"to_regnamespace(text) regnamespace", types.Regnamespace},
		{"to_regprocedure(text) regprocedure", types.Regprocedure}, {"to_regoper(text) regoper", types.Regoper},
		{"to_regoperator(text) regoperator", types.Regoperator}, {"to_regrole(text) regrole", types.Regrole},
		{"to_regcollation(text) regcollation", types.Regcollation},
	} {
		all = append(all, call.Fn(r.sig, call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			oid, ok, err := s.LookupReg(r.typ, a[0].Str())
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(int64(oid)), nil
		})).Stable())
	}
	return append(all,
		call.Fn("format_type(oid,int4) text", formatType).NonStrict().Stable(),
		call.Fn("oidvectortypes(oidvector) text", oidVectorTypes).Stable(),
		call.FnBind("pg_typeof(any) regtype", func(b call.Binding) (call.EvalFunc, error) {
			d := types.NewInt(int64(b.Types[0].Shown().Oid))
			return func(*call.Context, []types.Datum) (types.Datum, error) { return d, nil }, nil
		}).NonStrict().Stable(),
		call.FnBind("pg_collation_for(any) text", func(b call.Binding) (call.EvalFunc, error) {
			if b.Types[0].Family != types.StringFamily {
				return call.NullFunc, nil
			}
			return func(*call.Context, []types.Datum) (types.Datum, error) { return call.Text(`"default"`) }, nil
		}).NonStrict().Stable(),
		call.Fn("pg_get_userbyid(oid) name", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			if name, ok := s.UserByOid(uint32(a[0].Int())); ok {
				return types.NewString(name), nil
			}
			return types.NewString("unknown (OID=" + strconv.FormatUint(uint64(uint32(a[0].Int())), 10) + ")"), nil
		})).Stable(),
	)
}

// encodingFunctions declares what tells of the encodings of clients.
func encodingFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("pg_encoding_to_char(int4) name", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if e := charset.ByID(int(a[0].Int())); e != nil {
				return types.NewString(e.Name), nil
			}
			return types.NewString(""), nil
		}).Stable(),
		call.Fn("pg_char_to_encoding(name) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if e := charset.Find(a[0].Str()); e != nil {
				return types.NewInt(int64(e.ID)), nil
			}
			return types.NewInt(-1), nil
		}).Stable(),
		call.Fn("pg_client_encoding() name", clientEncoding).Stable(), call.Fn("getdatabaseencoding() name", utf8Name).Stable(),
		call.Fn("pg_encoding_max_length(int4) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if e := charset.ByID(int(a[0].Int())); e != nil {
				return types.NewInt(int64(e.Longest())), nil
			}
			return types.Null, nil
		}),
	}
}

// descriptionFunctions declares what returns the comments on objects.
func descriptionFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("obj_description(oid,name) text", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.TextOrNull(s.Description(uint32(a[0].Int()), a[1].Str(), 0))
		})).Stable(),
		call.Fn("obj_description(oid) text", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.TextOrNull(s.Description(uint32(a[0].Int()), "", 0))
		})).Stable(),
		call.Fn("shobj_description(oid,name) text", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.TextOrNull(s.Description(uint32(a[0].Int()), a[1].Str(), 0))
		})).Stable(),
		call.Fn("col_description(oid,int4) text", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.TextOrNull(s.Description(uint32(a[0].Int()), "pg_class", int32(a[1].Int())))
		})).Stable(),
	}
}

// clientEncoding is pg_client_encoding().
func clientEncoding(c *call.Context, _ []types.Datum) (types.Datum, error) {
	if c.Session == nil {
		return types.NewString("UTF8"), nil
	}
	v, _ := c.Session.Setting("client_encoding")
	return types.NewString(v), nil
}

func utf8Name(*call.Context, []types.Datum) (types.Datum, error) { return types.NewString("UTF8"), nil }

// oidVectorTypes is oidvectortypes: the names of types, which a signature has.
func oidVectorTypes(c *call.Context, a []types.Datum) (types.Datum, error) {
	var names []string
	for _, e := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		d, err := formatType(c, []types.Datum{e, types.Null})
		if err != nil {
			return types.Null, err
		}
		names = append(names, d.Str())
	}
	return call.Text(strings.Join(names, ", "))
}

// formatType is format_type(oid, typmod).
func formatType(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	oid := uint32(a[0].Int())
	if oid == 0 {
		return call.Text("-")
	}
	t, ok := types.ByOid(oid)
	if c.Session != nil && (!ok || t.Extension() != "") {
		t, ok = c.Session.TypeByOid(oid)
	}
	if !ok {
		return call.Text("???")
	}
	// A modifier given as NULL asks for the plain name; -1 tells character
	// apart from bpchar, which has none.
	if a[1].IsNull() {
		return call.Text(t.SQLName)
	}
	if t.Is(types.Bpchar) && a[1].Int() < 0 {
		return call.Text("bpchar")
	}
	return call.Text(types.FormatType(t.WithTypmod(int32(a[1].Int()))))
}

func definitionFunctions() []*call.Overload {
	def := func(sig string, f func(s call.Session, a []types.Datum) (string, bool, error)) *call.Overload {
		return call.Fn(sig, call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.TextOrNull(f(s, a))
		})).Stable()
	}
	pretty := func(a []types.Datum, i int) bool { return i < len(a) && a[i].Bool() }
	oid := func(a []types.Datum) uint32 { return uint32(a[0].Int()) }
	view := func(s call.Session, a []types.Datum) (string, bool, error) { return s.ViewDef(oid(a), pretty(a, 1), 0) }
	viewNamed := func(s call.Session, a []types.Datum) (string, bool, error) {
		o, ok, err := s.LookupReg(types.Regclass, a[0].Str())
		if err == nil && !ok {
			err = pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", a[0].Str())
		}
		if err != nil {
			return "", false, err
		}
		return s.ViewDef(o, pretty(a, 1), 0)
	}
	constraint := func(s call.Session, a []types.Datum) (string, bool, error) {
		return s.ConstraintDef(oid(a), pretty(a, 1))
	}
	index := func(s call.Session, a []types.Datum) (string, bool, error) {
		return s.IndexDef(oid(a), int32(call.IntArg(a, 1, 0)), pretty(a, 2))
	}
	expr := func(s call.Session, a []types.Datum) (string, bool, error) {
		return s.ExprDef(a[0].Str(), uint32(a[1].Int()), pretty(a, 2))
	}
	statistics := func(columns bool) func(call.Session, []types.Datum) (string, bool, error) {
		return func(s call.Session, a []types.Datum) (string, bool, error) {
			text, ok := s.StatisticsDef(oid(a), columns)
			return text, ok, nil
		}
	}
	trigger := func(s call.Session, a []types.Datum) (string, bool, error) { return s.TriggerDef(oid(a), pretty(a, 1)) }
	function := func(part call.FunctionPart) func(s call.Session, a []types.Datum) (string, bool, error) {
		return func(s call.Session, a []types.Datum) (string, bool, error) { return s.FunctionDef(oid(a), part) }
	}
	return []*call.Overload{
		def("pg_get_viewdef(oid) text", view), def("pg_get_viewdef(oid,bool) text", view),
		def("pg_get_viewdef(oid,int4) text", func(s call.Session, a []types.Datum) (string, bool, error) {
			return s.ViewDef(oid(a), true, int(a[1].Int()))
		}),
		def("pg_get_viewdef(text) text", viewNamed), def("pg_get_viewdef(text,bool) text", viewNamed),
		def("pg_get_constraintdef(oid) text", constraint), def("pg_get_constraintdef(oid,bool) text", constraint),
		def("pg_get_indexdef(oid) text", index), def("pg_get_indexdef(oid,int4,bool) text", index),
		// PostgreSQL's first argument is a pg_node_tree; here expressions are kept as text.
		def("pg_get_expr(pg_node_tree,oid) text", expr), def("pg_get_expr(pg_node_tree,oid,bool) text", expr),
		def("pg_get_functiondef(oid) text", function(call.FunctionWhole)), def("pg_get_function_arguments(oid) text", function(call.FunctionArguments)),
		def("pg_get_function_identity_arguments(oid) text", function(call.FunctionIdentityArguments)), def("pg_get_function_result(oid) text", function(call.FunctionResult)),
		// Objects that do not exist in this system: whatever the oid, there is none.
		call.Fn("pg_get_ruledef(oid) text", call.NullFunc).Stable(), call.Fn("pg_get_ruledef(oid,bool) text", call.NullFunc).Stable(),
		def("pg_get_triggerdef(oid) text", trigger), def("pg_get_triggerdef(oid,bool) text", trigger),
		call.Fn("pg_get_partkeydef(oid) text", call.NullFunc).Stable(), call.Fn("pg_get_partition_constraintdef(oid) text", call.NullFunc).Stable(),
		def("pg_get_statisticsobjdef(oid) text", statistics(false)), def("pg_get_statisticsobjdef_columns(oid) text", statistics(true)),
		call.Fn("pg_get_function_sqlbody(oid) text", call.NullFunc).Stable(), call.Fn("pg_get_function_arg_default(oid,int4) text", call.NullFunc).Stable(),
		call.Fn("pg_get_replica_identity_index(regclass) regclass", call.NullFunc).Stable(),
		call.Fn("pg_relation_is_publishable(regclass) bool", call.FalseFunc).Stable(),
		rowSecurityActive("oid"), rowSecurityActive("text"),
		call.Fn("pg_tablespace_location(oid) text", func(*call.Context, []types.Datum) (types.Datum, error) { return call.Text("") }).Stable(),
		call.Fn("pg_relation_filepath(regclass) text", call.NullFunc).Stable(),
		call.Fn("pg_relation_filenode(regclass) oid", call.Identity).Stable(),
	}
}

// partitionFunctions declares what is asked about partitions, of which there are none.
func partitionFunctions() []*call.Overload {
	return []*call.Overload{
		// psql asks before it lists foreign keys.
		call.SRF("pg_partition_ancestors(regclass) setof regclass", call.NoRows).Volatile(),
		call.SRF("pg_partition_tree(regclass) setof record", call.NoRows).Volatile().Columns(
			[]string{"relid", "parentrelid", "isleaf", "level"}, []*types.T{types.Regclass, types.Regclass, types.Bool, types.Int4}),
		call.Fn("pg_partition_root(regclass) regclass", call.NullFunc),
	}
}
