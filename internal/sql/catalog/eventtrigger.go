package catalog

import "slices"

// The events at which event triggers fire.
const (
	EventStart   = "ddl_command_start"
	EventEnd     = "ddl_command_end"
	EventDrop    = "sql_drop"
	EventRewrite = "table_rewrite"
)

// EventTrigger is a trigger of a database that fires when statements change its catalog.
type EventTrigger struct {
	Oid      uint32
	Name     string
	Event    string
	Tags     []string `json:",omitempty"` // of the statements for which it fires, none for all
	Function ID
	Owner    Owner
	Enabled  byte   // as Trigger.Enabled
	Comment  string `json:",omitempty"`
}

// Fires reports whether the trigger fires at an event of a statement with a tag, in a session where replica says that
// session_replication_role is replica.
func (g *EventTrigger) Fires(event, tag string, replica bool) bool {
	t := Trigger{Enabled: g.Enabled}
	return g.Event == event && t.Fires(replica) && (len(g.Tags) == 0 || slices.Contains(g.Tags, tag))
}

// EventTriggerNamed returns the place of an event trigger, -1 if there is none of the name.
func (d *Database) EventTriggerNamed(name string) int {
	return slices.IndexFunc(d.EventTriggers, func(g EventTrigger) bool { return g.Name == name })
}

// Changed is an object that a transaction has made, changed or dropped: Old is nil for a new one, New for one that was dropped.
type Changed struct{ Old, New Descriptor }

// ChangedSince returns what the transaction has made, changed and dropped since sp, in the order of the first changes.
func (c *Collection) ChangedSince(sp Savepoint) (out []Changed) {
	if c.changes == nil {
		return nil
	}
	log := c.changes.log
	at := map[ID]int{}
	for i := min(sp.log, len(log)); i < len(log); i++ {
		e := log[i]
		if e.isName {
			continue
		}
		n, seen := at[e.id]
		if !seen {
			n = len(out)
			at[e.id] = n
			out = append(out, Changed{Old: c.before(e.id, i)})
		}
		out[n].New = e.desc
	}
	return slices.DeleteFunc(out, func(x Changed) bool { return x.Old == nil && x.New == nil })
}

// before returns an object as it was before entry i of the log, nil if it was not there.
func (c *Collection) before(id ID, i int) Descriptor {
	for j := i - 1; j >= 0; j-- {
		if e := c.changes.log[j]; !e.isName && e.id == id {
			return e.desc
		}
	}
	if o := c.store.object(id); o != nil {
		return o.cur.Load().desc
	}
	return nil
}
