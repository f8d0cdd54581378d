package statement

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// CastName names a cast in messages.
func CastName(from, to string) string { return "cast from " + from + " to " + to }

// NameOf is the name of a relation with its schema.
func (e *Env) NameOf(ctx context.Context, t *catalog.Table) ast.TableName {
	n := ast.TableName{Table: t.Name}
	if d, err := e.Coll.Peek(ctx, t.Schema); err == nil && d != nil {
		n.Schema = d.Ident().Name
	}
	return n
}

// CascadeNotice returns what CASCADE drops besides.
func (e *Env) CascadeNotice(names []string) {
	if len(names) == 1 {
		e.Skip(pgerr.SuccessfulCompletion, "drop cascades to %s", names[0])
		return
	}
	n := pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %d other objects", len(names))
	e.Notify("NOTICE", n.WithDetail("drop cascades to %s", strings.Join(names, "\ndrop cascades to ")))
}

// ObjectKind is the kind of object that a relation is for DROP and ALTER.
func ObjectKind(t *catalog.Table) ast.ObjectKind {
	switch {
	case t.Materialized():
		return ast.ObjMaterializedView
	case t.Kind == catalog.KindView:
		return ast.ObjView
	case t.Kind == catalog.KindSequence:
		return ast.ObjSequence
	case t.IsComposite():
		return ast.ObjType
	}
	return ast.ObjTable
}

// InSchema adds the schema to the error of a name that is taken.
func InSchema(err error, s *catalog.Schema) error {
	if pgerr.CodeOf(err) != pgerr.DuplicateObject {
		return err
	}
	return pgerr.New(pgerr.DuplicateObject, "%s in schema \"%s\"", pgerr.From(err).Message, s.Name)
}
