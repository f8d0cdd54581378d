package exec

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

func (c *compiler) window(n *plan.Window) (operator, error) {
	return nil, pgerr.Unsupported("window functions are not supported yet")
}
