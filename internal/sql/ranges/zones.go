package ranges

import (
	"context"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// zones reads the stored zones as the transaction sees them.
func (e *Env) zones(ctx context.Context) (*zone.Set, error) {
	spans, err := kv.ZoneSpans(ctx, e.DDL.Txn)
	if err != nil {
		return nil, err
	}
	set, err := zone.NewSet(spans)
	if err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "%v", err)
	}
	return set, nil
}

// showZone is SHOW ZONE CONFIGURATION FROM: what holds for the object, inherited
// settings included, under the name of the zone that they come from first.
func (e *Env) showZone(ctx context.Context, st *ast.ShowZone) ([][]types.Datum, error) {
	o, err := zoneconfig.FindZone(ctx, e.DDL.Coll, st.Target, st.Pos)
	if err != nil {
		return nil, err
	}
	set, err := e.zones(ctx)
	if err != nil {
		return nil, err
	}
	c, z := set.At(o.Span.Start)
	from := zoneconfig.KeyObject{Kind: zone.KindDefault}
	if z != nil {
		var ok bool
		if from, ok, err = zoneconfig.ZoneObject(ctx, e.DDL.Coll, z); err != nil {
			return nil, err
		}
		if !ok {
			from = o
		}
	}
	return [][]types.Datum{e.zoneRow(ctx, &from, &c)}, nil
}

func (e *Env) zoneRow(ctx context.Context, o *zoneconfig.KeyObject, c *zone.Config) []types.Datum {
	name := o.Name(ctx, e.DDL.Coll)
	return []types.Datum{types.NewString(name), types.NewString(zoneconfig.ZoneSQL(name, c))}
}

// showZones is SHOW ZONE CONFIGURATIONS: the default, complete, and every other
// zone with what it sets itself.
func (e *Env) showZones(ctx context.Context) ([][]types.Datum, error) {
	set, err := e.zones(ctx)
	if err != nil {
		return nil, err
	}
	c, _ := set.At(nil)
	rows := [][]types.Datum{e.zoneRow(ctx, &zoneconfig.KeyObject{Kind: zone.KindDefault}, &c)}
	for i := range set.Spans() {
		z := &set.Spans()[i]
		o, ok, err := zoneconfig.ZoneObject(ctx, e.DDL.Coll, z)
		if err != nil {
			return nil, err
		}
		if ok && o.Kind != zone.KindDefault {
			rows = append(rows, e.zoneRow(ctx, &o, &z.Config))
		}
	}
	return rows, nil
}
