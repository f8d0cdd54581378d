package sessionfuncs

import (
	"net/netip"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func sessionFunctions() []*call.Overload {
	name := func(sig string, f func(s call.Session) string) *call.Overload {
		return call.Fn(sig, call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(f(s)), nil
		})).Stable()
	}
	role := func(sig string, f func(s call.Session) (string, error)) *call.Overload {
		return call.Fn(sig, call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			name, err := f(s)
			return types.NewString(name), err
		})).Stable()
	}
	currentSchema := call.Fn("current_schema() name", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
		if path := s.SearchPath(false); len(path) > 0 {
			return types.NewString(path[0]), nil
		}
		return types.Null, nil
	})).Stable()
	return []*call.Overload{
		role("current_user() name", call.Session.CurrentUser), role("current_role() name", call.Session.CurrentUser),
		role("user() name", call.Session.CurrentUser), role("session_user() name", call.Session.SessionUser),
		name("current_database() name", call.Session.CurrentDatabase), name("current_catalog() name", call.Session.CurrentDatabase),
		currentSchema,
		role("getpgusername() name", call.Session.CurrentUser),
		call.Fn("current_schemas(bool) _name", call.SessionFunc(currentSchemas)).Stable(),
		name("version() text", call.Session.Version), name("current_query() text", call.Session.CurrentQuery).Volatile().NonStrict(),
		call.Fn("pg_backend_pid() int4", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(s.BackendPID())), nil
		})).Stable(),
		call.Fn("pg_postmaster_start_time() timestamptz", startTime).Stable(), call.Fn("pg_conf_load_time() timestamptz", startTime).Stable(),
		call.Fn("pg_export_snapshot() text", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(s.ExportSnapshot()), nil
		})).Volatile(),
		call.Fn("pg_is_in_recovery() bool", call.FalseFunc).Volatile(),
		call.Fn("pg_cancel_backend(int4) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.BoolOf(s.CancelBackend(int32(a[0].Int()), false))
		})).Volatile(),
		call.Fn("pg_terminate_backend(int4,int8) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return call.BoolOf(s.CancelBackend(int32(a[0].Int()), true))
		})).Volatile().WithDefaults(types.NewInt(0)),
		call.Fn("pg_blocking_pids(int4) _int4", blockingPIDs).Volatile(),
		call.Fn("pg_my_temp_schema() oid", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(s.TempSchema())), nil
		})).Stable(),
		call.Fn("pg_is_other_temp_schema(oid) bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			return types.NewBool(s.OtherTempSchema(uint32(a[0].Int()))), nil
		})).Stable(),
		call.Fn("inet_client_addr() inet", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			at, err := netip.ParseAddrPort(s.ClientAddr())
			if err != nil {
				return types.Null, nil // not over TCP
			}
			return typeio.ParseText(types.Inet, at.Addr().Unmap().WithZone("").String(), nil)
		})).Stable(),
		call.Fn("inet_client_port() int4", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			at, err := netip.ParseAddrPort(s.ClientAddr())
			if err != nil {
				return types.Null, nil
			}
			return types.NewInt(int64(at.Port())), nil
		})).NonStrict().Stable(),
		// A session does not know which of the node's addresses it came in by.
		call.Fn("inet_server_addr() inet", call.NullFunc).NonStrict().Stable(), call.Fn("inet_server_port() int4", call.NullFunc).NonStrict().Stable(),
	}
}

// blockingPIDs asks the session, if it knows of other sessions, for those that one waits
// for.
func blockingPIDs(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, ok := c.Session.(interface {
		BlockingPIDs(pid int32) ([]int32, error)
	})
	if !ok {
		return types.NewArray(nil), nil
	}
	pids, err := s.BlockingPIDs(int32(a[0].Int()))
	elems := make([]types.Datum, len(pids))
	for i, p := range pids {
		elems[i] = types.NewInt(int64(p))
	}
	return types.NewArray(elems), err
}

func currentSchemas(s call.Session, a []types.Datum) (types.Datum, error) {
	var names []types.Datum
	for _, n := range s.SearchPath(a[0].Bool()) {
		names = append(names, types.NewString(n))
	}
	return types.NewArray(names), nil
}

func startTime(c *call.Context, a []types.Datum) (types.Datum, error) {
	return call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
		return types.NewTimestampTZ(s.StartTime()), nil
	})(c, a)
}

// absentFunctions declares functions about what no node has: a JIT compiler and replicas of PostgreSQL's
// kind; and pg_trigger_depth.
func absentFunctions() []*call.Overload {
	constant := func(sig string, d types.Datum) *call.Overload {
		return call.Fn(sig, func(*call.Context, []types.Datum) (types.Datum, error) { return d, nil }).Stable()
	}
	return []*call.Overload{
		call.Fn("pg_trigger_depth() int4", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(c.TriggerDepth)), nil
		}).Stable(),
		constant("pg_jit_available() bool", types.False).Volatile(),
		constant("pg_safe_snapshot_blocking_pids(int4) _int4", types.NewArray(nil)).Volatile(),
	}
}
