package pgcatalog

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// builtInProcs lists functions and aggregates, and what types are made of.
func builtInProcs(_ *snapshot, w *writer) error {
	for _, r := range routines().all {
		procRow(w, r, nil)
	}
	return nil
}

// pgProc lists the routines of extensions, and those that users have made.
func pgProc(s *snapshot, w *writer) error {
	for _, x := range s.extensions() {
		for _, r := range x.routines() {
			if w.wants("oid", r.oid) {
				procRow(w, r, s.builtInACL(r))
			}
		}
	}
	for _, t := range s.listing().Routines {
		if w.wants("oid", t.Oid) {
			procRow(w, s.c.userRoutine(t), t.ACL)
		}
	}
	return nil
}

// listedType returns the oid of a type, or that of "any" for what signatures call types and
// pg_type does not list.
func listedType(t *types.T) uint32 {
	if _, ok := types.ByOid(t.Oid); ok || t.Oid >= catalog.FirstUserOid {
		return t.Oid
	}
	return types.Any.Oid
}

func procRow(w *writer, r *routine, granted privilege.ACL) {
	w.oid("oid", r.oid)
	w.str("proname", r.name)
	w.oid("pronamespace", r.schema)
	owner := uint32(oidRoot)
	if r.user != nil {
		owner = uint32(r.user.Owner)
	}
	w.oid("proowner", owner)
	w.oid("prolang", cmp.Or(r.language, oidInternalLang))
	w.float("procost", r.cost)
	w.float("prorows", r.rows)
	w.oid("provariadic", r.variadic)
	w.oid("prosupport", 0)
	w.str("prokind", string(r.kind))
	w.flag("prosecdef", r.user != nil && r.user.Routine.Definer)
	w.flag("proleakproof", r.leakproof)
	w.flag("proisstrict", r.strict)
	w.flag("proretset", r.set)
	w.str("provolatile", string(r.volatility))
	w.str("proparallel", string(r.parallel))
	w.num("pronargs", int64(len(r.args)))
	w.num("pronargdefaults", int64(r.defaults))
	w.oid("prorettype", listedType(r.ret))
	w.set("proargtypes", vector(typeOids(r.args)))
	if r.modes != "" {
		w.set("proallargtypes", ints(typeOids(r.all)))
		w.set("proargmodes", texts(strings.Split(r.modes, "")))
	}
	if len(r.names) > 0 {
		w.set("proargnames", texts(r.names))
	}
	w.text("proargdefaults", r.defaultList())
	if r.user != nil && r.user.Routine.Standard {
		w.str("prosrc", "")
		w.str("prosqlbody", r.source)
	} else {
		w.str("prosrc", r.source)
	}
	if s := r.settings(); s != nil {
		w.set("proconfig", texts(s))
	}
	if granted == nil && r.restricted {
		granted = access.FunctionACL(nil, r.oid, true)
	}
	w.acl("proacl", granted)
	w.done()
}

func typeOids(list []*types.T) []int64 {
	out := make([]int64, len(list))
	for i, t := range list {
		out[i] = int64(listedType(t))
	}
	return out
}

// defaultText prints the default of an argument.
func defaultText(t *types.T, d types.Datum) string {
	text := typeio.FormatDatum(t, d, &types.FormatContext{})
	switch {
	case d.IsNull():
		return "NULL::" + t.SQLName
	case t.Family == types.FloatFamily && !strings.ContainsAny(text, ".eIN"):
		return text + ".0"
	case t.Family == types.IntFamily || t.Family == types.FloatFamily || t.Family == types.DecimalFamily:
		return text
	case t.Family == types.BoolFamily:
		return strconv.FormatBool(d.Bool())
	}
	return ast.QuoteLiteral(text) + "::" + t.SQLName
}

// pgOperator lists the operators.
func pgOperator(_ *snapshot, w *writer) error {
	for _, o := range builtin.All() {
		if o.Operator && w.wants("oid", o.Oid) {
			operatorRow(w, o, oidPgCatalog)
		}
	}
	return nil
}

func operatorRow(w *writer, o *call.Overload, schema uint32) {
	var left uint32
	kind, right := "l", listedType(o.Args[len(o.Args)-1])
	if len(o.Args) == 2 {
		kind, left = "b", listedType(o.Args[0])
	}
	ret := types.Void
	if o.Ret != nil {
		ret = o.Ret
	}
	w.oid("oid", o.Oid)
	w.str("oprname", o.Name)
	w.oid("oprnamespace", schema)
	w.oid("oprowner", oidRoot)
	w.str("oprkind", kind)
	exact := o.Name == "=" && types.HasEquality(o.Args[0])
	w.flag("oprcanmerge", exact)
	w.flag("oprcanhash", exact)
	w.oid("oprleft", left)
	w.oid("oprright", right)
	w.oid("oprresult", listedType(ret))
	for _, c := range [...]string{"oprcom", "oprnegate", "oprrest", "oprjoin"} {
		w.oid(c, 0)
	}
	code := uint32(0)
	if f := builtin.OperatorCode(o); f != nil {
		code = f.Oid
	}
	w.oid("oprcode", code)
	w.done()
}

// pgLanguage lists the languages that functions are written in.
func pgLanguage(_ *snapshot, w *writer) error {
	for _, l := range access.Languages {
		w.oid("oid", l.Oid)
		w.str("lanname", l.Name)
		w.oid("lanowner", oidRoot)
		w.flag("lanispl", l.Procedural)
		w.flag("lanpltrusted", l.Trusted)
		for _, c := range [...]string{"lanplcallfoid", "laninline", "lanvalidator"} {
			w.oid(c, 0)
		}
		w.done()
	}
	return nil
}
