package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// reindex is REINDEX, which has no effect; but what it names must exist.
func reindex(ctx context.Context, e *statement.Env, s *ast.Reindex) error {
	var err error
	switch s.Kind {
	case ast.ObjIndex, ast.ObjTable:
		err = reindexRelation(ctx, e, s)
	case ast.ObjSchema:
		var schema *catalog.Schema
		if schema, err = e.Coll.FindSchema(ctx, s.Name.Table); err == nil && schema == nil {
			err = pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", s.Name.Table)
		} else if err == nil {
			err = e.OwnsSchema(schema)
		}
	default:
		if db := e.Coll.CurrentDatabase().Name; s.Name.Table != db {
			err = pgerr.Unsupported("can only reindex the currently open database")
		} else {
			err = e.OwnsDatabase(e.Coll.CurrentDatabase())
		}
	}
	if err != nil {
		return err
	}
	e.Ignore(noeffect.Reindex)
	return nil
}

func reindexRelation(ctx context.Context, e *statement.Env, s *ast.Reindex) error {
	t, index, err := e.Coll.FindRelation(ctx, s.Name.Catalog, s.Name.Schema, s.Name.Table)
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.UndefinedRelation(ctx, s.Name)
	case s.Kind == ast.ObjIndex && !index:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not an index", s.Name.Table)
	case s.Kind == ast.ObjTable && (index || t.Kind != catalog.KindTable && t.Kind != catalog.KindVirtual):
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", s.Name.Table)
	}
	return e.Owns(t)
}

// cluster is CLUSTER, which has no effect; but what it names must exist.
func cluster(ctx context.Context, e *statement.Env, s *ast.Cluster) error {
	t, index, err := e.Relation(ctx, *s.Table)
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.UndefinedRelation(ctx, *s.Table)
	case index || t.Kind != catalog.KindTable:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", s.Table.Table)
	case s.Index != "" && t.IndexByName(s.Index) == nil:
		return pgerr.New(pgerr.UndefinedObject, "index \"%s\" for table \"%s\" does not exist", s.Index, t.Name)
	}
	if err := e.Owns(t); err != nil {
		return err
	}
	if err := e.CheckUnused(t, "CLUSTER"); err != nil {
		return err
	}
	e.Ignore(noeffect.Cluster)
	return nil
}
