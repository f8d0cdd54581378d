package crosstabfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// normals yields numbers of a normal distribution.
type normals struct {
	c            *call.Context
	left         int64
	mean, spread float64
	row          [1]types.Datum
}

func normalRand(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	n := a[0].Int()
	if n < 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "number of rows cannot be negative")
	}
	return &normals{c: c, left: n, mean: a[1].Float(), spread: a[2].Float()}, nil
}

// Next implements call.RowIterator.
func (n *normals) Next() ([]types.Datum, bool, error) {
	if n.left == 0 {
		return nil, false, nil
	}
	n.left--
	n.row[0] = types.NewFloat(n.c.Random().NormFloat64()*n.spread + n.mean)
	return n.row[:], true, n.c.Step(1)
}
