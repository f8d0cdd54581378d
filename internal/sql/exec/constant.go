package exec

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Constant computes an expression of constants while a statement is planned: without a session,
// and not for long.
func Constant(e plan.Expr) (types.Datum, error) {
	row := &plan.Values{RowExprs: [][]plan.Expr{{e}}}
	row.Cols = []plan.Column{{ID: 1, Type: e.Type()}}
	p, err := CompileNode(row, nil)
	if err != nil {
		return types.Null, err
	}
	rows, err := p.Rows(&operator.Env{Builtin: call.Folding()})
	if err != nil {
		return types.Null, err
	}
	return rows[0][0], nil
}
