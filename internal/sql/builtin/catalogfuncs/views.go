package catalogfuncs

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// viewFunctionsText lists the functions that return rows of a relation of pg_catalog, which
// PostgreSQL's views are made of: "function relation column:type…".
const viewFunctionsText = `
pg_available_extensions pg_available_extensions name:name default_version:text comment:text
pg_available_extension_versions pg_available_extension_versions name:name version:text superuser:bool trusted:bool relocatable:bool schema:name requires:_name comment:text
pg_cursor pg_cursors name:text statement:text is_holdable:bool is_binary:bool is_scrollable:bool creation_time:timestamptz
pg_prepared_statement pg_prepared_statements name:text statement:text prepare_time:timestamptz parameter_types:_regtype from_sql:bool generic_plans:int8 custom_plans:int8
pg_lock_status pg_locks locktype:text database:oid relation:oid page:int4 tuple:int2 virtualxid:text transactionid:xid classid:oid objid:oid objsubid:int2 virtualtransaction:text pid:int4 mode:text granted:bool fastpath:bool waitstart:timestamptz
pg_show_all_settings pg_settings name:text setting:text unit:text category:text short_desc:text extra_desc:text context:text vartype:text source:text min_val:text max_val:text enumvals:_text boot_val:text reset_val:text sourcefile:text sourceline:int4 pending_restart:bool
pg_show_all_file_settings pg_file_settings sourcefile:text sourceline:int4 seqno:int4 name:text setting:text applied:bool error:text
pg_hba_file_rules pg_hba_file_rules line_number:int4 type:text database:_text user_name:_text address:text netmask:text auth_method:text options:_text error:text
pg_ident_file_mappings pg_ident_file_mappings line_number:int4 map_name:text sys_name:text pg_username:text error:text
pg_get_replication_slots pg_replication_slots slot_name:name plugin:name slot_type:text datoid:oid temporary:bool active:bool active_pid:int4 xmin:xid catalog_xmin:xid restart_lsn:pg_lsn confirmed_flush_lsn:pg_lsn wal_status:text safe_wal_size:int8 two_phase:bool
pg_stat_get_slru pg_stat_slru name:text blks_zeroed:int8 blks_hit:int8 blks_read:int8 blks_written:int8 blks_exists:int8 flushes:int8 truncates:int8 stats_reset:timestamptz
pg_show_replication_origin_status pg_replication_origin_status local_id:oid external_id:text remote_lsn:pg_lsn local_lsn:pg_lsn
`

// volatileViews are the functions whose answer may change within a statement.
var volatileViews = []string{"pg_lock_status", "pg_show_all_file_settings", "pg_hba_file_rules", "pg_ident_file_mappings", "pg_show_replication_origin_status"}

func viewFunctions() []*call.Overload {
	all := []*call.Overload{
		// There are no transactions in two phases.
		call.SRF("pg_prepared_xact() setof record", call.NoRows).Volatile().Columns([]string{"transaction", "gid", "prepared", "ownerid", "dbid"},
			[]*types.T{types.Xid, types.Text, types.TimestampTZ, types.Oid, types.Oid}),
	}
	for line := range strings.Lines(strings.TrimSpace(viewFunctionsText)) {
		f := strings.Fields(line)
		var names []string
		var ts []*types.T
		for _, c := range f[2:] {
			name, typ, _ := strings.Cut(c, ":")
			t, ok := types.ByName(typ)
			must.True(ok, "builtin: unknown type in %q", line)
			names, ts = append(names, name), append(ts, t)
		}
		o := call.SRF(f[0]+"() setof record", relationRows(f[1], names)).Stable().Columns(names, ts)
		if slices.Contains(volatileViews, f[0]) {
			o.Volatile()
		}
		all = append(all, o)
	}
	return all
}

// relationRows makes a function that returns columns of a relation of pg_catalog.
func relationRows(relation string, names []string) call.SRFFunc {
	return func(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
		s, err := c.NeedSession()
		if err != nil {
			return nil, err
		}
		columns, rows, err := s.RelationRows(relation)
		if err != nil {
			return nil, err
		}
		out := make([][]types.Datum, len(rows))
		for i, r := range rows {
			out[i] = make([]types.Datum, len(names))
			for j, name := range names {
				if at := slices.Index(columns, name); at >= 0 {
					out[i][j] = r[at]
				}
			}
		}
		return call.NewRows(out), nil
	}
}

// statisticsFunctions declares the functions about PostgreSQL's counters, of which there are
// none here, or none that could be set back: there is nothing to do.
func statisticsFunctions() []*call.Overload {
	nothing := func(*call.Context, []types.Datum) (types.Datum, error) { return types.VoidDatum, nil }
	all := []*call.Overload{
		call.Fn("pg_stat_have_stats(text,oid,oid) bool", call.FalseFunc).Volatile(),
		call.Fn("pg_stat_reset_shared(text) void", resetOf("archiver", "bgwriter", "recovery_prefetch", "wal")).Volatile(),
		call.Fn("pg_get_statisticsobjdef_expressions(oid) _text", call.NullFunc).Stable(),
	}
	for _, sig := range []string{"pg_stat_reset()", "pg_stat_clear_snapshot()", "pg_stat_force_next_flush()", "pg_stat_reset_slru(text)",
		"pg_stat_reset_subscription_stats(oid)"} {
		all = append(all, call.Fn(sig+" void", nothing).Volatile().NonStrict())
	}
	for _, sig := range []string{"pg_stat_reset_single_table_counters(oid)", "pg_stat_reset_single_function_counters(oid)"} {
		all = append(all, call.Fn(sig+" void", nothing).Volatile())
	}
	return append(all, call.Fn("pg_stat_reset_replication_slot(text) void", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.VoidDatum, nil
		}
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "replication slot \"%s\" does not exist", a[0].Str())
	}).Volatile().NonStrict())
}

// resetOf makes a function that accepts some names.
func resetOf(names ...string) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		if !slices.Contains(names, a[0].Str()) {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "unrecognized reset target: \"%s\"", a[0].Str()).
				WithHint("Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\".")
		}
		return types.VoidDatum, nil
	}
}
