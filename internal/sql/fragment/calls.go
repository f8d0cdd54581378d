package fragment

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// How an overload is looked up.
const (
	isFunction = iota
	isUnary
	isBinary
)

// overloads returns those among which an overload of a kind is found by its key.
func overloads(kind byte, name string) []*call.Overload {
	switch kind {
	case isFunction:
		return slices.Concat(builtin.Functions(name), builtin.ExtensionFunctions(name))
	case isUnary, isBinary:
		return slices.Concat(builtin.Operators(name, kind == isUnary), builtin.ExtensionOperators(name, kind == isUnary))
	}
	return nil
}

// overloadWith returns the overload of a name with a key; nil if there is none.
func overloadWith(kind byte, name, key string) *call.Overload {
	for _, o := range overloads(kind, name) {
		if o.Key() == key {
			return o
		}
	}
	return nil
}

func kindOf(o *call.Overload) byte {
	switch {
	case !o.Operator:
		return isFunction
	case len(o.Args) == 1:
		return isUnary
	}
	return isBinary
}

// overload writes a function or an operator whose results depend on its arguments only.
func (w *writer) overload(o *call.Overload) {
	if o == nil {
		w.unfit("there is no function")
		return
	}
	kind := kindOf(o)
	if o.Volatility != call.Immutable || o.Routine != nil || o.IsSRF() || o.Agg != nil || overloadWith(kind, o.Name, o.Key()) != o {
		w.unfit("function " + o.Name)
		return
	}
	w.byte(kind)
	w.text(o.Name)
	w.text(o.Key())
}

func (r *reader) overload() *call.Overload {
	kind, name, key := r.Byte(), r.text(), r.text()
	o := overloadWith(kind, name, key)
	if o == nil {
		r.fail("function %s", key)
		return nil
	}
	if o.Volatility != call.Immutable || o.IsSRF() {
		r.fail("function %s can't run here", key)
	}
	return o
}

// comparison reads an operator between two values.
func (r *reader) comparison() *call.Overload {
	o := r.overload()
	if o != nil && len(o.Args) != 2 {
		r.fail("%s compares nothing", o.Key())
	}
	return o
}

// aggregateWith returns the aggregate of a name with a key; nil if there is none.
func aggregateWith(name, key string) *call.Aggregate {
	for _, a := range slices.Concat(builtin.Aggregates(name), builtin.ExtensionAggregates(name)) {
		if a.Key() == key {
			return a
		}
	}
	return nil
}

func (w *writer) aggregate(a *call.Aggregate) {
	if aggregateWith(a.Name, a.Key()) != a {
		w.unfit("aggregate " + a.Name)
		return
	}
	w.text(a.Name)
	w.text(a.Key())
}

func (r *reader) aggregate() *call.Aggregate {
	name, key := r.text(), r.text()
	a := aggregateWith(name, key)
	if a == nil {
		r.fail("aggregate %s", key)
	}
	return a
}

// typ writes a predeclared type with its modifier and collation.
func (w *writer) typ(t *types.T) {
	base, ok := types.ByOid(t.Oid)
	c := t.Declared()
	if !ok || t.Def != nil || t.OfDomain() || t.IsDomain() || base.Family != t.Family || t.Family == types.RecordFamily || c != nil && !c.BuiltIn() {
		w.unfit("type " + t.Name)
		return
	}
	w.uint(uint64(t.Oid))
	w.int(int64(t.Typmod))
	if c == nil {
		w.uint(0)
		return
	}
	w.uint(uint64(c.Oid))
}

func (r *reader) typ() *types.T {
	oid, mod, collation := r.Uvarint(), r.Varint(), r.Uvarint()
	t, ok := types.ByOid(uint32(oid))
	if !ok {
		r.fail("type %d", oid)
		return types.Bool
	}
	t = t.WithTypmod(int32(mod))
	if collation != 0 {
		c := types.CollationByOid(uint32(collation))
		if c == nil {
			r.fail("collation %d", collation)
			return t
		}
		t = t.WithCollation(c)
	}
	return t
}
