package pgcatalog

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// differently lists functions that are declared differently here, on purpose.
var differently = map[string]string{
	"age(timestamptz,timestamptz) interval":     "depends on the time zone",
	"json_to_recordset(json) record":            "no rows come of NULL either way",
	"jsonb_to_recordset(jsonb) record":          "no rows come of NULL either way",
	"int4multirange(_int4range) int4multirange": "looks at its ranges one by one",
	"int8multirange(_int8range) int8multirange": "looks at its ranges one by one",
	"nummultirange(_numrange) nummultirange":    "looks at its ranges one by one",
	"tsmultirange(_tsrange) tsmultirange":       "looks at its ranges one by one",
	"tstzmultirange(_tstzrange) tstzmultirange": "looks at its ranges one by one",
	"datemultirange(_daterange) datemultirange": "looks at its ranges one by one",
}

// Every function that PostgreSQL has too has a line in procs.txt, and behaves as it says.
func TestRoutines(t *testing.T) {
	check := func(o *call.Overload) {
		r := routines().byOid[o.Oid]
		switch {
		case r == nil && o.Oid < builtin.FirstOwnOid:
			t.Errorf("%v has no line in procs.txt; PostgreSQL's oid is %d", o, o.Oid)
		case r == nil || o.Oid >= builtin.FirstOwnOid || differently[o.String()] != "":
		case r.strict != o.Strict && len(o.Args) > 0:
			t.Errorf("%v: strict is %v, in PostgreSQL %v", o, o.Strict, r.strict)
		case r.volatility != "isv"[o.Volatility]:
			t.Errorf("%v: volatility is %c, in PostgreSQL %c", o, "isv"[o.Volatility], r.volatility)
		case r.set != (o.IsSRF() && !o.OneRow):
			t.Errorf("%v: returns a set here or in PostgreSQL, not in both", o)
		case r.defaults != o.Defaults, (r.variadic != 0) != o.Variadic:
			t.Errorf("%v: takes %d arguments by default, in PostgreSQL %d", o, o.Defaults, r.defaults)
		case r.leakproof != builtin.Leakproof(o):
			t.Errorf("%v: leakproof is %v, in PostgreSQL %v", o, builtin.Leakproof(o), r.leakproof)
		case o.Ret != nil && r.ret != o.Ret && len(o.OutNames) == 0:
			t.Errorf("%v: returns %s in PostgreSQL", o, r.ret.Name)
		}
	}
	for _, o := range builtin.All() {
		if !o.Operator {
			check(o)
		}
	}
	for _, a := range builtin.AllAggregates() {
		if r := routines().byOid[a.Oid]; a.Oid < builtin.FirstOwnOid && (r == nil || r.kind != 'a') {
			t.Errorf("%v has no line in procs.txt", &a.Overload)
		}
	}
}
