package relations

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// PlacementOption is the option of a tablespace that says where replicas live.
const PlacementOption = "replica_placement"

// UndefinedTablespace says that there is no tablespace of a name.
func UndefinedTablespace(name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", name)
}

// InTablespace reports whether a table or one of its indexes is in a tablespace.
func InTablespace(t *catalog.Table, name string) bool {
	return t.Tablespace == name || slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool { return ix.Tablespace == name })
}

// ChosenTablespace returns the tablespace that a statement names, or else the default
// one; nil is pg_default. Nobody drops it while the transaction lasts.
func ChosenTablespace(ctx context.Context, e *statement.Env, name string) (*catalog.Tablespace, error) {
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
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, UndefinedTablespace(name)
	}
	return t, e.MayUseTablespace(t)
}

// Place gives an object the placement of its tablespace as its zone, or none with nil.
func Place(ctx context.Context, e *statement.Env, obj zoneconfig.KeyObject, ts *catalog.Tablespace) error {
	if _, err := e.Txn.Lock(ctx, keys.Zone(nil), lock.Update, lock.WaitBlock); err != nil {
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
	if err := zoneconfig.CheckZones(ctx, e, &obj, spans); err != nil {
		return err
	}
	return zoneconfig.WriteZone(ctx, e, obj.Span.Start, record)
}

// choosePlace chooses the tablespace of a new table.
func (b *TableBuilder) choosePlace(ctx context.Context, name string) (*catalog.Tablespace, error) {
	ts, err := ChosenTablespace(ctx, b.e, name)
	if ts != nil {
		b.T.Tablespace = ts.Name
	}
	return ts, err
}

// placeTable puts a new table into its tablespace.
func placeTable(ctx context.Context, e *statement.Env, t *catalog.Table, ts *catalog.Tablespace) error {
	if ts == nil {
		return nil
	}
	return Place(ctx, e, zoneconfig.TableObject(t), ts)
}
