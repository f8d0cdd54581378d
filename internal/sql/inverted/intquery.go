package inverted

import (
	"github.com/lichendb/lichen/internal/sql/boolquery"
	"github.com/lichendb/lichen/internal/sql/intquery"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// integersMatch returns what the elements of an array must satisfy for a query_int.
func integersMatch(t *types.T, d types.Datum, o Options) *Formula {
	q, err := intquery.Parse(d.Str(), o.Format.CountSteps)
	if err != nil {
		return all // the statement is cancelled
	}
	return integerFormula(t, q.Condition())
}

func integerFormula(t *types.T, q *boolquery.Query[int32]) *Formula {
	switch q.Op {
	case '!':
		return all
	case '&':
		return And(integerFormula(t, q.Left), integerFormula(t, q.Right))
	case '|':
		return Or(integerFormula(t, q.Left), integerFormula(t, q.Right))
	}
	return token(tokenOf(markElement, string(rowcodec.AppendOrdered(nil, t.Elem, types.NewInt(int64(q.Operand))))))
}
