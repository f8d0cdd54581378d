package exec

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

var errNotYet = pgerr.Unsupported("not supported yet")

type cteState struct{}

func (c *compiler) sort(n *plan.Sort) (operator, error)             { return nil, errNotYet }
func (c *compiler) groupBy(n *plan.GroupBy) (operator, error)       { return nil, errNotYet }
func (c *compiler) distinct(n *plan.Distinct) (operator, error)     { return nil, errNotYet }
func (c *compiler) join(n *plan.Join) (operator, error)             { return nil, errNotYet }
func (c *compiler) setOp(n *plan.SetOp) (operator, error)           { return nil, errNotYet }
func (c *compiler) projectSet(n *plan.ProjectSet) (operator, error) { return nil, errNotYet }
func (c *compiler) window(n *plan.Window) (operator, error)         { return nil, errNotYet }
func (c *compiler) with(n *plan.With) (operator, error)             { return nil, errNotYet }
func (c *compiler) cteScan(n *plan.CTEScan) (operator, error)       { return nil, errNotYet }
func (c *compiler) lockRows(n *plan.LockRows) (operator, error)     { return nil, errNotYet }

type rowOrdering struct{}

func (c *compiler) ordering([]plan.SortKey, []plan.Column) (rowOrdering, error) {
	return rowOrdering{}, errNotYet
}
func (rowOrdering) compare(a, b Row) int { return 0 }
