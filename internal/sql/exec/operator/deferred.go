package operator

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ConstraintMode says when deferrable constraints are checked.
type ConstraintMode interface {
	// Deferred reports whether a deferrable constraint is checked at the end of the
	// transaction now; initially is what it was declared to be.
	Deferred(oid uint32, initially bool) bool
	// Defer keeps a check for the end of the transaction.
	Defer(d *Deferred) error
}

// Deferred is a check of a foreign key, or of a deferrable key, or a constraint trigger, that waits for the end
// of the transaction.
type Deferred struct {
	Reference *plan.Reference // nil for a deferrable key
	Referrer  bool            // a key that was referred to went away
	Key       string          // of the entry in the referenced index; of a deferrable index, the unique key
	Values    types.Row
	Row       string // key of the row that refers, unless referrer

	Table  *catalog.Table
	Index  *catalog.Index
	Schema string

	// Firing is a constraint trigger that is to fire, nil for a check.
	Firing *Firing
}

// Constraint returns the constraint's oid.
func (d *Deferred) Constraint() uint32 {
	switch {
	case d.Firing != nil:
		return d.Firing.ConstraintOid
	case d.Reference == nil:
		return d.Index.ConstraintOid
	}
	return d.Reference.Key.Oid
}

// MayLock returns 25006 if the transaction may not lock the rows that a check of a foreign key reads.
func (d *Deferred) MayLock(env *Env) error {
	from, to := d.Tables()
	if d.Referrer {
		to = from
	}
	return env.MayWrite(to, "SELECT FOR KEY SHARE")
}

// Tables returns the two tables of a foreign key, or twice the one of another.
func (d *Deferred) Tables() (from, to *catalog.Table) {
	if d.Firing != nil {
		return d.Firing.Table, d.Firing.Table
	}
	if d.Reference == nil {
		return d.Table, d.Table
	}
	return d.Reference.Table, d.Reference.Ref
}

// WaitsOn returns the table whose rows the check was noted for when they were written.
func (d *Deferred) WaitsOn() *catalog.Table {
	from, to := d.Tables()
	if d.Referrer {
		return to
	}
	return from
}
