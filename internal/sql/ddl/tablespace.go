package ddl

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// placementOption is the option of a tablespace that says where replicas live.
const placementOption = "replica_placement"

// createTablespace is CREATE TABLESPACE. A tablespace is YugabyteDB's: a name for a placement of
// replicas. What is put into one gets its placement as a zone of its own, which CONFIGURE ZONE can
// change further.
func (e *Env) createTablespace(ctx context.Context, st *ast.CreateTablespace) error {
	if st.HasLocation {
		return pgerr.Unsupported("CREATE TABLESPACE with a LOCATION is not supported").At(st.Pos).
			WithHint("WITH (%s = ...) says on which nodes the tablespace's tables live.", placementOption)
	}
	if strings.HasPrefix(st.Name, "pg_") {
		return pgerr.New(pgerr.ReservedName, "unacceptable tablespace name \"%s\"", st.Name).
			WithDetail("The prefix \"pg_\" is reserved for system tablespaces.").At(st.Pos)
	}
	owner, err := e.role(st.Owner)
	if err != nil {
		return err
	}
	t := &catalog.Tablespace{Name: st.Name, Owner: owner}
	for i := range st.With {
		o := &st.With[i]
		if o.Name != placementOption {
			return pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", o.Name).At(o.Pos)
		}
		if t.Placement, err = zoneText(o.Value); err != nil {
			return err
		}
	}
	c, err := zone.FromPlacement(t.Placement)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "%v", err).At(st.Pos)
	}
	if err := e.checkLocalities(ctx, &c); err != nil {
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

func undefinedTablespace(name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", name)
}

// dropTablespace is DROP TABLESPACE, which must be empty.
func (e *Env) dropTablespace(ctx context.Context, st *ast.DropTablespace) error {
	if err := e.Coll.LockTablespace(ctx, st.Name); err != nil {
		return err
	}
	t, err := e.Coll.FindTablespace(ctx, st.Name)
	switch {
	case err != nil:
		return err
	case t == nil && st.IfExists:
		e.skip(pgerr.SuccessfulCompletion, "tablespace \"%s\" does not exist, skipping", st.Name)
		return nil
	case t == nil:
		return undefinedTablespace(st.Name).At(st.Pos)
	}
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if x, ok := d.(*catalog.Table); ok && inTablespace(x, st.Name) {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "tablespace \"%s\" is not empty", st.Name).
				WithDetail("Relation \"%s\" is in it.", x.Name).At(st.Pos)
		}
	}
	return e.Coll.DeleteTablespace(st.Name)
}

// inTablespace reports whether a table or one of its indexes is in a tablespace.
func inTablespace(t *catalog.Table, name string) bool {
	return t.Tablespace == name || slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool { return ix.Tablespace == name })
}

// chosenTablespace returns the tablespace that a statement names, or else the default
// one; nil is pg_default. Nobody drops it while the transaction lasts.
func (e *Env) chosenTablespace(ctx context.Context, name string) (*catalog.Tablespace, error) {
	if name == "" {
		name = e.DefaultTablespace
	}
	if name == "" || name == catalog.DefaultTablespace {
		return nil, nil
	}
	if err := e.Coll.LockTablespace(ctx, name); err != nil {
		return nil, err
	}
	t, err := e.Coll.FindTablespace(ctx, name)
	if err == nil && t == nil {
		err = undefinedTablespace(name)
	}
	return t, err
}

// place gives an object the placement of its tablespace as its zone, or none with nil.
func (e *Env) place(ctx context.Context, obj KeyObject, ts *catalog.Tablespace) error {
	if _, err := e.Txn.Lock(ctx, keys.Zone(nil), kv.LockUpdate, kv.WaitBlock); err != nil {
		return err
	}
	spans, err := kv.ZoneSpans(ctx, e.Txn)
	if err != nil {
		return err
	}
	spans = slices.DeleteFunc(spans, func(z zone.Span) bool { return bytes.Equal(z.Start, obj.Span.Start) })
	var record *zone.Record
	if ts != nil {
		c, err := zone.FromPlacement(ts.Placement)
		if err != nil {
			return pgerr.From(err)
		}
		record = &zone.Record{End: obj.Span.End, Kind: obj.Kind, Config: c}
		spans = append(spans, zone.Span{Start: obj.Span.Start, Record: *record})
	}
	if err := e.checkZones(ctx, &obj, spans); err != nil {
		return err
	}
	return e.writeZone(ctx, obj.Span.Start, record)
}

// choosePlace chooses the tablespace of a new table.
func (b *tableBuilder) choosePlace(ctx context.Context, name string) (*catalog.Tablespace, error) {
	ts, err := b.e.chosenTablespace(ctx, name)
	if ts != nil {
		b.t.Tablespace = ts.Name
	}
	return ts, err
}

// placeTable puts a new table into its tablespace.
func (e *Env) placeTable(ctx context.Context, t *catalog.Table, ts *catalog.Tablespace) error {
	if ts == nil {
		return nil
	}
	return e.place(ctx, TableObject(t), ts)
}

// setTablespace is ALTER TABLE and ALTER INDEX ... SET TABLESPACE.
func (a *alteration) setTablespace(ctx context.Context, c *ast.AlterCmd) error {
	ts, err := a.e.chosenTablespace(ctx, c.NewName)
	if err != nil {
		return err
	}
	name := ""
	if ts != nil {
		name = ts.Name
	}
	if !a.index {
		a.t.Tablespace = name
		if err := a.e.place(ctx, TableObject(a.t), ts); err != nil {
			return err
		}
		return a.put(ctx)
	}
	i := slices.IndexFunc(a.t.Indexes, func(ix catalog.Index) bool { return ix.Name == a.name })
	if i < 0 {
		return pgerr.New(pgerr.UndefinedObject, "index \"%s\" does not exist", a.name)
	}
	a.t.Indexes[i].Tablespace = name
	if err := a.e.place(ctx, indexObject(a.t, &a.t.Indexes[i]), ts); err != nil {
		return err
	}
	return a.put(ctx)
}

// indexObject is an index of t as what a zone is for.
func indexObject(t *catalog.Table, ix *catalog.Index) KeyObject {
	return KeyObject{Kind: zone.KindIndex, Span: indexSpan(t, ix.ID), Table: t, Index: ix}
}
