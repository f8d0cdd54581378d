package pgcatalog

import (
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// extensionSupport are the functions and operator classes of extensions' types, by the oids of the types. Those of an
// extension are among oids that nothing else has.
var extensionSupport = map[uint32]typeSupport{
	types.Citext.Oid: {
		in: 15950, out: 15951, recv: 15952, send: 15953, names: [4]string{"citextin", "citextout", "citextrecv", "citextsend"},
		opclass: 15954, opfamily: 15955, opclassName: "citext_ops", typ: types.Citext.Oid,
	},
	types.Hstore.Oid: {
		in: 15956, out: 15957, recv: 15958, send: 15959, names: [4]string{"hstore_in", "hstore_out", "hstore_recv", "hstore_send"},
		opclass: 15960, opfamily: 15961, opclassName: "btree_hstore_ops", typ: types.Hstore.Oid,
	},
	types.Ltree.Oid: {
		in: 15930, out: 15931, recv: 15932, send: 15933, names: [4]string{"ltree_in", "ltree_out", "ltree_recv", "ltree_send"},
		opclass: 15934, opfamily: 15935, opclassName: "ltree_ops", typ: types.Ltree.Oid,
	},
	types.Lquery.Oid: {
		in: 15936, out: 15937, recv: 15938, send: 15939, names: [4]string{"lquery_in", "lquery_out", "lquery_recv", "lquery_send"}, typ: types.Lquery.Oid,
	},
	types.Ltxtquery.Oid: {
		in: 15940, out: 15941, recv: 15942, send: 15943, names: [4]string{"ltxtq_in", "ltxtq_out", "ltxtq_recv", "ltxtq_send"}, typ: types.Ltxtquery.Oid,
	},
	types.QueryInt.Oid: {in: 15944, out: 15945, names: [4]string{"bqarr_in", "bqarr_out"}, typ: types.QueryInt.Oid},
}

// firstExtensionCast is where the oids of extensions' casts begin.
const firstExtensionCast = 15970

// installed is an extension of the database with the oid of its schema.
type installed struct {
	catalog.CreatedExtension
	schema     uint32
	schemaName string
}

// extensions returns the extensions of the database that have objects of their own.
func (s *snapshot) extensions() []installed {
	var list []installed
	for _, x := range s.db.Installed() {
		if in, _ := s.c.h.Coll.PeekExtensionSchema(s.ctx, x.Name); in != nil && catalog.ExtensionByName(x.Name).Oid == 0 {
			list = append(list, installed{x, in.Oid, in.Name})
		}
	}
	return list
}

// types writes the types of an extension.
func (x installed) types(s *snapshot, w *writer) {
	for _, t := range types.OfExtension(x.Name) {
		if w.wants("oid", t.Oid) {
			s.typeRow(w, t, x.schema)
		}
	}
}

// routines returns the functions of an extension: those that are called by name, and those that its types are made of.
func (x installed) routines() []*routine {
	list := extensionRoutines()[x.Name]
	out := make([]*routine, len(list))
	for i, r := range list {
		in := *r
		in.schema, in.schemaText = x.schema, x.schemaName
		out[i] = &in
	}
	return out
}

// extensionRoutines are the functions of extensions, without schemas.
var extensionRoutines = sync.OnceValue(func() map[string][]*routine {
	m := map[string][]*routine{}
	for _, x := range catalog.Extensions {
		for _, o := range builtin.OfExtension(x.Name) {
			kind := byte('f')
			if o.Agg != nil {
				kind = 'a'
			}
			if !o.Operator && !strings.HasPrefix(o.Name, "lichen_") {
				m[x.Name] = append(m[x.Name], ownRoutine(o, kind))
			}
		}
		for _, t := range types.OfExtension(x.Name) {
			if sup, ok := extensionSupport[t.Oid]; ok {
				m[x.Name] = append(m[x.Name], typeRoutines(t, &sup)...)
			}
		}
	}
	return m
})

// typeRoutines are the functions that a type is made of.
func typeRoutines(t *types.T, sup *typeSupport) []*routine {
	var list []*routine
	for i, oid := range [...]uint32{sup.in, sup.out, sup.recv, sup.send} {
		arg := [...]*types.T{types.CString, t, types.Internal, t}[i]
		ret := [...]*types.T{t, types.CString, t, types.Bytea}[i]
		if oid == 0 { // the type has no binary form
			continue
		}
		list = append(list, &routine{oid: oid, name: sup.names[i], kind: 'f', volatility: 'i', parallel: 's', strict: true, cost: 1,
			args: []*types.T{arg}, ret: ret, source: sup.names[i]})
	}
	return list
}

// extensionCast is a cast of an extension.
type extensionCast struct {
	types.CastDef
	method byte
}

// extensionCasts are the casts of extensions. They have the same oids in every database.
var extensionCasts = sync.OnceValue(func() map[string][]extensionCast {
	m := map[string][]extensionCast{}
	next := uint32(firstExtensionCast)
	for _, x := range catalog.Extensions {
		if len(types.OfExtension(x.Name)) == 0 {
			continue
		}
		casts.EachOf(x.Name, func(from, to *types.T, c casts.Cast) {
			m[x.Name] = append(m[x.Name], extensionCast{types.CastDef{Oid: next, From: from.Oid, To: to.Oid, Context: c.Context}, c.Method})
			next++
		})
	}
	return m
})

// pgOperatorOf lists the operators of extensions, and those that users have made.
func pgOperatorOf(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		for _, o := range builtin.OfExtension(x.Name) {
			if o.Operator && w.wants("oid", o.Oid) {
				operatorRow(w, o, x.schema)
			}
		}
	}
	for _, t := range s.listing().Operators {
		if w.wants("oid", t.Oid) {
			s.userOperatorRow(w, t)
		}
	}
	return nil
}

// pgAggregateOf lists the aggregates of extensions, and those that users have made.
func pgAggregateOf(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		for _, r := range x.routines() {
			if r.kind == 'a' {
				aggregateRow(w, r)
			}
		}
	}
	for _, t := range s.listing().Routines {
		if t.Routine.Aggregate != nil && w.wants("aggfnoid", t.Oid) {
			userAggregateRow(w, t)
		}
	}
	return nil
}

// userAggregateRow writes an aggregate that a user has made.
func userAggregateRow(w *writer, t *catalog.Table) {
	a := t.Routine.Aggregate
	w.oid("aggfnoid", t.Oid)
	w.str("aggkind", "n")
	w.num("aggnumdirectargs", 0)
	w.oid("aggtransfn", a.Transition.Oid)
	w.oid("aggfinalfn", a.Final.Oid)
	w.oid("aggcombinefn", a.Combine.Oid)
	w.oid("aggserialfn", 0)
	w.oid("aggdeserialfn", 0)
	w.flag("aggfinalextra", a.FinalExtra)
	w.str("aggfinalmodify", string(a.FinalModify))
	w.oid("aggsortop", a.SortOperator)
	w.oid("aggtranstype", a.State.Oid)
	w.num("aggtransspace", int64(a.Space))
	if a.Initial != nil {
		w.str("agginitval", *a.Initial)
	}
	m := a.Moving
	if m == nil {
		m = &catalog.MovingAggregate{State: &types.T{}, FinalModify: 'r'}
	}
	w.oid("aggmtransfn", m.Transition.Oid)
	w.oid("aggminvtransfn", m.Inverse.Oid)
	w.oid("aggmfinalfn", m.Final.Oid)
	w.flag("aggmfinalextra", m.FinalExtra)
	w.str("aggmfinalmodify", string(m.FinalModify))
	w.oid("aggmtranstype", m.State.Oid)
	w.num("aggmtransspace", int64(m.Space))
	if m.Initial != nil {
		w.str("aggminitval", *m.Initial)
	}
	w.done()
}

// classes calls f with the operator classes of an extension's types, and g with those of inverted indexes.
func (x installed) classes(f func(s *typeSupport), g func(c *inverted.Class)) {
	for _, t := range types.OfExtension(x.Name) {
		if sup, ok := extensionSupport[t.Oid]; ok && sup.opclass != 0 {
			f(&sup)
		}
	}
	for _, c := range inverted.Classes() {
		if catalog.ExtensionOfClass(c.Name) == x.Name {
			g(c)
		}
	}
}

// pgOpclassOf lists the operator classes of extensions.
func pgOpclassOf(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		x.classes(func(sup *typeSupport) { opclassRow(w, sup, oidBtree, x.schema) },
			func(c *inverted.Class) { invertedClassRow(w, c, x.schema) })
	}
	return nil
}

// pgOpfamilyOf lists the operator families of extensions.
func pgOpfamilyOf(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		x.classes(func(sup *typeSupport) { opfamilyRow(w, sup.opfamily, oidBtree, sup.opclassName, x.schema) },
			func(c *inverted.Class) { opfamilyRow(w, c.Family, oidGIN, c.Name, x.schema) })
	}
	return nil
}

// members writes that the objects of an extension belong to it, and where they are.
func (d depends) members(x installed) {
	own := address{oidPgExtension, x.Oid, 0}
	d.row(own, address{oidPgNamespace, x.schema, 0}, dependNormal)
	for _, t := range types.OfExtension(x.Name) {
		if t.Elem != nil {
			d.row(address{oidPgType, t.Oid, 0}, address{oidPgType, t.Elem.Oid, 0}, dependInternal)
			continue
		}
		d.row(address{oidPgType, t.Oid, 0}, own, dependExtension)
	}
	class := func(class, family uint32) {
		d.row(address{oidPgOpclass, class, 0}, own, dependExtension)
		d.row(address{oidPgOpfamily, family, 0}, own, dependExtension)
	}
	x.classes(func(sup *typeSupport) { class(sup.opclass, sup.opfamily) }, func(c *inverted.Class) { class(c.Oid, c.Family) })
	for _, r := range extensionRoutines()[x.Name] {
		d.row(address{oidPgProc, r.oid, 0}, own, dependExtension)
	}
	for _, o := range builtin.OfExtension(x.Name) {
		if o.Operator {
			d.row(address{oidPgOperator, o.Oid, 0}, own, dependExtension)
		}
	}
	for _, c := range extensionCasts()[x.Name] {
		d.row(address{oidPgCast, c.Oid, 0}, own, dependExtension)
	}
}

// extensionOperator returns the operator of an extension with an oid, nil if there is none.
func extensionOperator(oid uint32) *call.Overload {
	for _, x := range catalog.Extensions {
		for _, o := range builtin.OfExtension(x.Name) {
			if o.Operator && o.Oid == oid {
				return o
			}
		}
	}
	return nil
}
