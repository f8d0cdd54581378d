package builtin

import (
	"net/netip"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// sessionFunc makes a function that asks the session.
func sessionFunc(f func(s Session, a []types.Datum) (types.Datum, error)) EvalFunc {
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return f(s, a)
	}
}

// nullFunc makes a function about something that does not exist here.
func nullFunc(*Context, []types.Datum) (types.Datum, error) { return types.Null, nil }

func falseFunc(*Context, []types.Datum) (types.Datum, error) { return types.False, nil }

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
		fn("current_schemas(bool) _name", sessionFunc(currentSchemas)).stable(),
		name("version() text", Session.Version), name("current_query() text", Session.CurrentQuery).volatile().nonStrict(),
		fn("pg_backend_pid() int4", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(s.BackendPID())), nil
		})).stable(),
		fn("pg_postmaster_start_time() timestamptz", startTime).stable(), fn("pg_conf_load_time() timestamptz", startTime).stable(),
		fn("current_setting(text) text", sessionFunc(currentSetting)).stable(),
		fn("current_setting(text,bool) text", sessionFunc(currentSetting)).stable(),
		fn("set_config(text,text,bool) text", sessionFunc(setConfig)).nonStrict().volatile(),
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

func boolOf(b bool, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(b), nil
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

func currentSetting(s Session, a []types.Datum) (types.Datum, error) {
	v, ok := s.Setting(a[0].Str())
	if ok {
		return types.NewString(v), nil
	}
	if len(a) == 2 && a[1].Bool() {
		return types.Null, nil
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", a[0].Str())
}

func setConfig(s Session, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
	}
	v, err := s.SetSetting(a[0].Str(), a[1].Str(), a[2].IsTrue())
	if err != nil {
		return types.Null, err
	}
	return types.NewString(v), nil
}

// advisoryFunctions declares the advisory locks in all their variants.
func advisoryFunctions() []*Overload {
	var all []*Overload
	declare := func(name, ret string, req AdvisoryLockRequest, unlock bool) {
		for _, args := range []string{"int8", "int4,int4"} {
			all = append(all, fn(name+"("+args+") "+ret, sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
				r := req
				r.Key = a[0].Int()
				if len(a) == 2 {
					r.Pair, r.Key = true, a[0].Int()<<32|int64(uint32(a[1].Int()))
				}
				if unlock {
					return boolOf(s.AdvisoryUnlock(r, false))
				}
				got, err := s.AdvisoryLock(r)
				if err != nil || r.Try {
					return boolOf(got, err)
				}
				return types.VoidDatum, nil
			})).volatile())
		}
	}
	for _, txn := range []bool{false, true} {
		x := pick(txn, "xact_", "")
		declare("pg_advisory_"+x+"lock", "void", AdvisoryLockRequest{Transaction: txn}, false)
		declare("pg_advisory_"+x+"lock_shared", "void", AdvisoryLockRequest{Transaction: txn, Shared: true}, false)
		declare("pg_try_advisory_"+x+"lock", "bool", AdvisoryLockRequest{Transaction: txn, Try: true}, false)
		declare("pg_try_advisory_"+x+"lock_shared", "bool", AdvisoryLockRequest{Transaction: txn, Try: true, Shared: true}, false)
	}
	declare("pg_advisory_unlock", "bool", AdvisoryLockRequest{}, true)
	declare("pg_advisory_unlock_shared", "bool", AdvisoryLockRequest{Shared: true}, true)
	return append(all, fn("pg_advisory_unlock_all() void", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
		if _, err := s.AdvisoryUnlock(AdvisoryLockRequest{}, true); err != nil {
			return types.Null, err
		}
		return types.VoidDatum, nil
	})).volatile())
}
