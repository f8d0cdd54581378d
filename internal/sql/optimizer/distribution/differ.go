package distribution

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// replanFactor is the change of a number of rows, or of distinct values, at which plans
	// are made anew, replanShare that of a share of the rows.
	replanFactor = 2
	replanShare  = 0.1
)

// Differ reports whether plans made by some statistics of a table, nil if there were none,
// may be bad ones by others.
func Differ(a, b *catalog.Statistics) bool {
	if a == nil || b == nil || a.Index != b.Index || len(a.Columns) != len(b.Columns) || apart(a.Rows, b.Rows) ||
		len(a.Extended) != len(b.Extended) {
		return true
	}
	for oid := range b.Extended {
		if a.Extended[oid] == nil {
			return true
		}
	}
	for id, c := range b.Columns {
		if old := a.Columns[id]; old == nil || columnsDiffer(old, c) {
			return true
		}
	}
	return false
}

func columnsDiffer(a, b *catalog.ColumnStatistics) bool {
	if apart(a.Distinct, b.Distinct) || math.Abs(a.Nulls-b.Nulls) > replanShare || math.Abs(commonest(a)-commonest(b)) > replanShare {
		return true
	}
	if len(a.Bounds) < 2 || len(b.Bounds) < 2 {
		return len(a.Bounds) != len(b.Bounds)
	}
	mid, last := b.Bounds[len(b.Bounds)/2], a.Bounds[len(a.Bounds)-1]
	if mid.Family() != last.Family() {
		return true
	}
	return math.Abs(ShareBelow(a, types.Unknown, mid, false)-0.5) > replanShare || ShareBelow(b, types.Unknown, last, true) < 1-replanShare
}

func apart(a, b float64) bool { return max(a, b, 1) > replanFactor*max(min(a, b), 1) }

func commonest(c *catalog.ColumnStatistics) float64 {
	if len(c.Common) == 0 {
		return 0
	}
	return c.Common[0].Share
}
