package catalogfuncs

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// countersText lists the pg_stat_get_ functions of one figure: "function type relations key column". Several
// relations of which the first that knows the key answers have commas between them; without a key the
// relation has one row. What a view does not know, because nobody counts it, its function does not either.
const countersText = `
numscans int8 pg_stat_all_tables,pg_stat_all_indexes relid,indexrelid seq_scan,idx_scan
tuples_returned int8 pg_stat_all_tables,pg_stat_all_indexes relid,indexrelid seq_tup_read,idx_tup_read
tuples_fetched int8 pg_stat_all_tables,pg_stat_all_indexes relid,indexrelid idx_tup_fetch,idx_tup_fetch
tuples_inserted int8 pg_stat_all_tables relid n_tup_ins
tuples_updated int8 pg_stat_all_tables relid n_tup_upd
tuples_deleted int8 pg_stat_all_tables relid n_tup_del
tuples_hot_updated int8 pg_stat_all_tables relid n_tup_hot_upd
live_tuples int8 pg_stat_all_tables relid n_live_tup
dead_tuples int8 pg_stat_all_tables relid n_dead_tup
mod_since_analyze int8 pg_stat_all_tables relid n_mod_since_analyze
ins_since_vacuum int8 pg_stat_all_tables relid n_ins_since_vacuum
last_vacuum_time timestamptz pg_stat_all_tables relid last_vacuum
last_autovacuum_time timestamptz pg_stat_all_tables relid last_autovacuum
last_analyze_time timestamptz pg_stat_all_tables relid last_analyze
last_autoanalyze_time timestamptz pg_stat_all_tables relid last_autoanalyze
vacuum_count int8 pg_stat_all_tables relid vacuum_count
autovacuum_count int8 pg_stat_all_tables relid autovacuum_count
analyze_count int8 pg_stat_all_tables relid analyze_count
autoanalyze_count int8 pg_stat_all_tables relid autoanalyze_count
blocks_hit int8 pg_statio_all_tables relid heap_blks_hit
blocks_fetched int8 pg_statio_all_tables relid heap_blks_read
xact_numscans int8 pg_stat_xact_all_tables relid seq_scan
xact_tuples_returned int8 pg_stat_xact_all_tables relid seq_tup_read
xact_tuples_fetched int8 pg_stat_xact_all_tables relid idx_tup_fetch
xact_tuples_inserted int8 pg_stat_xact_all_tables relid n_tup_ins
xact_tuples_updated int8 pg_stat_xact_all_tables relid n_tup_upd
xact_tuples_deleted int8 pg_stat_xact_all_tables relid n_tup_del
xact_tuples_hot_updated int8 pg_stat_xact_all_tables relid n_tup_hot_upd
function_calls int8 pg_stat_user_functions funcid calls
function_total_time float8 pg_stat_user_functions funcid total_time
function_self_time float8 pg_stat_user_functions funcid self_time
xact_function_calls int8 pg_stat_xact_user_functions funcid calls
xact_function_total_time float8 pg_stat_xact_user_functions funcid total_time
xact_function_self_time float8 pg_stat_xact_user_functions funcid self_time
db_numbackends int4 pg_stat_database datid numbackends
db_xact_commit int8 pg_stat_database datid xact_commit
db_xact_rollback int8 pg_stat_database datid xact_rollback
db_blocks_fetched int8 pg_stat_database datid blks_read
db_blocks_hit int8 pg_stat_database datid blks_hit
db_tuples_returned int8 pg_stat_database datid tup_returned
db_tuples_fetched int8 pg_stat_database datid tup_fetched
db_tuples_inserted int8 pg_stat_database datid tup_inserted
db_tuples_updated int8 pg_stat_database datid tup_updated
db_tuples_deleted int8 pg_stat_database datid tup_deleted
db_conflict_all int8 pg_stat_database datid conflicts
db_temp_files int8 pg_stat_database datid temp_files
db_temp_bytes int8 pg_stat_database datid temp_bytes
db_deadlocks int8 pg_stat_database datid deadlocks
db_checksum_failures int8 pg_stat_database datid checksum_failures
db_checksum_last_failure timestamptz pg_stat_database datid checksum_last_failure
db_blk_read_time float8 pg_stat_database datid blk_read_time
db_blk_write_time float8 pg_stat_database datid blk_write_time
db_session_time float8 pg_stat_database datid session_time
db_active_time float8 pg_stat_database datid active_time
db_idle_in_transaction_time float8 pg_stat_database datid idle_in_transaction_time
db_sessions int8 pg_stat_database datid sessions
db_sessions_abandoned int8 pg_stat_database datid sessions_abandoned
db_sessions_fatal int8 pg_stat_database datid sessions_fatal
db_sessions_killed int8 pg_stat_database datid sessions_killed
db_stat_reset_time timestamptz pg_stat_database datid stats_reset
db_conflict_tablespace int8 pg_stat_database_conflicts datid confl_tablespace
db_conflict_lock int8 pg_stat_database_conflicts datid confl_lock
db_conflict_snapshot int8 pg_stat_database_conflicts datid confl_snapshot
db_conflict_bufferpin int8 pg_stat_database_conflicts datid confl_bufferpin
db_conflict_startup_deadlock int8 pg_stat_database_conflicts datid confl_deadlock
bgwriter_timed_checkpoints int8 pg_stat_bgwriter - checkpoints_timed
bgwriter_requested_checkpoints int8 pg_stat_bgwriter - checkpoints_req
bgwriter_buf_written_checkpoints int8 pg_stat_bgwriter - buffers_checkpoint
bgwriter_buf_written_clean int8 pg_stat_bgwriter - buffers_clean
bgwriter_maxwritten_clean int8 pg_stat_bgwriter - maxwritten_clean
bgwriter_stat_reset_time timestamptz pg_stat_bgwriter - stats_reset
checkpoint_write_time float8 pg_stat_bgwriter - checkpoint_write_time
checkpoint_sync_time float8 pg_stat_bgwriter - checkpoint_sync_time
buf_written_backend int8 pg_stat_bgwriter - buffers_backend
buf_fsync_backend int8 pg_stat_bgwriter - buffers_backend_fsync
buf_alloc int8 pg_stat_bgwriter - buffers_alloc
backend_pid int4 pg_stat_activity # pid
backend_dbid oid pg_stat_activity # datid
backend_userid oid pg_stat_activity # usesysid
backend_activity text pg_stat_activity # query
backend_wait_event_type text pg_stat_activity # wait_event_type
backend_wait_event text pg_stat_activity # wait_event
backend_activity_start timestamptz pg_stat_activity # query_start
backend_xact_start timestamptz pg_stat_activity # xact_start
backend_start timestamptz pg_stat_activity # backend_start
backend_client_addr inet pg_stat_activity # client_addr
backend_client_port int4 pg_stat_activity # client_port
`

// counterFunctions declares the functions of countersText, and pg_stat_get_backend_idset, which numbers the
// backends for those with the key #.
func counterFunctions() []*call.Overload {
	all := []*call.Overload{
		call.SRF("pg_stat_get_backend_idset() setof int4", backendNumbers).Stable(),
		call.Fn("pg_stat_get_snapshot_timestamp() timestamptz", call.NullFunc).Stable(), // each query reads anew
	}
	for line := range strings.Lines(strings.TrimSpace(countersText)) {
		f := strings.Fields(line)
		must.True(len(f) == 5, "builtin: malformed counter %q", line)
		arg := map[string]string{"-": "", "#": "int4"}
		in, special := arg[f[3]]
		if !special {
			in = "oid"
		}
		o := call.Fn("pg_stat_get_"+f[0]+"("+in+") "+f[1], counter(strings.Split(f[2], ","), strings.Split(f[3], ","), strings.Split(f[4], ",")))
		if strings.HasPrefix(f[0], "xact_") {
			all = append(all, o.Volatile())
			continue
		}
		all = append(all, o.Stable())
	}
	return all
}

// counter makes a function that returns a column of the row of a relation that has the argument as its key.
func counter(relations, keys, columns []string) call.EvalFunc {
	return call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
		for i, relation := range relations {
			names, rows, err := s.RelationRows(relation)
			if err != nil {
				return types.Null, err
			}
			if row := rowOf(names, rows, keys[i], a); row != nil {
				return row[slices.Index(names, columns[i])], nil
			}
		}
		return types.Null, nil
	})
}

// rowOf finds the row with a key, nil if there is none.
func rowOf(names []string, rows [][]types.Datum, key string, a []types.Datum) []types.Datum {
	switch {
	case key == "#":
		if n := a[0].Int(); n > 0 && n <= int64(len(rows)) {
			return rows[n-1]
		}
		return nil
	case key == "-" && len(rows) > 0:
		return rows[0]
	}
	at := slices.Index(names, key)
	for _, r := range rows {
		if at >= 0 && types.Compare(r[at], a[0]) == 0 {
			return r
		}
	}
	return nil
}

func backendNumbers(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	_, rows, err := s.RelationRows("pg_stat_activity")
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i] = []types.Datum{types.NewInt(int64(i + 1))}
	}
	return call.NewRows(rows), nil
}
