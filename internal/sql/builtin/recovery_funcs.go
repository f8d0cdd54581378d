package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// recoveryFunctions declares the functions about a server that follows another's log, as no
// node here does.
func recoveryFunctions() []*Overload {
	refused := func(*Context, []types.Datum) (types.Datum, error) {
		return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "recovery is not in progress").
			WithHint("Recovery control functions can only be executed during recovery.")
	}
	return []*Overload{
		fn("pg_last_wal_receive_lsn() pg_lsn", nullFunc).volatile(), fn("pg_last_wal_replay_lsn() pg_lsn", nullFunc).volatile(),
		fn("pg_last_xact_replay_timestamp() timestamptz", nullFunc).volatile(),
		fn("pg_is_wal_replay_paused() bool", refused).volatile(), fn("pg_get_wal_replay_pause_state() text", refused).volatile(),
		fn("pg_wal_replay_pause() void", refused).volatile(), fn("pg_wal_replay_resume() void", refused).volatile(),
		fn("pg_promote(bool,int4) bool", refused).volatile().defaults(types.True, types.NewInt(60)),
	}
}
