package casts

import (
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// defaultCorners is how many points a circle has as a polygon.
const defaultCorners = 12

func addGeometryCasts(add castAdder) {
	const a, e = types.CastAssignment, types.CastExplicit
	add(types.Point, a, 'f', castShape(func(_ *geometry.Calc, d types.Datum) types.Datum {
		return types.NewBox(geometry.Box{High: d.Point(), Low: d.Point()})
	}), types.Box)
	add(types.LSeg, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPoint(c.Middle(d.LSeg()))
	}), types.Point)
	add(types.Path, a, 'f', castPathPolygon, types.Polygon)
	addBoxCasts(add)
	addPolygonCasts(add)
	add(types.Circle, e, 'f', castShape(func(_ *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPoint(d.Circle().Center)
	}), types.Point)
	add(types.Circle, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewBox(c.CircleBox(d.Circle()))
	}), types.Box)
	add(types.Circle, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPolygon(c.CirclePolygon(defaultCorners, d.Circle()))
	}), types.Polygon)
}

func addBoxCasts(add castAdder) {
	const a, e = types.CastAssignment, types.CastExplicit
	add(types.Box, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPoint(c.BoxCenter(d.Box()))
	}), types.Point)
	add(types.Box, e, 'f', castShape(func(_ *geometry.Calc, d types.Datum) types.Datum {
		return types.NewLSeg(geometry.Segment{d.Box().High, d.Box().Low})
	}), types.LSeg)
	add(types.Box, a, 'f', castShape(func(_ *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPolygon(d.Box().Polygon())
	}), types.Polygon)
	add(types.Box, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewCircle(c.BoxCircle(d.Box()))
	}), types.Circle)
}

func addPolygonCasts(add castAdder) {
	const a, e = types.CastAssignment, types.CastExplicit
	add(types.Polygon, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPoint(c.PolygonCircle(d.Polygon()).Center)
	}), types.Point)
	add(types.Polygon, a, 'f', castShape(func(_ *geometry.Calc, d types.Datum) types.Datum {
		return types.NewPath(geometry.Path{Points: d.Polygon(), Closed: true})
	}), types.Path)
	add(types.Polygon, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewBox(c.Bound(d.Polygon()))
	}), types.Box)
	add(types.Polygon, e, 'f', castShape(func(c *geometry.Calc, d types.Datum) types.Datum {
		return types.NewCircle(c.PolygonCircle(d.Polygon()))
	}), types.Circle)
}

// castShape makes a cast of a conversion between shapes.
func castShape(convert func(c *geometry.Calc, d types.Datum) types.Datum) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		c := geometry.Calc{Step: fc.CountSteps}
		out := convert(&c, d)
		if c.Err() != nil {
			return types.Null, c.Err()
		}
		return out, nil
	}
}

func castPathPolygon(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	p := d.Path()
	if !p.Closed {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "open path cannot be converted to polygon")
	}
	return types.NewPolygon(p.Points), nil
}
