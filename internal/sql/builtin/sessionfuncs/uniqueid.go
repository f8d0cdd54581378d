package sessionfuncs

import (
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// UniqueIDNodeBits are the low bits of a unique id, which tell the node that made it. Above
// them is a time, and the highest bit is 0.
const UniqueIDNodeBits = 15

// uniqueIDFunctions are those of CockroachDB that make keys without a sequence.
func uniqueIDFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("unique_rowid() int8", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(s.UniqueID()), nil
		})).Volatile(),
		call.Fn("unordered_unique_rowid() int8", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(unordered(s.UniqueID())), nil
		})).Volatile(),
	}
}

// unordered turns the bits of the time around, so that ids made one after the other lie far
// apart.
func unordered(id int64) int64 {
	time := uint64(id) >> UniqueIDNodeBits
	node := uint64(id) & (1<<UniqueIDNodeBits - 1)
	return int64(bits.Reverse64(time)>>1 | node)
}
