package catalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
)

// The values of Trigger.Enabled, as in pg_trigger.tgenabled: where session_replication_role is origin or
// local, where it is replica, never, always.
const (
	TriggerOrigin   byte = 'O'
	TriggerReplica  byte = 'R'
	TriggerDisabled byte = 'D'
	TriggerAlways   byte = 'A'
)

// Trigger is a trigger on a table or a view.
type Trigger struct {
	Oid    uint32
	Name   string
	Timing ast.TriggerTiming
	Events ast.TriggerEvents
	// Row is FOR EACH ROW.
	Row bool `json:",omitempty"`
	// Columns are those of UPDATE OF, none for all.
	Columns []ColumnID `json:",omitempty"`
	// When is the condition as SQL text over rows named old and new, "" for none; WhenColumns are the columns that it
	// reads.
	When        string     `json:",omitempty"`
	WhenColumns []ColumnID `json:",omitempty"`
	Function    ID
	Args        []string `json:",omitempty"`
	// OldTable and NewTable are the names of the transition tables, "" for none.
	OldTable string `json:",omitempty"`
	NewTable string `json:",omitempty"`
	// ConstraintOid is that of a constraint trigger, 0 for another; From is the other table that it names.
	ConstraintOid uint32 `json:",omitempty"`
	From          ID     `json:",omitempty"`
	// Deferrable constraint triggers may fire at the end of the transaction, as they do by default if Deferred is set.
	Deferrable bool `json:",omitempty"`
	Deferred   bool `json:",omitempty"`
	Enabled    byte
	Comment    string `json:",omitempty"`
}

// Fires reports whether the trigger fires in sessions where replica says that session_replication_role is replica.
func (g *Trigger) Fires(replica bool) bool {
	switch g.Enabled {
	case TriggerOrigin:
		return !replica
	case TriggerReplica:
		return replica
	}
	return g.Enabled == TriggerAlways
}

// TriggerByName returns the position of the named trigger, -1 if absent.
func (t *Table) TriggerByName(name string) int {
	return slices.IndexFunc(t.Triggers, func(g Trigger) bool { return g.Name == name })
}

// HasTrigger reports whether rows of the table, or statements on it, may fire a trigger of some kind.
func (t *Table) HasTrigger(timing ast.TriggerTiming, events ast.TriggerEvents, row bool) bool {
	return slices.ContainsFunc(t.Triggers, func(g Trigger) bool {
		return g.Timing == timing && g.Events&events != 0 && g.Row == row
	})
}

// TriggerOrder is the order in which triggers fire: by their names.
func (t *Table) TriggerOrder() []*Trigger {
	list := make([]*Trigger, len(t.Triggers))
	for i := range list {
		list[i] = &t.Triggers[i]
	}
	slices.SortFunc(list, func(a, b *Trigger) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return list
}

func (t *Table) cloneTriggers() {
	t.Triggers = slices.Clone(t.Triggers)
	for i := range t.Triggers {
		g := &t.Triggers[i]
		g.Columns, g.WhenColumns, g.Args = slices.Clone(g.Columns), slices.Clone(g.WhenColumns), slices.Clone(g.Args)
	}
}

// checkTrigger verifies what the layers above take for granted.
func (t *Table) checkTrigger(g *Trigger, columns map[ColumnID]bool) error {
	switch {
	case g.Oid == 0 || g.Function == 0 || g.Events == 0:
		return corrupt(t.ID, "trigger %d has no event or function", g.Oid)
	case g.Timing > ast.TriggerInstead || g.Timing == ast.TriggerInstead && (t.Kind != KindView || !g.Row):
		return corrupt(t.ID, "trigger %d fires at no time", g.Oid)
	}
	for _, c := range slices.Concat(g.Columns, g.WhenColumns) {
		if !columns[c] {
			return corrupt(t.ID, "trigger %d has no column %d", g.Oid, c)
		}
	}
	return nil
}
