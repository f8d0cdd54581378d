package pgcatalog

import (
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/types"
)

// castFunctionList has the functions behind casts by source and target. They are called by the name of
// the target type, which the planner takes for the cast, so that no overloads stand for them.
type castFunctionList struct {
	of    map[[2]uint32]uint32
	added []*builtin.Overload // those that the registry has not
}

var castFunctions = sync.OnceValue(func() *castFunctionList {
	l := &castFunctionList{of: map[[2]uint32]uint32{}}
	types.EachCast(func(from, to *types.T, c types.Cast) {
		if c.Method != 'f' {
			return
		}
		o := castFunction(from, to)
		if o == nil {
			return
		}
		l.of[[2]uint32{from.Oid, to.Oid}] = o.Oid
		known := func(x *builtin.Overload) bool { return x.Oid == o.Oid && !x.Operator }
		if !slices.ContainsFunc(builtin.All(), known) && !slices.ContainsFunc(l.added, known) {
			l.added = append(l.added, o)
		}
	})
	return l
})

// castFunction finds PostgreSQL's function behind a cast: that of the two types, or of those that
// they share their representation with.
func castFunction(from, to *types.T) *builtin.Overload {
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
				o := &builtin.Overload{Name: result.Name, Args: args, Ret: result, Strict: true}
				if o.Oid = builtin.PostgresOid(o); o.Oid != 0 {
					return o
				}
			}
		}
	}
	return nil
}
