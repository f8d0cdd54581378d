package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
)

// storageParams is SET (...) and RESET (...) of a table or index.
func (a *Alteration) storageParams(ctx context.Context, c *ast.AlterCmd) error {
	options, of := &a.T.Options, &relations.TableParameters
	switch {
	case a.index:
		ix := a.T.IndexByName(a.name)
		options, of = &ix.Options, relations.IndexParameters(ast.Name(ix.Method().String()))
	case a.T.Kind != catalog.KindTable:
		return a.wrongKind(c)
	}
	var err error
	if c.Kind == ast.AlterResetParams {
		*options, err = relations.ResetOptions(*options, c.Params)
	} else {
		*options, err = relations.StorageOptions(a.E, *options, c.Params, of)
	}
	if err != nil {
		return err
	}
	return a.Put(ctx)
}
