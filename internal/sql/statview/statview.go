package statview

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/advise"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// Request says which figures are wanted.
type Request struct {
	Statements bool `json:",omitempty"`
	Plans      bool `json:",omitempty"`
	Txns       bool `json:",omitempty"`
	Slow       bool `json:",omitempty"`
	Waits      bool `json:",omitempty"`
	Indexes    bool `json:",omitempty"`
	// Who asks who some transactions were.
	Who Who `json:",omitempty"`
}

// Who are transactions, by their ids.
type Who map[[2]uint64]bool

// MarshalJSON makes a list of it.
func (w Who) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Collect(maps.Keys(w))) }

// UnmarshalJSON reads a list.
func (w *Who) UnmarshalJSON(b []byte) error {
	var list [][2]uint64
	err := json.Unmarshal(b, &list)
	*w = make(Who, len(list))
	for _, id := range list {
		(*w)[id] = true
	}
	return err
}

// None reports whether no figures are wanted.
func (r Request) None() bool {
	return !r.Statements && !r.Plans && !r.Txns && !r.Slow && !r.Waits && !r.Indexes && r.Who == nil
}

// Node has the figures of a node, those that were asked for.
type Node struct {
	Node       kvpb.NodeID
	Statements []stmtstats.Row            `json:",omitempty"`
	Plans      []stmtstats.StatementPlans `json:",omitempty"`
	Txns       []stmtstats.TxnRow         `json:",omitempty"`
	Slow       []stmtstats.Slow           `json:",omitempty"`
	Waits      []Wait                     `json:",omitempty"`
	Recent     []stmtstats.Recent         `json:",omitempty"`
	Indexes    []stmtstats.IndexRow       `json:",omitempty"`
	Since      int64                      `json:",omitempty"` // when it began to count the use of indexes, in Unix nanoseconds
	Kept       *Kept                      `json:",omitempty"` // with Statements
}

// Kept says how the statistics of statements were kept.
type Kept struct {
	// Rounds is how often fingerprints gave way to others, Since when the node began to count, in Unix nanoseconds.
	Rounds, Since int64
}

// Wait is a transaction's wait for others that has ended.
type Wait struct {
	Txn      kvpb.TxnID
	Blockers []kvpb.TxnID `json:",omitempty"`
	Key      []byte
	Since    int64 // Unix nanoseconds
	Nanos    int64
	Granted  bool
}

// Source is where the figures come from.
type Source interface {
	// Nodes returns the figures of all nodes, or of the one that answers.
	Nodes(here bool, r Request) ([]Node, error)
	// MaySee reports whether the user may see what a user's statements have done.
	MaySee(user string) bool
	// Tables returns the tables of the database that the user may read.
	Tables() []advise.Table
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
	Texts(column string, v []string)
	// Key sets the columns that say what a key belongs to, and what it is if the user may see that.
	Key(key []byte)
	Done()
}

// View makes the rows of a view; here says that only this node is asked.
type View func(s Source, here bool, w Rows) error

// Views are the views by their names behind cluster_ and node_.
var Views = map[string]View{
	"statement_statistics": statements,
	"statement_plans":      plans,

	"transaction_statistics": transactions,
	"slow_statements":        slow,
	"contention_events":      contention,
	"index_usage":            indexUsage,
}

// Recommendations lists changes of indexes that the use of all nodes speaks for.
func Recommendations(s Source, w Rows) error { return recommendations(s, w) }

// unix is a time in nanoseconds.
func unix(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
