package alter

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// switchTriggers is ENABLE and DISABLE TRIGGER. The only triggers are those of foreign keys,
// which have no names: ALL stands for those of the keys of this table and of the keys that
// refer to it, USER for none.
func (a *Alteration) switchTriggers(ctx context.Context, c *ast.AlterCmd) error {
	if !c.No {
		return pgerr.New(pgerr.UndefinedObject, "trigger \"%s\" for table \"%s\" does not exist", c.Name, a.T.Name)
	}
	if c.Name == "user" {
		return nil
	}
	off := c.NewName == "disable"
	for i := range a.T.ForeignKeys {
		a.T.ForeignKeys[i].Unchecked = off
	}
	for i := range a.T.References {
		a.T.References[i].Ignored = off
	}
	return a.Put(ctx)
}

// triggerAction names a command in errors.
func triggerAction(c *ast.AlterCmd) string {
	action := strings.ToUpper(c.NewName) + " TRIGGER"
	if c.No {
		action += " " + strings.ToUpper(c.Name)
	}
	return action
}
