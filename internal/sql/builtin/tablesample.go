package builtin

import (
	"hash/fnv"
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// SampleName is the name of the condition of TABLESAMPLE, for plans.
const SampleName = "tablesample"

// TableSample returns the condition of TABLESAMPLE: whether a row is in the
// sample of so many percent (float8). It depends on nothing but the seed
// (float8) and the row's key (record), so that the same seed gives the same
// sample. It has no name that SQL can call it by.
func TableSample() *call.Overload {
	return &call.Overload{
		Name: SampleName, Args: []*types.T{types.Float8, types.Float8, types.Record}, Ret: types.Bool,
		Volatility: call.Stable, Eval: sampled,
	}
}

// SampleSeed returns the function that chooses the seed of a TABLESAMPLE without REPEATABLE. It is stable, as a
// statement asks it once for each sample.
func SampleSeed() *call.Overload {
	return &call.Overload{
		Name: "tablesample_seed", Ret: types.Float8, Volatility: call.Stable,
		Eval: func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewFloat(c.Random().Float64()), nil
		},
	}
}

func sampled(_ *call.Context, args []types.Datum) (types.Datum, error) {
	if args[0].IsNull() {
		return types.Null, pgerr.New(pgerr.InvalidTablesampleArgument, "TABLESAMPLE parameter cannot be null")
	}
	if args[1].IsNull() {
		return types.Null, pgerr.New(pgerr.InvalidTablesampleRepeat, "TABLESAMPLE REPEATABLE parameter cannot be null")
	}
	percent := args[0].Float()
	if !(percent >= 0 && percent <= 100) {
		return types.Null, pgerr.New(pgerr.InvalidTablesampleArgument, "sample percentage must be between 0 and 100")
	}
	h := fnv.New64a()
	seed := math.Float64bits(args[1].Float())
	buf := make([]byte, 0, 64)
	for i := 0; i < 64; i += 8 {
		buf = append(buf, byte(seed>>i))
	}
	_, _ = h.Write(types.AppendHashKeyTyped(buf, types.Record, args[2], nil))
	// A fraction of 2^53, after mixing: FNV leaves the high bits of short keys
	// alike.
	return types.NewBool(float64(mix64(h.Sum64())>>11)/(1<<53) < percent/100), nil
}

// mix64 spreads every bit of x over the result.
func mix64(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
