package call

import (
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/types"
)

// StateAggregate is an aggregate that a user has made of functions, bound for the types of a call.
type StateAggregate struct {
	// Transition makes the next state of the last one and the arguments of a row. Where it is strict, rows with a NULL among the
	// arguments are left out, and the first argument is the first state if there is no initial one.
	Transition       EvalFunc
	TransitionStrict bool
	Initial          types.Datum // Null for none
	// Final makes the result of the state, of which it is told NULLs in the places of FinalArgs arguments too; nil: the state is it.
	Final       EvalFunc
	FinalStrict bool
	FinalArgs   int
}

// Accumulator makes the state of a group.
func (a *StateAggregate) Accumulator() Accumulator {
	s := &stateAccumulator{of: a}
	s.Reset()
	return s
}

type stateAccumulator struct {
	of    *StateAggregate
	state types.Datum
	// empty says that the first argument is to be the state.
	empty bool
	args  []types.Datum
}

// Reset implements Accumulator.
func (s *stateAccumulator) Reset() {
	s.state, s.empty = s.of.Initial, s.of.TransitionStrict && s.of.Initial.IsNull()
}

// Add implements Accumulator.
func (s *stateAccumulator) Add(c *Context, args []types.Datum) error {
	if s.of.TransitionStrict {
		for i := range args {
			if args[i].IsNull() {
				return nil
			}
		}
		switch {
		case s.empty:
			s.state, s.empty = args[0], false
			return nil
		case s.state.IsNull(): // and stays so
			return nil
		}
	}
	s.args = append(append(s.args[:0], s.state), args...)
	d, err := s.of.Transition(c, s.args)
	if d, err = c.Made(d, err, s.args); err != nil {
		return err
	}
	s.state = d
	return nil
}

// Result implements Accumulator.
func (s *stateAccumulator) Result(c *Context) (types.Datum, error) {
	switch {
	case s.of.Final == nil:
		return s.state, nil
	case s.of.FinalStrict && (s.state.IsNull() || s.of.FinalArgs > 0):
		return types.Null, nil
	}
	args := make([]types.Datum, 1+s.of.FinalArgs)
	args[0] = s.state
	d, err := s.of.Final(c, args)
	return c.Made(d, err, args)
}

// Merge implements Accumulator. States are not put together: the aggregate is not Associative.
func (s *stateAccumulator) Merge(Accumulator) error {
	must.True(false, "builtin: merge of states of a user's aggregate")
	return nil
}

// SizeBytes implements Accumulator.
func (s *stateAccumulator) SizeBytes() int64 { return AccumulatorBytes + int64(len(s.state.Str())) }
