package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// advisoryFunctions declares the advisory locks in all their variants.
func advisoryFunctions() []*call.Overload {
	var all []*call.Overload
	declare := func(name, ret string, req call.AdvisoryLockRequest, unlock bool) {
		for _, args := range []string{"int8", "int4,int4"} {
			all = append(all, call.Fn(name+"("+args+") "+ret, call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
				r := req
				r.Key = a[0].Int()
				if len(a) == 2 {
					r.Pair, r.Key = true, a[0].Int()<<32|int64(uint32(a[1].Int()))
				}
				if unlock {
					return call.BoolOf(s.AdvisoryUnlock(r, false))
				}
				got, err := s.AdvisoryLock(r)
				if err != nil || r.Try {
					return call.BoolOf(got, err)
				}
				return types.VoidDatum, nil
			})).Volatile())
		}
	}
	for _, txn := range []bool{false, true} {
		x := ""
		if txn {
			x = "xact_"
		}
		declare("pg_advisory_"+x+"lock", "void", call.AdvisoryLockRequest{Transaction: txn}, false)
		declare("pg_advisory_"+x+"lock_shared", "void", call.AdvisoryLockRequest{Transaction: txn, Shared: true}, false)
		declare("pg_try_advisory_"+x+"lock", "bool", call.AdvisoryLockRequest{Transaction: txn, Try: true}, false)
		declare("pg_try_advisory_"+x+"lock_shared", "bool", call.AdvisoryLockRequest{Transaction: txn, Try: true, Shared: true}, false)
	}
	declare("pg_advisory_unlock", "bool", call.AdvisoryLockRequest{}, true)
	declare("pg_advisory_unlock_shared", "bool", call.AdvisoryLockRequest{Shared: true}, true)
	return append(all, call.Fn("pg_advisory_unlock_all() void", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
		if _, err := s.AdvisoryUnlock(call.AdvisoryLockRequest{}, true); err != nil {
			return types.Null, err
		}
		return types.VoidDatum, nil
	})).Volatile())
}
