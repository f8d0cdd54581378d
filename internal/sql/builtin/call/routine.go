package call

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// RoutineCall is a call of a user-defined function as it was planned.
type RoutineCall struct {
	Fn *Overload
	// Types are the types of the arguments, nil if those of Fn are no polymorphic ones.
	Types []*types.T
	// Row is the row that a column definition list asks for, nil for none.
	Row *types.T
}

// Routines is a Session that runs user-defined functions.
type Routines interface {
	// CallRoutine returns the value of a function that returns no set.
	CallRoutine(c *Context, r *RoutineCall, args []types.Datum) (types.Datum, error)
	// CallRoutineRows returns the rows of one that does.
	CallRoutineRows(c *Context, r *RoutineCall, args []types.Datum) (RowIterator, error)
}

// routines returns what runs user-defined functions, or an error where there is nothing.
func (c *Context) routines() (Routines, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	r, ok := s.(Routines)
	if !ok {
		return nil, pgerr.Unsupported("user-defined functions are not available here")
	}
	return r, nil
}

// RoutineValue calls a function that returns no set.
func RoutineValue(r *RoutineCall) EvalFunc {
	return func(c *Context, args []types.Datum) (types.Datum, error) {
		s, err := c.routines()
		if err != nil {
			return types.Null, err
		}
		return s.CallRoutine(c, r, args)
	}
}

// RoutineRows calls a function that returns a set.
func RoutineRows(r *RoutineCall) SRFFunc {
	return func(c *Context, args []types.Datum) (RowIterator, error) {
		s, err := c.routines()
		if err != nil {
			return nil, err
		}
		return s.CallRoutineRows(c, r, args)
	}
}

// Own makes a copy of a context one for a call of its own, which has reserved nothing yet.
func (c *Context) Own() { c.reserved, c.Bulky = 0, false }

// Reserved raises what the running call has reserved to n bytes.
func (c *Context) Reserved(n int64) error {
	if n <= c.reserved+reserveAhead {
		return nil
	}
	return c.reserveAny(n - c.reserved)
}

// reserveAhead is how much calls may keep before they reserve it.
const reserveAhead = 64 << 10
