package fuzzyfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxLevenshtein is how many characters a text has at most whose distance is computed.
const maxLevenshtein = 255

// costs are those of the steps from one text to another.
type costs struct{ insert, remove, replace int64 }

func costsOf(a []types.Datum) costs { return costs{a[2].Int(), a[3].Int(), a[4].Int()} }

// distance is the least that the steps from a text to another cost.
func distance(c *call.Context, a []types.Datum, k costs) (types.Datum, error) {
	s, t := []rune(a[0].Str()), []rune(a[1].Str())
	if err := c.Step(len(s) + len(t)); err != nil {
		return types.Null, err
	}
	if len(s) > maxLevenshtein || len(t) > maxLevenshtein {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "levenshtein argument exceeds maximum length of %d characters", maxLevenshtein)
	}
	above, row := make([]int64, len(s)+1), make([]int64, len(s)+1)
	for i := range above {
		above[i] = int64(i) * k.remove
	}
	for j, r := range t {
		if err := c.Step(len(s)); err != nil {
			return types.Null, err
		}
		row[0] = int64(j+1) * k.insert
		for i := range s {
			stay := above[i]
			if s[i] != r {
				stay += k.replace
			}
			row[i+1] = min(above[i+1]+k.insert, row[i]+k.remove, stay)
		}
		above, row = row, above
	}
	n := above[len(s)]
	if n != int64(int32(n)) {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
	}
	return types.NewInt(n), nil
}

// bounded is distance, or most+1 where it is more than most, unless that is negative.
func bounded(c *call.Context, a []types.Datum, k costs, most int64) (types.Datum, error) {
	d, err := distance(c, a, k)
	if err == nil && most >= 0 && d.Int() > most {
		return types.NewInt(most + 1), nil
	}
	return d, err
}
