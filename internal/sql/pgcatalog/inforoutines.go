package pgcatalog

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// routinePlace names a function and its signature.
func (s *snapshot) routinePlace(w *writer, r *routine) {
	s.named(w, "specific", r.schemaName(), r.specificName())
}

// specificName names a function of several with the same name.
func (r *routine) specificName() string { return r.name + "_" + strconv.FormatUint(uint64(r.oid), 10) }

// routineType is the data_type of what a function takes or returns.
func routineType(t *types.T) string {
	if t.Elem != nil && !t.Is(types.Int2Vector) && !t.Is(types.OidVector) {
		return "ARRAY"
	}
	return dataType(t)
}

// isRoutines is information_schema.routines: the built-in functions and those of users.
func isRoutines(s *snapshot, w *writer) error {
	for _, r := range s.allRoutines() {
		s.routinePlace(w, r)
		s.named(w, "routine", r.schemaName(), r.name)
		if r.kind == 'f' {
			w.str("routine_type", "FUNCTION")
		} else if r.kind == 'p' {
			w.str("routine_type", "PROCEDURE")
		}
		if r.kind != 'p' {
			w.str("data_type", routineType(r.ret))
			s.named(w, "type_udt", namePgCatalog, r.ret.Name)
		}
		w.str("dtd_identifier", "0")
		body, language := "EXTERNAL", "INTERNAL"
		if r.user != nil {
			language = strings.ToUpper(r.user.Routine.Language)
		}
		if language == "SQL" {
			body = "SQL"
		}
		w.str("routine_body", body)
		w.str("routine_definition", r.source)
		w.str("external_language", language)
		w.str("parameter_style", "GENERAL")
		w.str("is_deterministic", yesNo(r.volatility == 'i'))
		w.str("sql_data_access", "MODIFIES")
		w.str("is_null_call", yesNo(r.strict))
		w.str("schema_level_routine", "YES")
		w.num("max_dynamic_result_sets", 0)
		security := "INVOKER"
		if r.user != nil && r.user.Routine.Definer {
			security = "DEFINER"
		}
		w.str("security_type", security)
		w.str("as_locator", "NO")
		w.str("is_udt_dependent", "NO")
		w.done()
	}
	return nil
}

// isParameters is information_schema.parameters.
func isParameters(s *snapshot, w *writer) error {
	for _, r := range s.allRoutines() {
		for i, p := range r.parameters() {
			s.routinePlace(w, r)
			w.num("ordinal_position", int64(i+1))
			w.str("parameter_mode", map[byte]string{'o': "OUT", 'b': "INOUT"}[p.mode])
			if p.mode == 'i' || p.mode == 'v' {
				w.str("parameter_mode", "IN")
			}
			w.text("parameter_name", p.name)
			w.str("is_result", "NO")
			w.str("as_locator", "NO")
			w.str("data_type", routineType(p.t))
			s.named(w, "udt", namePgCatalog, p.t.Name)
			w.str("dtd_identifier", strconv.Itoa(i+1))
			w.text("parameter_default", p.defaultText)
			w.done()
		}
	}
	return nil
}
