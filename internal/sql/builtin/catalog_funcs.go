package builtin

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func catalogFunctions() []*Overload {
	var all []*Overload
	for _, kind := range []string{"table", "type", "function", "operator", "opclass", "opfamily", "collation", "conversion",
		"statistics_obj", "ts_config", "ts_dict", "ts_parser", "ts_template"} {
		all = append(all, fn("pg_"+kind+"_is_visible(oid) bool", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			visible, ok, err := s.ObjectVisible(kind, uint32(a[0].Int()))
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewBool(visible), nil
		})).stable())
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
		all = append(all, fn(r.sig, sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			oid, ok, err := s.LookupReg(r.typ, a[0].Str())
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(int64(oid)), nil
		})).stable())
	}
	all = append(all, definitionFunctions()...)
	all = append(all, sizeFunctions()...)
	all = append(all, aclFunctions()...)
	all = append(all, objectFunctions()...)
	return append(all,
		fn("format_type(oid,int4) text", formatType).nonStrict().stable(),
		fn("oidvectortypes(oidvector) text", oidVectorTypes).stable(),
		fnBind("pg_typeof(any) regtype", func(b Binding) (EvalFunc, error) {
			d := types.NewInt(int64(b.Types[0].Shown().Oid))
			return func(*Context, []types.Datum) (types.Datum, error) { return d, nil }, nil
		}).nonStrict().stable(),
		fnBind("pg_collation_for(any) text", func(b Binding) (EvalFunc, error) {
			if b.Types[0].Family != types.StringFamily {
				return nullFunc, nil
			}
			return func(*Context, []types.Datum) (types.Datum, error) { return text(`"default"`) }, nil
		}).nonStrict().stable(),
		fn("pg_get_userbyid(oid) name", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			if name, ok := s.UserByOid(uint32(a[0].Int())); ok {
				return types.NewString(name), nil
			}
			return types.NewString("unknown (OID=" + strconv.FormatUint(uint64(uint32(a[0].Int())), 10) + ")"), nil
		})).stable(),
		fn("obj_description(oid,name) text", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return textOrNull(s.Description(uint32(a[0].Int()), a[1].Str(), 0))
		})).stable(),
		fn("obj_description(oid) text", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return textOrNull(s.Description(uint32(a[0].Int()), "", 0))
		})).stable(),
		fn("shobj_description(oid,name) text", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return textOrNull(s.Description(uint32(a[0].Int()), a[1].Str(), 0))
		})).stable(),
		fn("col_description(oid,int4) text", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return textOrNull(s.Description(uint32(a[0].Int()), "pg_class", int32(a[1].Int())))
		})).stable(),
		fn("pg_encoding_to_char(int4) name", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if e := charset.ByID(int(a[0].Int())); e != nil {
				return types.NewString(e.Name), nil
			}
			return types.NewString(""), nil
		}).stable(),
		fn("pg_char_to_encoding(name) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if e := charset.Find(a[0].Str()); e != nil {
				return types.NewInt(int64(e.ID)), nil
			}
			return types.NewInt(-1), nil
		}).stable(),
		fn("pg_client_encoding() name", clientEncoding).stable(), fn("getdatabaseencoding() name", utf8Name).stable(),
		fn("pg_encoding_max_length(int4) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if e := charset.ByID(int(a[0].Int())); e != nil {
				return types.NewInt(int64(e.Longest())), nil
			}
			return types.Null, nil
		}),
	)
}

// clientEncoding is pg_client_encoding().
func clientEncoding(c *Context, _ []types.Datum) (types.Datum, error) {
	if c.Session == nil {
		return types.NewString("UTF8"), nil
	}
	v, _ := c.Session.Setting("client_encoding")
	return types.NewString(v), nil
}

func utf8Name(*Context, []types.Datum) (types.Datum, error) { return types.NewString("UTF8"), nil }

// oidVectorTypes is oidvectortypes: the names of types, which a signature has.
func oidVectorTypes(c *Context, a []types.Datum) (types.Datum, error) {
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
	return text(strings.Join(names, ", "))
}

// formatType is format_type(oid, typmod).
func formatType(c *Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	oid := uint32(a[0].Int())
	if oid == 0 {
		return text("-")
	}
	t, ok := types.ByOid(oid)
	if !ok && c.Session != nil {
		t, ok = c.Session.TypeByOid(oid)
	}
	if !ok {
		return text("???")
	}
	// A modifier given as NULL asks for the plain name; -1 tells character
	// apart from bpchar, which has none.
	if a[1].IsNull() {
		return text(t.SQLName)
	}
	if t.Is(types.Bpchar) && a[1].Int() < 0 {
		return text("bpchar")
	}
	return text(types.FormatType(t.WithTypmod(int32(a[1].Int()))))
}

func definitionFunctions() []*Overload {
	def := func(sig string, f func(s Session, a []types.Datum) (string, bool, error)) *Overload {
		return fn(sig, sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return textOrNull(f(s, a))
		})).stable()
	}
	pretty := func(a []types.Datum, i int) bool { return i < len(a) && a[i].Bool() }
	oid := func(a []types.Datum) uint32 { return uint32(a[0].Int()) }
	view := func(s Session, a []types.Datum) (string, bool, error) { return s.ViewDef(oid(a), pretty(a, 1), 0) }
	viewNamed := func(s Session, a []types.Datum) (string, bool, error) {
		o, ok, err := s.LookupReg(types.Regclass, a[0].Str())
		if err == nil && !ok {
			err = pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", a[0].Str())
		}
		if err != nil {
			return "", false, err
		}
		return s.ViewDef(o, pretty(a, 1), 0)
	}
	constraint := func(s Session, a []types.Datum) (string, bool, error) { return s.ConstraintDef(oid(a), pretty(a, 1)) }
	index := func(s Session, a []types.Datum) (string, bool, error) {
		return s.IndexDef(oid(a), int32(intArg(a, 1, 0)), pretty(a, 2))
	}
	expr := func(s Session, a []types.Datum) (string, bool, error) {
		return s.ExprDef(a[0].Str(), uint32(a[1].Int()), pretty(a, 2))
	}
	function := func(part FunctionPart) func(s Session, a []types.Datum) (string, bool, error) {
		return func(s Session, a []types.Datum) (string, bool, error) { return s.FunctionDef(oid(a), part) }
	}
	return []*Overload{
		def("pg_get_viewdef(oid) text", view), def("pg_get_viewdef(oid,bool) text", view),
		def("pg_get_viewdef(oid,int4) text", func(s Session, a []types.Datum) (string, bool, error) {
			return s.ViewDef(oid(a), true, int(a[1].Int()))
		}),
		def("pg_get_viewdef(text) text", viewNamed), def("pg_get_viewdef(text,bool) text", viewNamed),
		def("pg_get_constraintdef(oid) text", constraint), def("pg_get_constraintdef(oid,bool) text", constraint),
		def("pg_get_indexdef(oid) text", index), def("pg_get_indexdef(oid,int4,bool) text", index),
		// PostgreSQL's first argument is a pg_node_tree; here expressions are kept as text.
		def("pg_get_expr(pg_node_tree,oid) text", expr), def("pg_get_expr(pg_node_tree,oid,bool) text", expr),
		def("pg_get_functiondef(oid) text", function(FunctionWhole)), def("pg_get_function_arguments(oid) text", function(FunctionArguments)),
		def("pg_get_function_identity_arguments(oid) text", function(FunctionIdentityArguments)), def("pg_get_function_result(oid) text", function(FunctionResult)),
		// Objects that do not exist in this system: whatever the oid, there is none.
		fn("pg_get_ruledef(oid) text", nullFunc).stable(), fn("pg_get_ruledef(oid,bool) text", nullFunc).stable(),
		fn("pg_get_triggerdef(oid) text", nullFunc).stable(), fn("pg_get_triggerdef(oid,bool) text", nullFunc).stable(),
		fn("pg_get_partkeydef(oid) text", nullFunc).stable(), fn("pg_get_partition_constraintdef(oid) text", nullFunc).stable(),
		fn("pg_get_statisticsobjdef(oid) text", nullFunc).stable(), fn("pg_get_statisticsobjdef_columns(oid) text", nullFunc).stable(),
		fn("pg_get_function_sqlbody(oid) text", nullFunc).stable(), fn("pg_get_function_arg_default(oid,int4) text", nullFunc).stable(),
		fn("pg_get_replica_identity_index(regclass) regclass", nullFunc).stable(),
		fn("pg_relation_is_publishable(regclass) bool", falseFunc).stable(),
		fn("row_security_active(oid) bool", falseFunc).stable(), fn("row_security_active(text) bool", falseFunc).stable(),
		fn("pg_tablespace_location(oid) text", func(*Context, []types.Datum) (types.Datum, error) { return text("") }).stable(),
		fn("pg_relation_filepath(regclass) text", nullFunc).stable(),
		fn("pg_relation_filenode(regclass) oid", identity).stable(),
	}
}

// partitionFunctions declares what is asked about partitions, of which there are none.
func partitionFunctions() []*Overload {
	return []*Overload{
		// psql asks before it lists foreign keys.
		srf("pg_partition_ancestors(regclass) setof regclass", noRows).volatile(),
		srf("pg_partition_tree(regclass) setof record", noRows).volatile().columns(
			[]string{"relid", "parentrelid", "isleaf", "level"}, []*types.T{types.Regclass, types.Regclass, types.Bool, types.Int4}),
		fn("pg_partition_root(regclass) regclass", nullFunc),
	}
}
