package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// firstCastOid is where the oids of casts begin: in PostgreSQL they are given
// when a cluster is made, and differ between versions.
const firstCastOid = 10_200

// builtInCasts lists the casts between predeclared types.
func builtInCasts(_ *snapshot, w *writer) error {
	oid := uint32(firstCastOid)
	casts.Each(func(from, to *types.T, c casts.Cast) {
		castRow(w, types.CastDef{Oid: oid, From: from.Oid, To: to.Oid, Context: c.Context}, c.Method)
		oid++
	})
	return nil
}

// pgCast lists the casts of extensions, and those that CREATE CAST made.
func pgCast(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		for _, c := range extensionCasts()[x.Name] {
			castRow(w, c.CastDef, c.method)
		}
	}
	for _, t := range s.types() {
		for _, c := range t.UserType.Def.Casts {
			method := byte('i')
			if c.Function != nil {
				method = 'f'
			}
			castRow(w, c, method)
		}
	}
	return nil
}

func castRow(w *writer, c types.CastDef, method byte) {
	w.oid("oid", c.Oid)
	w.oid("castsource", c.From)
	w.oid("casttarget", c.To)
	if c.Function != nil {
		w.oid("castfunc", c.Function.Oid)
	} else {
		w.oid("castfunc", builtin.FunctionOfCast(c.From, c.To).Oid)
	}
	w.str("castcontext", string(rune(c.Context)))
	w.str("castmethod", string(rune(method)))
	w.done()
}

// pgAggregate lists what aggregates have beyond their rows of pg_proc. Their
// transition functions can't be called and have no oids.
func pgAggregate(_ *snapshot, w *writer) error {
	for _, r := range routines().all {
		if r.kind != 'a' || !w.wants("aggfnoid", r.oid) {
			continue
		}
		aggregateRow(w, r)
	}
	return nil
}

func aggregateRow(w *writer, r *routine) {
	kind, direct, ok := r.orderedSet()
	if !ok {
		kind = 'n'
	}
	w.oid("aggfnoid", r.oid)
	w.str("aggkind", string(kind))
	w.num("aggnumdirectargs", int64(direct))
	for _, c := range [...]string{
		"aggtransfn", "aggfinalfn", "aggcombinefn", "aggserialfn", "aggdeserialfn", "aggmtransfn", "aggminvtransfn",
		"aggmfinalfn", "aggsortop", "aggtranstype", "aggmtranstype",
	} {
		w.oid(c, 0)
	}
	w.flag("aggfinalextra", false)
	w.flag("aggmfinalextra", false)
	w.str("aggfinalmodify", "r")
	w.str("aggmfinalmodify", "r")
	for _, c := range [...]string{"aggtransspace", "aggmtransspace"} {
		w.num(c, 0)
	}
	w.done()
}

// btreeStrategies are the comparison operators by strategy number, from 1.
const btreeStrategies = "< <= = >= >"

// firstAmopOid is where the oids of the entries of operator families begin.
const firstAmopOid = 10_700

// pgAmop lists the operators of the families by which btrees order types.
func pgAmop(_ *snapshot, w *writer) error {
	oid := uint32(firstAmopOid)
	for n, name := range strings.Fields(btreeStrategies) {
		for _, o := range builtin.All() {
			if !o.Operator || o.Name != name || len(o.Args) != 2 {
				continue
			}
			left, right := supportOf(o.Args[0]), supportOf(o.Args[1])
			if left.opfamily == 0 || left.opfamily != right.opfamily {
				continue
			}
			w.oid("oid", oid)
			w.oid("amopfamily", left.opfamily)
			w.oid("amoplefttype", o.Args[0].Oid)
			w.oid("amoprighttype", o.Args[1].Oid)
			w.num("amopstrategy", int64(n+1))
			w.str("amoppurpose", "s")
			w.oid("amopopr", o.Oid)
			w.oid("amopmethod", oidBtree)
			w.oid("amopsortfamily", 0)
			w.done()
			oid++
		}
	}
	return nil
}
