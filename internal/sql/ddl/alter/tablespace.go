package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// setTablespace is ALTER TABLE and ALTER INDEX ... SET TABLESPACE.
func (a *Alteration) setTablespace(ctx context.Context, c *ast.AlterCmd) error {
	ts, err := relations.ChosenTablespace(ctx, a.E, c.NewName)
	if err != nil {
		return err
	}
	name := ""
	if ts != nil {
		name = ts.Name
	}
	if !a.index {
		a.T.Tablespace = name
		if err := relations.Place(ctx, a.E, zoneconfig.TableObject(a.T), ts); err != nil {
			return err
		}
		return a.Put(ctx)
	}
	i := slices.IndexFunc(a.T.Indexes, func(ix catalog.Index) bool { return ix.Name == a.name })
	if i < 0 {
		return pgerr.New(pgerr.UndefinedObject, "index \"%s\" does not exist", a.name)
	}
	a.T.Indexes[i].Tablespace = name
	if err := relations.Place(ctx, a.E, zoneconfig.IndexObject(a.T, &a.T.Indexes[i]), ts); err != nil {
		return err
	}
	return a.Put(ctx)
}
