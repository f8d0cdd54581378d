package optimizer

import (
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// pushLocks makes the scan lock the rows that a statement changes or locks,
// where nothing in between drops or reorders rows.
func (o *optimizer) pushLocks(n plan.Node) plan.Node {
	eachChild(n, o.pushLocks)
	switch n := n.(type) {
	case *plan.LockRows:
		if len(n.Targets) == 1 && lockScan(n.Input, n.Targets[0].Table(), &n.Targets[0].Locking) {
			return n.Input
		}
	case *plan.Update:
		l := &plan.Locking{Strength: lock.NoKeyUpdate, Changes: "updated"}
		if n.ChangesKey() {
			l.Strength = lock.Update
		}
		lockScan(n.Input, n.Table, l)
	case *plan.Delete:
		lockScan(n.Input, n.Table, &plan.Locking{Strength: lock.Update, Changes: n.Verb()})
	}
	return n
}

// lockScan sets the locking of the scan that n is, below projections.
func lockScan(n plan.Node, t *catalog.Table, l *plan.Locking) bool {
	switch n := n.(type) {
	case *plan.Project:
		return lockScan(n.Input, t, l)
	case *plan.Scan:
		if n.Table.ID != t.ID {
			return false
		}
		n.Locking = l
		return true
	case *plan.IndexJoin:
		n.Locking = l
		return true
	}
	return false
}
