package statview

import (
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// Request says which figures are wanted.
type Request struct {
	Statements bool `json:",omitempty"`
	Plans      bool `json:",omitempty"`
}

// None reports whether no figures are wanted.
func (r Request) None() bool { return r == Request{} }

// Node has the figures of a node, those that were asked for.
type Node struct {
	Node       kvpb.NodeID
	Statements []stmtstats.Row            `json:",omitempty"`
	Plans      []stmtstats.StatementPlans `json:",omitempty"`
}

// Source is where the figures come from.
type Source interface {
	// Nodes returns the figures of all nodes, or of the one that answers.
	Nodes(here bool, r Request) ([]Node, error)
	// MaySee reports whether the user may see what a user's statements have done.
	MaySee(user string) bool
}

// Rows takes the rows of a view: columns by their names, then Done.
type Rows interface {
	Num(column string, v int64)
	Str(column, v string)
	// Text sets a column to a text, NULL if it is empty.
	Text(column, v string)
	Time(column string, t time.Time)
	Interval(column string, d time.Duration)
	Flag(column string, v bool)
	Done()
}

// View makes the rows of a view; here says that only this node is asked.
type View func(s Source, here bool, w Rows) error

// Views are the views by their names behind cluster_ and node_.
var Views = map[string]View{
	"statement_statistics": statements,
	"statement_plans":      plans,
}

// unix is a time in nanoseconds.
func unix(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
