package pgcatalog

import (
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// castFunctions are the oids of the functions behind casts by source and target. They are called by the name of
// the target type, which the planner takes for the cast, so that no overloads stand for them.
var castFunctions = sync.OnceValue(func() map[[2]uint32]uint32 {
	of := map[[2]uint32]uint32{}
	casts.Each(func(from, to *types.T, c casts.Cast) {
		if c.Method == 'f' {
			of[[2]uint32{from.Oid, to.Oid}] = castFunction(from, to)
		}
	})
	return of
})

// castFunction finds PostgreSQL's function behind a cast: that of the two types, or of those that
// they share their representation with; 0 if there is none.
func castFunction(from, to *types.T) uint32 {
	for _, result := range []*types.T{to, types.Text, types.Oid, types.Int4} {
		shared := result == to || result == types.Text && to.Category() == 'S' || result != types.Text && (to.IsReg() || to.Is(types.Oid))
		if !shared {
			continue
		}
		for _, arg := range []*types.T{from, types.Oid, types.Text, types.Inet} {
			shared := arg == from || arg == types.Oid && from.IsReg() || arg == types.Text && from.Category() == 'S' ||
				arg == types.Inet && from.Is(types.CIDR)
			if !shared {
				continue
			}
			for _, args := range [][]*types.T{{arg}, {arg, types.Int4}} { // some have a length
				if oid := builtin.PostgresOid(&call.Overload{Name: result.Name, Args: args}); oid != 0 {
					return oid
				}
			}
		}
	}
	return 0
}
