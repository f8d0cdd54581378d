package geofuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		positions(), comparisons(), moves(), distances(), closestPoints(), containment(), crossings(), directions(),
		measures(), pathFunctions(), constructors(), conversions(),
	)
}

// shapeFunc computes with shapes.
type shapeFunc[R any] func(c *geometry.Calc, a []types.Datum) R

// evaluated makes a call of f, whose results wrap turns into values.
func evaluated[R any](f shapeFunc[R], wrap func(R) types.Datum) call.EvalFunc {
	return func(ctx *call.Context, a []types.Datum) (types.Datum, error) {
		c := geometry.Calc{Step: ctx.Step}
		v := f(&c, a)
		if err := c.Err(); err != nil {
			return types.Null, err
		}
		return wrap(v), nil
	}
}

func truth(f shapeFunc[bool]) call.EvalFunc     { return evaluated(f, types.NewBool) }
func number(f shapeFunc[float64]) call.EvalFunc { return evaluated(f, types.NewFloat) }

// value makes a call of what returns a value itself.
func value(f shapeFunc[types.Datum]) call.EvalFunc {
	return evaluated(f, func(d types.Datum) types.Datum { return d })
}

// pointOrNull makes a call of what finds a point, or none.
func pointOrNull(f func(c *geometry.Calc, a []types.Datum) (geometry.Point, bool)) call.EvalFunc {
	return value(func(c *geometry.Calc, a []types.Datum) types.Datum {
		p, ok := f(c, a)
		if !ok {
			return types.Null
		}
		return types.NewPoint(p)
	})
}
