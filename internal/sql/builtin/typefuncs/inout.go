package typefuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// form names the functions of a type: prefix followed by "in", "out" and "send".
type form struct {
	prefix string
	typ    *types.T
	// sized: the input function takes a modifier, too.
	sized bool
	// stableIn, stableOut: the text form follows settings of the session, or the catalog.
	stableIn, stableOut bool
	// sendsText: the binary form is, or may hold, text in the client's encoding.
	sendsText bool
}

// forms lists the types whose functions SQL may call. The input functions of polymorphic types
// (arrays, ranges, records, enums) are not among them: their result has no type of its own.
func forms() []form {
	plain := func(prefix string, t *types.T) form { return form{prefix: prefix, typ: t} }
	text := func(prefix string, t *types.T) form { return form{prefix: prefix, typ: t, sendsText: true} }
	stable := func(prefix string, t *types.T) form {
		return form{prefix: prefix, typ: t, stableIn: true, stableOut: true}
	}
	list := []form{
		plain("bool", types.Bool), plain("bytea", types.Bytea), plain("char", types.Char), text("name", types.Name),
		plain("int2", types.Int2), plain("int4", types.Int4), plain("int8", types.Int8), plain("oid", types.Oid),
		text("text", types.Text), plain("tid", types.TID), plain("xid", types.Xid), plain("xid8", types.Xid8), plain("cid", types.CID),
		plain("float4", types.Float4), plain("float8", types.Float8), plain("json_", types.JSON), plain("jsonb_", types.JSONB),
		plain("jsonpath_", types.JSONPath), plain("uuid_", types.UUID), plain("pg_lsn_", types.PgLSN),
		plain("inet_", types.Inet), plain("cidr_", types.CIDR), plain("macaddr_", types.MACAddr), plain("macaddr8_", types.MACAddr8),
		plain("tsvector", types.TSVector), plain("tsquery", types.TSQuery), plain("oidvector", types.OidVector),
		plain("int2vector", types.Int2Vector), plain("pg_snapshot_", types.PgSnapshot), plain("txid_snapshot_", types.TxidSnapshot),
		plain("point_", types.Point), plain("lseg_", types.LSeg), plain("line_", types.Line), plain("box_", types.Box),
		plain("path_", types.Path), plain("poly_", types.Polygon), plain("circle_", types.Circle),
		stable("cash_", types.Money), stable("date_", types.Date),
		stable("regproc", types.Regproc), stable("regprocedure", types.Regprocedure), stable("regoper", types.Regoper),
		stable("regoperator", types.Regoperator), stable("regclass", types.Regclass), stable("regtype", types.Regtype),
		stable("regconfig", types.Regconfig), stable("regdictionary", types.Regdictionary), stable("regnamespace", types.Regnamespace),
		stable("regrole", types.Regrole), stable("regcollation", types.Regcollation),
	}
	return append(list,
		form{prefix: "bpchar", typ: types.Bpchar, sized: true, sendsText: true}, form{prefix: "varchar", typ: types.Varchar, sized: true, sendsText: true},
		form{prefix: "numeric_", typ: types.Numeric, sized: true}, form{prefix: "bit_", typ: types.Bit, sized: true},
		form{prefix: "varbit_", typ: types.Varbit, sized: true},
		form{prefix: "time_", typ: types.Time, sized: true, stableIn: true},
		form{prefix: "timetz_", typ: types.TimeTZ, sized: true, stableIn: true},
		form{prefix: "timestamp_", typ: types.Timestamp, sized: true, stableIn: true, stableOut: true},
		form{prefix: "timestamptz_", typ: types.TimestampTZ, sized: true, stableIn: true, stableOut: true},
		form{prefix: "interval_", typ: types.Interval, sized: true, stableIn: true, stableOut: true},
	)
}

// polymorphic lists the types that only have functions for output.
func polymorphic() []form {
	output := func(prefix string, t *types.T) form {
		return form{prefix: prefix, typ: t, stableOut: true, sendsText: true}
	}
	return []form{
		output("array_", types.AnyArray), output("range_", types.AnyRange), output("multirange_", types.AnyMultirange),
		output("enum_", types.AnyEnum), output("record_", types.Record),
	}
}

func inputFunctions() []*call.Overload {
	var all []*call.Overload
	for _, f := range forms() {
		args := "(cstring) "
		if f.sized {
			args = "(cstring,oid,int4) "
		}
		o := call.Fn(f.prefix+"in"+args+f.typ.Name, input(f.typ))
		if f.stableIn {
			o.Stable()
		}
		all = append(all, o)
	}
	return all
}

// input reads a value as PostgreSQL's input function does: a modifier is applied as in an
// assignment.
func input(t *types.T) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		to := t
		if len(a) == 3 {
			to = t.WithTypmod(int32(a[2].Int()))
		}
		return typeio.ParseText(to, a[0].Str(), c.Format)
	}
}

func outputFunctions() []*call.Overload {
	var all []*call.Overload
	for _, f := range append(forms(), polymorphic()...) {
		out := call.FnBind(f.prefix+"out("+f.typ.Name+") cstring", bindOutput)
		send := call.FnBind(f.prefix+"send("+f.typ.Name+") bytea", bindSend)
		if f.stableOut {
			out.Stable()
		}
		if f.sendsText {
			send.Stable()
		}
		all = append(all, out, send)
	}
	return all
}

// modifierFunctions print modifiers as they stand behind the name of a type.
func modifierFunctions() []*call.Overload {
	var all []*call.Overload
	for _, f := range forms() {
		if f.sized {
			all = append(all, call.Fn(strings.TrimSuffix(f.prefix, "_")+"typmodout(int4) cstring", modifier(f.typ)))
		}
	}
	return all
}

func modifier(t *types.T) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		mod := int32(a[0].Int())
		if r, _ := types.IntervalTypmodParts(mod); t.Is(types.Interval) && r != types.RangeFull && r.String() == "" {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL typmod: 0x%x", uint32(mod))
		}
		return types.NewString(t.WithTypmod(mod).ModifierText()), nil
	}
}

func bindOutput(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewString(typeio.FormatDatum(t, a[0], c.Format)), nil
	}, nil
}

func bindSend(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewBytes(string(typeio.AppendBinary(nil, t, a[0], c.Format))), nil
	}, nil
}
