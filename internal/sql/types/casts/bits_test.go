package casts

import (
	"math"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
)

// TestIntBits: bit(n) of an integer has its low bits, and its sign before them.
func TestIntBits(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 5, -6, math.MaxInt64, math.MinInt64, 0x0123456789abcdef} {
		for n := 1; n < 300; n++ {
			to := *types.Bit
			to.Typmod = int32(n)
			got, err := castIntBits(nil, types.NewInt(v), &to)
			if err != nil || got.Int() != int64(n) {
				t.Fatalf("%d as bit(%d): %d bits, %v", v, n, got.Int(), err)
			}
			for i := range n {
				if want := v>>min(n-1-i, 63)&1 != 0; got.Bit(i) != want {
					t.Fatalf("%d as bit(%d): bit %d is %v", v, n, i, got.Bit(i))
				}
			}
		}
	}
}
