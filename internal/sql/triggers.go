package sql

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
)

// triggers are the session as statements that fire triggers see it. It implements operator.Triggers.
type triggers struct{ ex *executor }

// Replica implements operator.Triggers.
func (t triggers) Replica() bool { return t.ex.vals.Fast.Replica }

// Computes implements operator.Triggers.
func (t triggers) Computes(c *call.Context, f *operator.Firing) bool {
	return t.ex.routines.Computes(c, f)
}

// Fire implements operator.Triggers.
func (t triggers) Fire(c *call.Context, f *operator.Firing) error {
	return t.ex.routines.Trigger(c, f)
}
