package builtin

import (
	"net/netip"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func sessionFunctions() []*Overload {
	name := func(sig string, f func(s Session) string) *Overload {
		return fn(sig, sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(f(s)), nil
		})).stable()
	}
	currentSchema := fn("current_schema() name", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
		if path := s.SearchPath(false); len(path) > 0 {
			return types.NewString(path[0]), nil
		}
		return types.Null, nil
	})).stable()
	return []*Overload{
		name("current_user() name", Session.CurrentUser), name("current_role() name", Session.CurrentUser),
		name("user() name", Session.CurrentUser), name("session_user() name", Session.SessionUser),
		name("current_database() name", Session.CurrentDatabase), name("current_catalog() name", Session.CurrentDatabase),
		currentSchema,
		fn("getpgusername() name", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(s.CurrentUser()), nil
		})).stable(),
		fn("current_schemas(bool) _name", sessionFunc(currentSchemas)).stable(),
		name("version() text", Session.Version), name("current_query() text", Session.CurrentQuery).volatile().nonStrict(),
		fn("pg_backend_pid() int4", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(s.BackendPID())), nil
		})).stable(),
		fn("pg_postmaster_start_time() timestamptz", startTime).stable(), fn("pg_conf_load_time() timestamptz", startTime).stable(),
		fn("pg_export_snapshot() text", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(s.ExportSnapshot()), nil
		})).volatile(),
		fn("pg_is_in_recovery() bool", falseFunc).volatile(),
		fn("pg_cancel_backend(int4) bool", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return boolOf(s.CancelBackend(int32(a[0].Int()), false))
		})).volatile(),
		fn("pg_terminate_backend(int4,int8) bool", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return boolOf(s.CancelBackend(int32(a[0].Int()), true))
		})).volatile().defaults(types.NewInt(0)),
		fn("pg_blocking_pids(int4) _int4", blockingPIDs).volatile(),
		fn("pg_my_temp_schema() oid", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(s.TempSchema())), nil
		})).stable(),
		fn("pg_is_other_temp_schema(oid) bool", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			return types.NewBool(s.OtherTempSchema(uint32(a[0].Int()))), nil
		})).stable(),
		fn("inet_client_addr() inet", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			at, err := netip.ParseAddrPort(s.ClientAddr())
			if err != nil {
				return types.Null, nil // not over TCP
			}
			return typeio.ParseText(types.Inet, at.Addr().Unmap().WithZone("").String(), nil)
		})).stable(),
		fn("inet_client_port() int4", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			at, err := netip.ParseAddrPort(s.ClientAddr())
			if err != nil {
				return types.Null, nil
			}
			return types.NewInt(int64(at.Port())), nil
		})).nonStrict().stable(),
		// A session does not know which of the node's addresses it came in by.
		fn("inet_server_addr() inet", nullFunc).nonStrict().stable(), fn("inet_server_port() int4", nullFunc).nonStrict().stable(),
	}
}

// blockingPIDs asks the session, if it knows of other sessions, for those that one waits
// for.
func blockingPIDs(c *Context, a []types.Datum) (types.Datum, error) {
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

func currentSchemas(s Session, a []types.Datum) (types.Datum, error) {
	var names []types.Datum
	for _, n := range s.SearchPath(a[0].Bool()) {
		names = append(names, types.NewString(n))
	}
	return types.NewArray(names), nil
}

func startTime(c *Context, a []types.Datum) (types.Datum, error) {
	return sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
		return types.NewTimestampTZ(s.StartTime()), nil
	})(c, a)
}

// absentFunctions declares functions about what no node has: triggers, a JIT compiler,
// notifications and replicas of PostgreSQL's kind.
func absentFunctions() []*Overload {
	constant := func(sig string, d types.Datum) *Overload {
		return fn(sig, func(*Context, []types.Datum) (types.Datum, error) { return d, nil }).stable()
	}
	return []*Overload{
		constant("pg_trigger_depth() int4", types.NewInt(0)),
		constant("pg_jit_available() bool", types.False).volatile(),
		constant("pg_notification_queue_usage() float8", types.NewFloat(0)).volatile(),
		constant("pg_safe_snapshot_blocking_pids(int4) _int4", types.NewArray(nil)).volatile(),
		srf("pg_listening_channels() setof text", noRows).stable(),
	}
}
