package call

import (
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/types"
)

// signatureTypes are the names that a signature may use, as in pg_type.
var signatureTypes = func() map[string]*types.T {
	m := map[string]*types.T{}
	for _, t := range []*types.T{
		types.Bool, types.Bytea, types.Char, types.Name, types.Int8, types.Int2, types.Int4,
		types.Regproc, types.Text, types.PgNodeTree, types.Oid, types.Xid, types.Xid8, types.CID, types.TID, types.PgLSN, types.Money,
		types.ACLItem, types.ACLItemArray, types.PgSnapshot, types.TxidSnapshot, types.Refcursor, types.Regdictionary, types.RegdictionaryArray,
		types.JSON, types.Float4, types.Float8,
		types.Bpchar, types.Varchar, types.Date, types.Time, types.Timestamp, types.TimestampTZ,
		types.Interval, types.TimeTZ, types.Numeric, types.Regclass, types.Regtype, types.Regnamespace,
		types.Regprocedure, types.Regoper, types.Regoperator, types.Regrole, types.Regcollation,
		types.Record, types.Void, types.UUID, types.JSONB, types.Int2Vector, types.OidVector,
		types.Any, types.AnyArray, types.AnyElement, types.AnyNonArray, types.AnyCompatible, types.AnyCompatibleArray,
		types.TextArray, types.ByteaArray, types.Int4Array, types.Int8Array, types.NameArray, types.Float8Array, types.OidArray,
		types.NumericArray, types.JSONPath, types.Inet, types.CIDR, types.MACAddr, types.MACAddr8,
		types.Bit, types.Varbit, types.TSVector, types.TSQuery, types.Regconfig, types.CharArray, types.Float4Array, types.IntervalArray,
		types.Int4Range, types.Int8Range, types.NumRange, types.TSRange, types.TSTZRange, types.DateRange,
		types.Int4Multirange, types.Int8Multirange, types.NumMultirange, types.TSMultirange, types.TSTZMultirange,
		types.DateMultirange, types.AnyEnum, types.AnyRange, types.AnyMultirange, types.CString,
		types.Point, types.LSeg, types.Line, types.Box, types.Path, types.Polygon, types.Circle,
		types.Citext, types.CitextArray, types.Hstore, types.HstoreArray,
		types.Ltree, types.LtreeArray, types.Lquery, types.LqueryArray, types.Ltxtquery, types.QueryInt,
	} {
		m[t.Name] = t
	}
	return m
}()

func signatureType(s, sig string) *types.T {
	t := signatureTypes[s]
	must.True(t != nil, "builtin: unknown type %q in signature %q", s, sig)
	return t
}

// Fn declares a strict, immutable function: "name(type,type...) result", where
// "..." after the last type makes it variadic. The oid comes
// from oids.txt.
func Fn(sig string, eval EvalFunc) *Overload {
	open, closed := strings.IndexByte(sig, '('), strings.LastIndexByte(sig, ')')
	must.True(open > 0 && closed > open, "builtin: malformed signature %q", sig)
	o := &Overload{Name: sig[:open], Strict: true, Eval: eval}
	if list := sig[open+1 : closed]; list != "" {
		if strings.HasSuffix(list, "...") {
			o.Variadic, list = true, list[:len(list)-3]
		}
		for _, a := range strings.Split(list, ",") {
			o.Args = append(o.Args, signatureType(strings.TrimSpace(a), sig))
		}
	}
	o.Ret = signatureType(strings.TrimPrefix(strings.TrimSpace(sig[closed+1:]), "setof "), sig)
	return o
}

// FnBind declares a function that is specialised per call.
func FnBind(sig string, bind BindFunc) *Overload {
	o := Fn(sig, nil)
	o.Bind = bind
	return o
}

// SRF declares a set-returning function.
func SRF(sig string, f SRFFunc) *Overload {
	o := Fn(sig, nil)
	o.SRF = f
	return o
}

// Op declares a strict, immutable operator: "left + right result", or
// "- right result" for a prefix operator.
func Op(sig string, eval EvalFunc) *Overload {
	w := strings.Fields(sig)
	o := &Overload{Strict: true, Operator: true, Eval: eval}
	switch len(w) {
	case 3:
		o.Name = w[0]
		o.Args = []*types.T{signatureType(w[1], sig)}
	case 4:
		o.Name = w[1]
		o.Args = []*types.T{signatureType(w[0], sig), signatureType(w[2], sig)}
	default:
		must.True(false, "builtin: malformed operator signature %q", sig)
	}
	o.Ret = signatureType(w[len(w)-1], sig)
	return o
}

// OpBind declares an operator that is specialised per call.
func OpBind(sig string, bind BindFunc) *Overload {
	o := Op(sig, nil)
	o.Bind = bind
	return o
}
