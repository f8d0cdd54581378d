package replica

import (
	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
)

// lockStrength converts the strength that a request asks for: the two types have the same numbers.
func lockStrength(s kvpb.Strength) concurrency.Strength { return concurrency.Strength(s) }

// It does not compile if they differ: an index of an array of one element is 0.
var _ = func(one [1]struct{}) {
	_ = one[concurrency.None-concurrency.Strength(kvpb.LockNone)]
	_ = one[concurrency.KeyShare-concurrency.Strength(kvpb.LockKeyShare)]
	_ = one[concurrency.Share-concurrency.Strength(kvpb.LockShare)]
	_ = one[concurrency.NoKeyUpdate-concurrency.Strength(kvpb.LockNoKeyUpdate)]
	_ = one[concurrency.Update-concurrency.Strength(kvpb.LockUpdate)]
}
