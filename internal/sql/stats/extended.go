package stats

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxCombined bounds how often a row is looked at for a statistics object, times the rows: one of eight columns has about 250
// combinations of them and a thousand dependencies.
const maxCombined = 4 << 20

// extended estimates what the table's statistics objects are about, those of which all columns are in the sample.
func (s *sample) extended(ctx context.Context, total float64, r *rest) (map[uint32]*catalog.ExtendedData, error) {
	var out map[uint32]*catalog.ExtendedData
	for i := range s.table.Extended {
		x := &s.table.Extended[i]
		began := time.Now()
		c := s.combination(x, total)
		if c == nil {
			continue
		}
		if out == nil {
			out = map[uint32]*catalog.ExtendedData{}
		}
		data := &catalog.ExtendedData{}
		if x.Has(catalog.ExtendedDistinct) {
			data.Distinct = c.distinct()
		}
		if x.Has(catalog.ExtendedDependencies) {
			data.Dependencies = c.dependencies()
		}
		if x.Has(catalog.ExtendedCommon) {
			data.Common = c.common()
		}
		out[x.Oid] = data
		if err := r.after(ctx, began); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// combination is what the columns of a statistics object hold in some rows of the sample.
type combination struct {
	x     *catalog.Extended
	at    []int // the columns' positions in the rows
	types []*types.T
	rows  []sampledRow
	total float64 // rows of the table
}

// combination prepares a statistics object; nil if the sample does not serve it.
func (s *sample) combination(x *catalog.Extended, total float64) *combination {
	if x.Target == 0 || len(s.rows) == 0 {
		return nil
	}
	c := &combination{x: x, rows: s.rows, total: total}
	for _, id := range x.Columns {
		ord := s.table.ColumnByID(id)
		at := slices.Index(s.ords, ord)
		if at < 0 {
			return nil
		}
		c.at, c.types = append(c.at, at), append(c.types, s.table.Columns[ord].Type)
	}
	if most := max(maxCombined/(len(c.at)<<len(c.at)), leastSample); most < len(s.rows) {
		c.rows = make([]sampledRow, most)
		for i := range c.rows {
			c.rows[i] = s.rows[i*len(s.rows)/most]
		}
	}
	return c
}

// hash returns a hash of a row's values in the columns of a set, NULLs among them.
func (c *combination) hash(r *sampledRow, set uint) uint64 {
	h := uint64(set)
	for i, at := range c.at {
		if set&(1<<i) != 0 {
			h = (h ^ r.hashes[at]) * 0x9E3779B97F4A7C15
			h ^= h >> 29
		}
	}
	return h
}

// columns are those of a set.
func (c *combination) columns(set uint) (ids []catalog.ColumnID) {
	for i, id := range c.x.Columns {
		if set&(1<<i) != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// sets calls f for the sets of at least two columns, smaller ones first.
func (c *combination) sets(f func(set uint)) {
	for size := 2; size <= len(c.at); size++ {
		for set := uint(0); set < 1<<len(c.at); set++ {
			if bits.OnesCount(set) == size {
				f(set)
			}
		}
	}
}

// distinct estimates the numbers of different combinations, as those of a column's values are estimated.
func (c *combination) distinct() (out []catalog.Combinations) {
	counts := map[uint64]int{}
	c.sets(func(set uint) {
		clear(counts)
		for i := range c.rows {
			counts[c.hash(&c.rows[i], set)]++
		}
		n, d, once := float64(len(c.rows)), float64(len(counts)), 0.0
		for _, k := range counts {
			if k == 1 {
				once++
			}
		}
		if n < c.total {
			d = n * d / (n - once + once*n/c.total)
		}
		out = append(out, catalog.Combinations{Columns: c.columns(set), Distinct: min(max(d, 1), c.total)})
	})
	return out
}

// determined is how many rows have the same values in some columns, and whether they all have one value in another.
type determined struct {
	rows  int
	value uint64
	mixed bool
}

// dependencies finds, for each column of each set, the share of the rows whose values in the others of the set have just one value
// beside them. Columns that determine nothing are left out.
func (c *combination) dependencies() (out []catalog.Dependency) {
	groups := map[uint64]determined{}
	c.sets(func(set uint) {
		for to, at := range slices.Backward(c.at) {
			if set&(1<<to) == 0 {
				continue
			}
			clear(groups)
			from := set &^ (1 << to)
			for i := range c.rows {
				r := &c.rows[i]
				k := c.hash(r, from)
				g, known := groups[k]
				g.mixed = g.mixed || known && g.value != r.hashes[at]
				g.value = r.hashes[at]
				g.rows++
				groups[k] = g
			}
			n := 0
			for _, g := range groups {
				if !g.mixed {
					n += g.rows
				}
			}
			if n > 0 {
				out = append(out, catalog.Dependency{From: c.columns(from), To: c.x.Columns[to], Degree: float64(n) / float64(len(c.rows))})
			}
		}
	})
	return out
}

// common finds the combinations that are clearly more frequent than the average, or all if they are few. Values of types of which none
// are kept have no common combinations.
func (c *combination) common() (out []catalog.CommonCombination) {
	type group struct{ first, n int }
	groups := map[uint64]group{}
	singles := make([]map[uint64]int, len(c.at))
	for i := range singles {
		singles[i] = map[uint64]int{}
	}
	whole := uint(1)<<len(c.at) - 1
	for i := range c.rows {
		r := &c.rows[i]
		for k, at := range c.at {
			if r.hashes[at] != 0 && r.values[at].IsNull() {
				return nil
			}
			singles[k][r.hashes[at]]++
		}
		g, known := groups[c.hash(r, whole)]
		if !known {
			g.first = i
		}
		g.n++
		groups[c.hash(r, whole)] = g
	}
	most := maxCommon
	if c.x.Target > 0 {
		most = int(c.x.Target)
	}
	n := float64(len(c.rows))
	average := n / float64(len(groups))
	least := average + commonBeyond*math.Sqrt(average) + 1
	if len(groups) <= most && (n >= c.total || n >= 2*float64(len(groups))) {
		least = 0
	}
	kept := make([]group, 0, len(groups))
	for _, g := range groups {
		if float64(g.n) >= least {
			kept = append(kept, g)
		}
	}
	slices.SortFunc(kept, func(a, b group) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return a.first - b.first
	})
	for _, g := range kept[:min(len(kept), most)] {
		r := &c.rows[g.first]
		x := catalog.CommonCombination{Share: float64(g.n) / n, Base: 1}
		for k, at := range c.at {
			x.Values = append(x.Values, r.values[at])
			x.Base *= float64(singles[k][r.hashes[at]]) / n
		}
		out = append(out, x)
	}
	return out
}
