package call

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DDLEvent is what functions of event triggers may ask about the statement for which the trigger fires.
type DDLEvent struct {
	Event, Tag string
	Commands   []DDLCommand
	Dropped    []DroppedObject
	// RewriteOid is the table whose rows are written anew, RewriteReason why: bits as PostgreSQL has them.
	RewriteOid    uint32
	RewriteReason int
}

// DDLCommand is a row of pg_event_trigger_ddl_commands: an object that a statement has made or changed; Class is 0 for privileges, which
// are about no object.
type DDLCommand struct {
	Class, Oid                  uint32
	Sub                         int32
	Tag, Type, Schema, Identity string
}

// DroppedObject is a row of pg_event_trigger_dropped_objects.
type DroppedObject struct {
	Class, Oid                   uint32
	Sub                          int32
	Original, Normal, Temporary  bool
	Type, Schema, Name, Identity string
	Names, Args                  []string
}

// EventSession is a Session that fires event triggers.
type EventSession interface {
	// DDLEvent returns what the function of an event trigger that runs may ask, nil if there is none.
	DDLEvent() *DDLEvent
}

// EventOf returns the event for which a function runs. It is an error if that is not one of some events, unless they are "".
func EventOf(c *Context, function, event string) (*DDLEvent, error) {
	s, ok := c.Session.(EventSession)
	if ok {
		if e := s.DDLEvent(); e != nil && (event == "" || e.Event == event) {
			return e, nil
		}
	}
	what := "an event trigger"
	if event != "" {
		what = "a " + event + " event trigger"
	}
	return nil, pgerr.New("39P03", "%s() can only be called in %s function", function, what)
}

// NullIfEmpty is a text, NULL if it is empty.
func NullIfEmpty(s string) types.Datum {
	if s == "" {
		return types.Null
	}
	return types.NewString(s)
}
