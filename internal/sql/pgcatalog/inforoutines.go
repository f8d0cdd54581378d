package pgcatalog

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eachRoutine calls f for every function and aggregate.
func eachRoutine(f func(o *builtin.Overload, aggregate bool)) {
	for _, o := range builtin.All() {
		if !o.Operator {
			f(o, false)
		}
	}
	for _, o := range castFunctions().added {
		f(o, false)
	}
	for _, a := range builtin.AllAggregates() {
		f(&a.Overload, true)
	}
}

// routinePlace names a function and its signature.
func (s *snapshot) routinePlace(w *writer, o *builtin.Overload) {
	s.named(w, "specific", namePgCatalog, o.Name+"_"+strconv.FormatUint(uint64(o.Oid), 10))
}

// routineType is the data_type of what a function takes or returns.
func routineType(t *types.T) string {
	if t.Elem != nil && !t.Is(types.Int2Vector) && !t.Is(types.OidVector) {
		return "ARRAY"
	}
	return dataType(t)
}

// isRoutines is information_schema.routines: the built-in functions, for there are no others.
func isRoutines(s *snapshot, w *writer) error {
	eachRoutine(func(o *builtin.Overload, aggregate bool) {
		ret := types.Record
		if o.Ret != nil && len(o.OutNames) == 0 {
			ret = o.Ret
		}
		s.routinePlace(w, o)
		s.named(w, "routine", namePgCatalog, o.Name)
		if !aggregate {
			w.str("routine_type", "FUNCTION")
		}
		w.str("data_type", routineType(ret))
		s.named(w, "type_udt", namePgCatalog, ret.Name)
		w.str("dtd_identifier", "0")
		w.str("routine_body", "EXTERNAL")
		w.str("routine_definition", o.Name)
		w.str("external_language", "INTERNAL")
		w.str("parameter_style", "GENERAL")
		w.str("is_deterministic", yesNo(o.Volatility == builtin.Immutable))
		w.str("sql_data_access", "MODIFIES")
		w.str("is_null_call", yesNo(o.Strict))
		w.str("schema_level_routine", "YES")
		w.num("max_dynamic_result_sets", 0)
		w.str("security_type", "INVOKER")
		w.str("as_locator", "NO")
		w.str("is_udt_dependent", "NO")
		w.done()
	})
	return nil
}

// isParameters is information_schema.parameters.
func isParameters(s *snapshot, w *writer) error {
	eachRoutine(func(o *builtin.Overload, _ bool) {
		names := o.ArgNames()
		for i, t := range append(append([]*types.T(nil), o.Args...), o.OutTypes...) {
			s.routinePlace(w, o)
			w.num("ordinal_position", int64(i+1))
			w.str("parameter_mode", "IN")
			if out := i - len(o.Args); out >= 0 {
				w.str("parameter_mode", "OUT")
				w.text("parameter_name", o.OutNames[out])
			} else if i < len(names) {
				w.text("parameter_name", names[i])
			}
			w.str("is_result", "NO")
			w.str("as_locator", "NO")
			w.str("data_type", routineType(t))
			s.named(w, "udt", namePgCatalog, t.Name)
			w.str("dtd_identifier", strconv.Itoa(i+1))
			if d := i - (len(o.Args) - o.Defaults); d >= 0 && i < len(o.Args) {
				w.str("parameter_default", defaultText(t, o.DefaultArgs[d]))
			}
			w.done()
		}
	})
	return nil
}

// isRoutinePrivileges is information_schema.routine_privileges, and role_routine_grants:
// everybody may call functions.
func isRoutinePrivileges(s *snapshot, w *writer) error {
	eachRoutine(func(o *builtin.Overload, _ bool) {
		grants(w, "EXECUTE", true, func() {
			s.routinePlace(w, o)
			s.named(w, "routine", namePgCatalog, o.Name)
		})
	})
	return nil
}
