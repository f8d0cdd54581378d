package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// recoveryFunctions declares the functions about a server that follows another's log, as no
// node here does.
func recoveryFunctions() []*call.Overload {
	refused := func(*call.Context, []types.Datum) (types.Datum, error) {
		return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "recovery is not in progress").
			WithHint("Recovery control functions can only be executed during recovery.")
	}
	return []*call.Overload{
		call.Fn("pg_last_wal_receive_lsn() pg_lsn", call.NullFunc).Volatile(), call.Fn("pg_last_wal_replay_lsn() pg_lsn", call.NullFunc).Volatile(),
		call.Fn("pg_last_xact_replay_timestamp() timestamptz", call.NullFunc).Volatile(),
		call.Fn("pg_is_wal_replay_paused() bool", refused).Volatile(), call.Fn("pg_get_wal_replay_pause_state() text", refused).Volatile(),
		call.Fn("pg_wal_replay_pause() void", refused).Volatile(), call.Fn("pg_wal_replay_resume() void", refused).Volatile(),
		call.Fn("pg_promote(bool,int4) bool", refused).Volatile().WithDefaults(types.True, types.NewInt(60)),
	}
}
