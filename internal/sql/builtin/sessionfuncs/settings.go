package sessionfuncs

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func currentSetting(s call.Session, a []types.Datum) (types.Datum, error) {
	v, ok := s.Setting(a[0].Str())
	if ok {
		return types.NewString(v), nil
	}
	if len(a) == 2 && a[1].Bool() {
		return types.Null, nil
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", a[0].Str())
}

func setConfig(s call.Session, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
	}
	v, err := s.SetSetting(a[0].Str(), a[1].Str(), a[2].IsTrue())
	if err != nil {
		return types.Null, err
	}
	return types.NewString(v), nil
}

// settingFunctions declares what reads and changes settings.
func settingFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("current_setting(text) text", call.SessionFunc(currentSetting)).Stable(),
		call.Fn("current_setting(text,bool) text", call.SessionFunc(currentSetting)).Stable(),
		call.Fn("set_config(text,text,bool) text", call.SessionFunc(setConfig)).NonStrict().Volatile(),
		call.Fn("pg_settings_get_flags(text) _text", call.SessionFunc(settingFlags)).Stable(),
	}
}

// explainSettings are PostgreSQL's parameters that EXPLAIN (SETTINGS) shows.
var explainSettings = strings.Fields(`constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost
	cursor_tuple_fraction effective_cache_size from_collapse_limit geqo hash_mem_multiplier jit join_collapse_limit
	max_parallel_workers max_parallel_workers_per_gather plan_cache_mode random_page_cost search_path seq_page_cost temp_buffers work_mem`)

// unlistedSettings are those that are not in PostgreSQL's sample configuration.
var unlistedSettings = strings.Fields(`application_name block_size data_checksums in_hot_standby integer_datetimes lc_collate lc_ctype
	max_function_args max_identifier_length max_index_keys server_encoding server_version server_version_num wal_block_size
	transaction_deferrable transaction_isolation transaction_read_only`)

// settingFlags is pg_settings_get_flags.
func settingFlags(s call.Session, a []types.Datum) (types.Datum, error) {
	if _, ok := s.Setting(a[0].Str()); !ok {
		return types.Null, nil
	}
	name := strings.ToLower(a[0].Str())
	var flags []string
	if slices.Contains(explainSettings, name) || strings.HasPrefix(name, "enable_") {
		flags = append(flags, "EXPLAIN")
	}
	if strings.HasPrefix(name, "transaction_") {
		flags = append(flags, "NO_RESET_ALL")
	}
	if slices.Contains(unlistedSettings, name) {
		flags = append(flags, "NOT_IN_SAMPLE")
	}
	if name == "data_checksums" {
		flags = append(flags, "RUNTIME_COMPUTED")
	}
	return call.TextArray(flags), nil
}
