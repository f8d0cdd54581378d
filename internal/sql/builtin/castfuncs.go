package builtin

import (
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// CastFunction is the function of the system behind a cast. It is called by the name of the target type, which the planner takes
// for the cast, so that no overload stands for it.
type CastFunction struct {
	Oid  uint32
	Name string
}

// FunctionOfCast returns the function behind a cast between two types of the system, the zero value if there is none.
func FunctionOfCast(from, to uint32) CastFunction { return FunctionsOfCasts()[[2]uint32{from, to}] }

// FunctionsOfCasts are the functions behind casts by source and target.
var FunctionsOfCasts = sync.OnceValue(func() map[[2]uint32]CastFunction {
	of := map[[2]uint32]CastFunction{}
	casts.Each(func(from, to *types.T, c casts.Cast) {
		if c.Method == 'f' {
			of[[2]uint32{from.Oid, to.Oid}] = castFunction(from, to)
		}
	})
	return of
})

// castFunction finds PostgreSQL's function behind a cast: that of the two types, or of those that
// they share their representation with.
func castFunction(from, to *types.T) CastFunction {
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
				if oid := PostgresOid(&call.Overload{Name: result.Name, Args: args}); oid != 0 {
					return CastFunction{oid, result.Name}
				}
			}
		}
	}
	return CastFunction{}
}
