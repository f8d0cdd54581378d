package builtin

import (
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
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
			return types.NewString("unknown (OID=" + formatUint(uint64(uint32(a[0].Int())), 10) + ")"), nil
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
		fn("pg_relation_filenode(regclass) oid", identity).stable(),
		srf("pg_get_keywords() setof record", getKeywords).stable().columns(
			[]string{"word", "catcode", "barelabel", "catdesc", "baredesc"},
			[]*types.T{types.Text, types.Char, types.Bool, types.Text, types.Text}),
	}
}

func sizeFunctions() []*Overload {
	size := func(sig string, part SizePart) *Overload {
		return fn(sig, sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			if len(a) == 2 && a[1].Str() != "main" {
				return forkSize(a[1].Str())
			}
			n, ok, err := s.RelationSize(uint32(a[0].Int()), part)
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		})).volatile()
	}
	return []*Overload{
		size("pg_relation_size(regclass) int8", SizeMain), size("pg_relation_size(regclass,text) int8", SizeMain),
		size("pg_table_size(regclass) int8", SizeTable), size("pg_indexes_size(regclass) int8", SizeIndexes),
		size("pg_total_relation_size(regclass) int8", SizeTotal),
		fn("pg_tablespace_size(oid) int8", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			n, ok, err := s.TablespaceSize(uint32(a[0].Int()), "")
			if err != nil || !ok {
				return types.Null, err
			}
			return types.NewInt(n), nil
		})).volatile(),
		fn("pg_tablespace_size(name) int8", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			n, ok, err := s.TablespaceSize(0, a[0].Str())
			if err == nil && !ok {
				err = pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", a[0].Str())
			}
			return types.NewInt(n), err
		})).volatile(),
		fn("pg_database_size(oid) int8", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return databaseSize(s, uint32(a[0].Int()))
		})).volatile(),
		fn("pg_database_size(name) int8", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			oid, ok, err := s.LookupDatabase(a[0].Str())
			if err != nil {
				return types.Null, err
			}
			if !ok {
				return types.Null, pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", a[0].Str())
			}
			return databaseSize(s, oid)
		})).volatile(),
		fn("pg_size_pretty(int8) text", func(_ *Context, a []types.Datum) (types.Datum, error) { return text(sizePretty(a[0].Int())) }),
		fn("pg_size_pretty(numeric) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			n, ok := types.DecimalToInt(types.TruncDecimal(a[0], 0))
			if !ok {
				return types.Null, fail(errInt8Range)
			}
			return text(sizePretty(n))
		}),
	}
}

// forkSize is the size of a fork that relations here do not have.
func forkSize(fork string) (types.Datum, error) {
	switch fork {
	case "fsm", "vm", "init":
		return types.NewInt(0), nil
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid fork name").
		WithHint(`Valid fork names are "main", "fsm", "vm", and "init".`)
}

func databaseSize(s Session, oid uint32) (types.Datum, error) {
	n, ok, err := s.DatabaseSize(oid)
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

// sizePretty prints a number of bytes in the unit that leaves fewer than five
// digits, rounding half away from zero.
func sizePretty(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	neg := n < 0
	u := absUint(n)
	i := 0
	if u >= 10*1024 {
		u >>= 9 // keep a bit to round by
		for i = 1; i < len(units)-1 && u >= 20*1024-1; i++ {
			u >>= 10
		}
		u = (u + 1) >> 1
	}
	return pick(neg, "-", "") + formatUint(u, 10) + " " + units[i]
}

func miscFunctions() []*Overload {
	count := func(sig string, nulls bool) *Overload {
		return fn(sig, func(_ *Context, a []types.Datum) (types.Datum, error) {
			n := int64(0)
			for i := range a {
				if a[i].IsNull() == nulls {
					n++
				}
			}
			return types.NewInt(n), nil
		}).nonStrict()
	}
	return append(limitFunctions(), []*Overload{
		count("num_nulls(any...) int4", true), count("num_nonnulls(any...) int4", false),
		// information_schema's helper, which drivers use to take index keys apart.
		srf("_pg_expandarray(anyarray) setof record", expandArray).columns([]string{"x", "n"}, []*types.T{types.AnyElement, types.Int4}),
		// No table is partitioned; psql asks before it lists foreign keys.
		srf("pg_partition_ancestors(regclass) setof regclass", noRows).volatile(),
		srf("pg_partition_tree(regclass) setof record", noRows).volatile().columns(
			[]string{"relid", "parentrelid", "isleaf", "level"}, []*types.T{types.Regclass, types.Regclass, types.Bool, types.Int4}),
		fn("pg_partition_root(regclass) regclass", nullFunc),
		srf("pg_timezone_names() setof record", zoneNames).stable().columns(
			[]string{"name", "abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Text, types.Interval, types.Bool}),
	}...)
}

// limitFunctions are information_schema's, by which drivers and code generators learn what a
// type with a modifier can hold.
func limitFunctions() []*Overload {
	limit := func(name string, of func(types.Limits) int64) *Overload {
		return fn(name+"(oid,int4) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			n := of(types.LimitsOf(uint32(a[0].Int()), int32(a[1].Int())))
			if n < 0 {
				return types.Null, nil
			}
			return types.NewInt(n), nil
		})
	}
	return []*Overload{
		trueType("_pg_truetypid", "oid", "typbasetype", "atttypid"),
		trueType("_pg_truetypmod", "int4", "typtypmod", "atttypmod"),
		limit("_pg_char_max_length", func(l types.Limits) int64 { return l.CharLength }),
		limit("_pg_char_octet_length", func(l types.Limits) int64 { return l.OctetLength }),
		limit("_pg_numeric_precision", func(l types.Limits) int64 { return l.Precision }),
		limit("_pg_numeric_precision_radix", func(l types.Limits) int64 { return l.Radix }),
		limit("_pg_numeric_scale", func(l types.Limits) int64 { return l.Scale }),
		limit("_pg_datetime_precision", func(l types.Limits) int64 { return l.TimePrecision }),
		fn("_pg_interval_type(oid,int4) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			fields := types.LimitsOf(uint32(a[0].Int()), int32(a[1].Int())).IntervalFields
			return textOrNull(fields, fields != "", nil)
		}),
	}
}

// trueType declares a function of a row of pg_attribute and of the row of pg_type behind it: a
// field of a domain's row, else one of the column's.
func trueType(name, ret, ofDomain, ofColumn string) *Overload {
	return fnBind(name+"(record,record) "+ret, func(b Binding) (EvalFunc, error) {
		column, kind, base := b.Types[0].FieldByName(ofColumn), b.Types[1].FieldByName("typtype"), b.Types[1].FieldByName(ofDomain)
		if column < 0 || kind < 0 || base < 0 {
			return nil, noMatch(name, false, b.Types)
		}
		return func(c *Context, a []types.Datum) (types.Datum, error) {
			typ := types.RecordFields(b.Types[1], a[1], c.Format)
			if typ[kind].Datum.Str() == string(types.DefDomain) {
				return typ[base].Datum, nil
			}
			return types.RecordFields(b.Types[0], a[0], c.Format)[column].Datum, nil
		}, nil
	})
}

func noRows(*Context, []types.Datum) (RowIterator, error) { return newSliceRows(nil), nil }

// expandArray yields the elements of an array, each with its number; those of more than one
// dimension are NULL, as a single subscript of such an array is.
func expandArray(_ *Context, a []types.Datum) (RowIterator, error) {
	var rows [][]types.Datum
	dims := a[0].ArrayDims()
	for i, e := range a[0].ArrayElems() {
		if len(dims) > 1 {
			if e = types.Null; i == int(dims[0].Len) {
				break
			}
		}
		rows = append(rows, []types.Datum{e, types.NewInt(int64(i) + 1)})
	}
	return &tableRows{rows: rows}, nil
}

// zoneNames lists the time zones with what holds at the current time.
func zoneNames(c *Context, _ []types.Datum) (RowIterator, error) {
	var rows [][]types.Datum
	at := types.TimeFromMicros(c.StmtTime)
	for _, name := range datetime.ZoneNames() {
		loc, ok := datetime.LoadZone(name, nil)
		if !ok {
			continue
		}
		local := at.In(loc)
		abbrev, east := local.Zone()
		rows = append(rows, []types.Datum{types.NewString(name), types.NewString(abbrev),
			types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}), types.NewBool(local.IsDST())})
	}
	return &tableRows{rows: rows}, nil
}
