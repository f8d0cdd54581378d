package deferral

import (
	"context"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxWaiting bounds the checks that wait for the end of a transaction.
const maxWaiting = 4 << 20

// Constraints are the deferred constraints of a session's transaction. They implement
// operator.ConstraintMode. Use Init before anything else.
type Constraints struct {
	state State
	check func(context.Context, []*operator.Deferred) error
}

// State is what SET CONSTRAINTS has said in a transaction, and the checks that wait for its end.
// The zero value is that of a transaction that begins.
type State struct {
	all   ast.Tristate // of SET CONSTRAINTS ALL
	modes map[uint32]bool
	queue Queue
}

// Queue are checks that wait. It is never changed in place, so that savepoints can keep it.
type Queue []*operator.Deferred

// Init makes c ready; check makes checks in the open transaction.
func (c *Constraints) Init(check func(context.Context, []*operator.Deferred) error) { c.check = check }

// Deferred implements operator.ConstraintMode.
func (c *Constraints) Deferred(oid uint32, initially bool) bool {
	if mode, ok := c.state.modes[oid]; ok {
		return mode
	}
	if c.state.all != ast.Unset {
		return c.state.all == ast.Yes
	}
	return initially
}

// Defer implements operator.ConstraintMode; 54000 if too many checks wait.
func (c *Constraints) Defer(check *operator.Deferred) error {
	if len(c.state.queue) >= maxWaiting {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many deferred constraint checks in one transaction (limit %d)", maxWaiting)
	}
	c.state.queue = append(c.state.queue, check)
	return nil
}

// Reset begins a transaction.
func (c *Constraints) Reset() { c.state = State{} }

// Mark returns the present state for a savepoint.
func (c *Constraints) Mark() State {
	m := c.state
	m.modes = maps.Clone(m.modes)
	m.queue = slices.Clip(m.queue)
	return m
}

// RollbackTo returns to what Mark has returned, any number of times.
func (c *Constraints) RollbackTo(m State) {
	c.state = m
	c.state = c.Mark()
}

// Waiting returns the checks that wait, for Restore.
func (c *Constraints) Waiting() Queue { return c.state.queue }

// Restore forgets the checks that have been added since Waiting returned q.
func (c *Constraints) Restore(q Queue) { c.state.queue = slices.Clip(q) }

// WaitOn reports whether checks of rows of a table wait.
func (c *Constraints) WaitOn(table catalog.ID) bool {
	return slices.ContainsFunc(c.state.queue, func(d *operator.Deferred) bool { return d.WaitsOn().ID == table })
}

// Check makes all checks that wait. They wait on if one fails.
func (c *Constraints) Check(ctx context.Context) error {
	return c.checkThose(ctx, func(*operator.Deferred) bool { return true })
}

// checkThose makes the checks that satisfy want, those too that triggers among them leave to the end.
func (c *Constraints) checkThose(ctx context.Context, want func(*operator.Deferred) bool) error {
	for {
		var now, later Queue
		for _, d := range c.state.queue {
			if want(d) {
				now = append(now, d)
			} else {
				later = append(later, d)
			}
		}
		if len(now) == 0 {
			return nil
		}
		waiting := c.state.queue
		c.state.queue = later // to which triggers that fire may add
		if err := c.check(ctx, now); err != nil {
			c.state.queue = waiting
			return err
		}
		if plant.On(plant.TriggersForgotten) {
			c.state.queue = later
			return nil
		}
	}
}
