package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// drop is DROP of anything but a database.
func drop(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	switch st.Kind {
	case ast.ObjTable, ast.ObjView, ast.ObjSequence, ast.ObjMaterializedView:
		return alter.DropRelations(ctx, e, st)
	case ast.ObjIndex:
		return alter.DropIndexes(ctx, e, st)
	case ast.ObjSchema:
		return alter.DropSchemas(ctx, e, st)
	case ast.ObjType, ast.ObjDomain:
		return alter.DropTypes(ctx, e, st)
	case ast.ObjStatistics:
		return dropStatistics(ctx, e, st)
	case ast.ObjCollation:
		return dropCollations(ctx, e, st)
	case ast.ObjEventTrigger:
		return dropEventTriggers(ctx, e, st)
	case ast.ObjExtension:
		return dropExtensions(ctx, e, st)
	}
	if st.IfExists {
		for _, n := range st.Names {
			e.Skip(pgerr.SuccessfulCompletion, "%s \"%s\" does not exist, skipping", strings.ToLower(st.Kind.String()), n.Table)
		}
		return nil
	}
	return pgerr.Unsupported("DROP %s is not supported", st.Kind).At(st.Pos)
}
