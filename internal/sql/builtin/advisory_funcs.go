package builtin

import "github.com/lichendb/lichen/internal/sql/types"

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
		x := ""
		if txn {
			x = "xact_"
		}
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
