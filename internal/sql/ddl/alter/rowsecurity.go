package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
)

// switchRowSecurity is ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY.
func (a *Alteration) switchRowSecurity(ctx context.Context, c *ast.AlterCmd) error {
	switch c.NewName {
	case "enable", "disable":
		a.T.RowSecurity = c.NewName == "enable"
	default:
		a.T.ForceRowSecurity = c.NewName == "force"
	}
	return a.Put(ctx)
}
