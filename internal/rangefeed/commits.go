package rangefeed

import (
	"bytes"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Event is a committed version. The value of a Stored one is in the engine.
type Event struct {
	kvpb.FeedEvent
	Stored bool
}

// Commits collects the changes of one command at a time, and returns the versions that it
// committed. Its zero value is ready for use.
type Commits struct {
	wrote, unlocked []Event
	locked, dropped map[string]bool
}

// Add takes a change of the command.
func (c *Commits) Add(change apply.Change) {
	switch change.Kind {
	case apply.Wrote, apply.Deleted:
		c.wrote = append(c.wrote, Event{FeedEvent: kvpb.FeedEvent{
			Key: bytes.Clone(change.Key), Value: bytes.Clone(change.Value), Deleted: change.Kind == apply.Deleted, TS: change.TS,
		}})
	case apply.Unlocked:
		c.unlocked = append(c.unlocked, Event{FeedEvent: kvpb.FeedEvent{Key: bytes.Clone(change.Key), TS: change.TS}, Stored: true})
	case apply.Locked:
		c.locked = with(c.locked, change.Key)
	case apply.Dropped:
		c.dropped = with(c.dropped, change.Key)
	}
}

func with(set map[string]bool, key []byte) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[string(key)] = true
	return set
}

// End appends to events the versions that the command committed: those that it wrote without a
// lock, and those in the engine whose locks it removed. It makes c ready for the next command.
func (c *Commits) End(events []Event) []Event {
	for _, e := range c.wrote {
		if !c.locked[string(e.Key)] {
			events = append(events, e)
		}
	}
	for _, e := range c.unlocked {
		// A version was dropped if its transaction has aborted, or has committed at another
		// timestamp. The command of an abort has no timestamp.
		if !c.dropped[string(e.Key)] && e.TS.WallTime > 0 {
			events = append(events, e)
		}
	}
	c.wrote, c.unlocked = c.wrote[:0], c.unlocked[:0]
	clear(c.locked)
	clear(c.dropped)
	return events
}
