package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CurrentOf returns the function behind WHERE CURRENT OF: of the primary key of the row
// that a cursor is on (text), in a table (oid), the column at a position (int4), which is
// of type t. It has no name that SQL can call it by.
func CurrentOf(t *types.T) *call.Overload {
	return &call.Overload{
		Name: "current_of", Args: []*types.T{types.Text, types.Oid, types.Int4}, Ret: t, Strict: true, Volatility: call.Stable,
		Eval: call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
			key, err := s.CursorKey(a[0].Str(), uint32(a[1].Int()))
			if err != nil {
				return types.Null, err
			}
			return key[a[2].Int()], nil
		}),
	}
}
