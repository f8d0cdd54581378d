package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// createTablespace is CREATE TABLESPACE. A tablespace is YugabyteDB's: a name for a placement of
// replicas. What is put into one gets its placement as a zone of its own, which CONFIGURE ZONE can
// change further.
func createTablespace(ctx context.Context, e *statement.Env, st *ast.CreateTablespace) error {
	if st.HasLocation {
		return pgerr.Unsupported("CREATE TABLESPACE with a LOCATION is not supported").At(st.Pos).
			WithHint("WITH (%s = ...) says on which nodes the tablespace's tables live.", relations.PlacementOption)
	}
	if strings.HasPrefix(st.Name, "pg_") {
		return pgerr.New(pgerr.ReservedName, "unacceptable tablespace name \"%s\"", st.Name).
			WithDetail("The prefix \"pg_\" is reserved for system tablespaces.").At(st.Pos)
	}
	if !e.Coll.Me().Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create tablespace \"%s\"", st.Name).
			WithHint("Must be superuser to create a tablespace.")
	}
	owner, err := e.Role(st.Owner)
	if err != nil {
		return err
	}
	t := &catalog.Tablespace{Name: st.Name, Owner: owner}
	for i := range st.With {
		o := &st.With[i]
		if o.Name != relations.PlacementOption {
			return pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", o.Name).At(o.Pos)
		}
		if t.Placement, err = zoneconfig.ZoneText(o.Value); err != nil {
			return err
		}
	}
	c, err := zone.FromPlacement(t.Placement)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "%v", err).At(st.Pos)
	}
	if err := zoneconfig.CheckLocalities(ctx, e, &c); err != nil {
		return err
	}
	if err := e.Coll.LockTablespace(ctx, st.Name); err != nil {
		return err
	}
	old, err := e.Coll.FindTablespace(ctx, st.Name)
	switch {
	case err != nil:
		return err
	case old != nil:
		return pgerr.New(pgerr.DuplicateObject, "tablespace \"%s\" already exists", st.Name).At(st.Pos)
	}
	if t.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	return e.Coll.PutTablespace(t)
}

// dropTablespace is DROP TABLESPACE, which must be empty.
func dropTablespace(ctx context.Context, e *statement.Env, st *ast.DropTablespace) error {
	if err := e.Coll.LockTablespace(ctx, st.Name); err != nil {
		return err
	}
	t, err := e.Coll.FindTablespace(ctx, st.Name)
	switch {
	case err != nil:
		return err
	case t == nil && st.IfExists:
		e.Skip(pgerr.SuccessfulCompletion, "tablespace \"%s\" does not exist, skipping", st.Name)
		return nil
	case t == nil:
		return relations.UndefinedTablespace(st.Name).At(st.Pos)
	}
	if err := access.MustOwn(e.Coll, t.Owner, "tablespace", t.Name); err != nil {
		return err
	}
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if x, ok := d.(*catalog.Table); ok && relations.InTablespace(x, st.Name) {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "tablespace \"%s\" is not empty", st.Name).
				WithDetail("Relation \"%s\" is in it.", x.Name).At(st.Pos)
		}
	}
	return e.Coll.DeleteTablespace(st.Name)
}
