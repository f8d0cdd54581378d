package pgcatalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pgProc lists functions and aggregates, and the functions of types, which
// cannot be called.
func pgProc(_ *snapshot, w *writer) error {
	for _, o := range builtin.All() {
		if !o.Operator && w.wants("oid", o.Oid) {
			procRow(w, o, "f")
		}
	}
	for _, a := range builtin.AllAggregates() {
		if w.wants("oid", a.Oid) {
			procRow(w, &a.Overload, "a")
		}
	}
	for _, o := range castFunctions().added {
		if w.wants("oid", o.Oid) {
			procRow(w, o, "f")
		}
	}
	support := supportFunctions()
	ids := make([]uint32, 0, len(support))
	for oid := range support {
		if functionByOid(oid) == nil { // float8mi can be called
			ids = append(ids, oid)
		}
	}
	slices.Sort(ids)
	for _, oid := range ids {
		if w.wants("oid", oid) {
			procRow(w, &builtin.Overload{Oid: oid, Name: support[oid], Ret: types.Void, Strict: true}, "f")
		}
	}
	return nil
}

// listedType returns the oid of a type, or that of "any" for the pseudo-types of
// signatures that pg_type does not list.
func listedType(t *types.T) uint32 {
	if _, ok := types.ByOid(t.Oid); ok {
		return t.Oid
	}
	return types.Any.Oid
}

func procRow(w *writer, o *builtin.Overload, kind string) {
	args := make([]int64, len(o.Args))
	for i, t := range o.Args {
		args[i] = int64(listedType(t))
	}
	ret := types.Record
	if o.Ret != nil {
		ret = o.Ret
	}
	w.oid("oid", o.Oid)
	w.str("proname", o.Name)
	w.oid("pronamespace", oidPgCatalog)
	w.oid("proowner", oidRoot)
	w.oid("prolang", oidInternalLang)
	w.float("procost", 1)
	w.float("prorows", 0)
	if o.IsSRF() && !o.OneRow {
		w.float("prorows", 1000)
	}
	w.oid("provariadic", 0)
	if o.Variadic && len(o.Args) > 0 {
		w.oid("provariadic", listedType(o.Args[len(o.Args)-1]))
	}
	w.oid("prosupport", 0)
	w.str("prokind", kind)
	w.flag("prosecdef", false)
	w.flag("proleakproof", false)
	w.flag("proisstrict", o.Strict)
	w.flag("proretset", o.IsSRF() && !o.OneRow)
	w.str("provolatile", [...]string{"i", "s", "v"}[o.Volatility])
	w.str("proparallel", "s")
	w.num("pronargs", int64(len(args)))
	w.num("pronargdefaults", int64(o.Defaults))
	w.oid("prorettype", listedType(ret))
	w.set("proargtypes", vector(args))
	if names := o.ArgNames(); len(o.OutNames) > 0 {
		outColumns(w, o)
	} else if len(names) > 0 {
		var list []types.Datum
		for _, n := range names {
			list = append(list, types.NewString(n))
		}
		w.set("proargnames", types.NewArray(list))
	}
	w.str("prosrc", o.Name)
	w.done()
}

// outColumns sets the names and types of the columns of a set-returning
// function.
func outColumns(w *writer, o *builtin.Overload) {
	var typ []uint32
	var modes, names []types.Datum
	declared := o.ArgNames()
	for i, t := range o.Args {
		name := ""
		if i < len(declared) {
			name = declared[i]
		}
		typ = append(typ, t.Oid)
		modes, names = append(modes, types.NewString("i")), append(names, types.NewString(name))
	}
	for i, t := range o.OutTypes {
		typ = append(typ, t.Oid)
		modes, names = append(modes, types.NewString("o")), append(names, types.NewString(o.OutNames[i]))
	}
	w.set("proallargtypes", oids(typ))
	w.set("proargmodes", types.NewArray(modes))
	w.set("proargnames", types.NewArray(names))
}

// functionByOid finds a function or aggregate.
func functionByOid(oid uint32) *builtin.Overload {
	for _, o := range builtin.All() {
		if o.Oid == oid && !o.Operator {
			return o
		}
	}
	for _, a := range builtin.AllAggregates() {
		if a.Oid == oid {
			return &a.Overload
		}
	}
	for _, o := range castFunctions().added {
		if o.Oid == oid {
			return o
		}
	}
	return nil
}

// functionArguments prints the arguments of a function, with or without their defaults.
func functionArguments(o *builtin.Overload, defaults bool) string {
	parts := make([]string, len(o.Args))
	names := o.ArgNames()
	for i, t := range o.Args {
		parts[i] = t.SQLName
		if i < len(names) && names[i] != "" {
			parts[i] = ast.QuoteIdent(names[i]) + " " + parts[i]
		}
		if o.Variadic && i == len(o.Args)-1 {
			parts[i] = "VARIADIC " + parts[i]
		}
		if d := i - (len(o.Args) - o.Defaults); defaults && d >= 0 {
			parts[i] += " DEFAULT " + defaultText(t, o.DefaultArgs[d])
		}
	}
	for i, name := range o.OutNames {
		parts = append(parts, "OUT "+ast.QuoteIdent(name)+" "+o.OutTypes[i].SQLName)
	}
	return strings.Join(parts, ", ")
}

// defaultText prints the default of an argument.
func defaultText(t *types.T, d types.Datum) string {
	text := types.FormatDatum(t, d, &types.FormatContext{})
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

// functionResult prints what a function returns.
func functionResult(o *builtin.Overload) string {
	name := "record"
	if o.Ret != nil && len(o.OutNames) == 0 {
		name = o.Ret.SQLName
	}
	if o.IsSRF() && !o.OneRow {
		return "SETOF " + name
	}
	return name
}

// pgOperator lists the operators.
func pgOperator(_ *snapshot, w *writer) error {
	for _, o := range builtin.All() {
		if !o.Operator || !w.wants("oid", o.Oid) {
			continue
		}
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
		w.oid("oprnamespace", oidPgCatalog)
		w.oid("oprowner", oidRoot)
		w.str("oprkind", kind)
		w.flag("oprcanmerge", o.Name == "=")
		w.flag("oprcanhash", o.Name == "=")
		w.oid("oprleft", left)
		w.oid("oprright", right)
		w.oid("oprresult", listedType(ret))
		for _, c := range [...]string{"oprcom", "oprnegate", "oprrest", "oprjoin"} {
			w.oid(c, 0)
		}
		code := uint32(0)
		if f := o.OperatorCode(); f != nil {
			code = f.Oid
		}
		w.oid("oprcode", code)
		w.done()
	}
	return nil
}

// pgLanguage lists the language that all functions are written in.
func pgLanguage(_ *snapshot, w *writer) error {
	w.oid("oid", oidInternalLang)
	w.str("lanname", "internal")
	w.oid("lanowner", oidRoot)
	w.flag("lanispl", false)
	w.flag("lanpltrusted", false)
	for _, c := range [...]string{"lanplcallfoid", "laninline", "lanvalidator"} {
		w.oid(c, 0)
	}
	w.done()
	return nil
}
