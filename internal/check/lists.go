package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ListTxn is the kind of a transaction on lists: Op.Steps says what it did.
const ListTxn = "list-txn"

// maxListTxns limits the transactions that Lists takes on.
const maxListTxns = 500_000

// ListStep is one step of a transaction on lists: it appends a value to a list, or
// reads the whole list. Each value is appended to a list at most once.
type ListStep struct {
	Key    string   `json:"key"`
	Append string   `json:"append,omitempty"` // "": the step is a read
	Read   []string `json:"read,omitempty"`   // what a read returned, own appends included
}

// String prints key+=value, or key=[values].
func (s ListStep) String() string {
	if s.Append != "" {
		return s.Key + "+=" + s.Append
	}
	return s.Key + "=[" + strings.Join(s.Read, " ") + "]"
}

// Level is an isolation level.
type Level uint8

// The isolation levels.
const (
	// ReadCommitted: every statement has a snapshot of its own.
	ReadCommitted Level = iota
	// Snapshot: every transaction has one, and of two that write the same only one
	// commits. PostgreSQL calls it REPEATABLE READ.
	Snapshot
	// Serializable: as if the transactions had run one after the other.
	Serializable
)

var levelNames = [...]string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// String returns the name of the level in SQL.
func (l Level) String() string { return levelNames[l] }

// Anomaly is a class of what can go wrong between transactions, after Adya.
type Anomaly string

// The anomalies.
const (
	G0      Anomaly = "G0"       // a cycle of writes that overwrite one another
	G1a     Anomaly = "G1a"      // a read of what was rolled back
	G1b     Anomaly = "G1b"      // a read of what its transaction wrote again later
	G1c     Anomaly = "G1c"      // a cycle of writes and reads
	GSingle Anomaly = "G-single" // a cycle with one read that was overwritten: lost update, read skew
	// GNonadjacent is a cycle with several reads that were overwritten, no two of
	// them in a row.
	GNonadjacent Anomaly = "G-nonadjacent"
	G2           Anomaly = "G2" // any other cycle with reads that were overwritten: write skew
	// Broken is what no isolation level excuses: a value lost, twice there or made
	// up, two orders of one list, an own append not seen.
	Broken Anomaly = "broken"
)

// Allows reports whether transactions of the level may show the anomaly. A lost update
// is a G-single; READ COMMITTED allows that, though not for one statement's change.
func (l Level) Allows(a Anomaly) bool {
	switch a {
	case GSingle, GNonadjacent:
		return l == ReadCommitted
	case G2:
		return l != Serializable
	}
	return false
}

// Finding is an anomaly with the transactions that show it.
type Finding struct {
	Anomaly Anomaly
	Problem string
	Ops     []Op
}

// Lists checks transactions that append to lists and read them: since a list tells
// the order of its appends, reads show which transaction came before which. A cycle
// among them is an anomaly; the level says which are allowed.
//
// It does not look at real time: a whole history that is too old passes.
// [Linearizable] does. Neither does it notice reads of transactions whose outcome is
// unknown and whose appends nobody saw.
type Lists struct {
	Level Level
	// Final, if not nil, are the lists in the end: every acknowledged append is there.
	Final map[string][]string
}

// Check returns nil, a [Violation] with an anomaly that the level does not allow, or
// [Undecided].
func (c Lists) Check(ops []Op) error {
	found, err := c.Anomalies(ops)
	for _, f := range found {
		if !c.Level.Allows(f.Anomaly) {
			return &Violation{"lists", fmt.Sprintf("%s: %s, which %s does not allow", f.Anomaly, f.Problem, c.Level), f.Ops}
		}
	}
	return err
}

// Anomalies returns an example of each class of anomaly in the history, the worst
// first, also those that the level allows. It returns [Undecided] as well if the search
// for a class that is not allowed was given up. Operations without Steps are passed over.
func (c Lists) Anomalies(ops []Op) ([]Finding, error) {
	if len(ops) > maxListTxns {
		return nil, &Undecided{"lists", fmt.Sprintf("%d transactions, the limit is %d", len(ops), maxListTxns)}
	}
	g := &listGraph{values: map[listValue]*listTxn{}, lists: map[string][]string{}, final: c.Final}
	for _, step := range []func() *Finding{
		func() *Finding { return g.index(ops) }, g.commits, g.aborted, g.versions, g.lost,
	} {
		if f := step(); f != nil {
			return []Finding{*f}, nil // there is no telling what came before what
		}
	}
	var found []Finding
	if f := g.intermediate(); f != nil {
		found = append(found, *f)
	}
	g.edges()
	cycles, tired := g.cycles()
	for _, a := range tired {
		if !c.Level.Allows(a) {
			return append(found, cycles...), &Undecided{"lists", fmt.Sprintf("the search for %s takes too long", a)}
		}
	}
	return append(found, cycles...), nil
}

type listValue struct{ key, value string }

// listTxn is a transaction as a node of the graph.
type listTxn struct {
	op        *Op
	committed bool
	reads     []listRead
	appends   map[string][]string // by key, in order
	out       []listEdge
	// Of the search for strongly connected components:
	index, low, component int
	onStack               bool
}

// listRead is what a transaction saw of the others' appends.
type listRead struct {
	key  string
	seen []string
}

type listGraph struct {
	txns   []*listTxn
	values map[listValue]*listTxn // who appended
	lists  map[string][]string    // the longest that was seen
	final  map[string][]string
}

func finding(a Anomaly, txns []*listTxn, format string, args ...any) *Finding {
	f := &Finding{Anomaly: a, Problem: fmt.Sprintf(format, args...)}
	for _, x := range txns {
		if x != nil && !slices.ContainsFunc(f.Ops, func(o Op) bool { return o.ID == x.op.ID }) {
			f.Ops = append(f.Ops, *x.op)
		}
	}
	return f
}

// index makes the transactions, and takes own appends off what they read.
func (g *listGraph) index(ops []Op) *Finding {
	for i := range ops {
		op := &ops[i]
		if len(op.Steps) == 0 {
			continue
		}
		x := &listTxn{op: op, committed: op.Outcome == OK, appends: map[string][]string{}}
		g.txns = append(g.txns, x)
		for _, s := range op.Steps {
			own := x.appends[s.Key]
			if s.Append != "" {
				v := listValue{s.Key, s.Append}
				if other := g.values[v]; other != nil {
					return finding(Broken, []*listTxn{other, x}, "the history can't be checked: %v was appended twice", s)
				}
				g.values[v] = x
				x.appends[s.Key] = append(own, s.Append)
				continue
			}
			rest := len(s.Read) - len(own)
			if rest < 0 || !slices.Equal(s.Read[rest:], own) {
				if op.Outcome == OK {
					return finding(Broken, []*listTxn{x}, "#%d read %v after it had appended %v", op.ID, s, own)
				}
				continue
			}
			x.reads = append(x.reads, listRead{s.Key, s.Read[:rest]})
		}
	}
	return nil
}

// commits finds out which unknown transactions committed: those whose appends are in
// the end there, or were seen by others.
func (g *listGraph) commits() *Finding {
	saw := func(key string, list []string) {
		for _, v := range list {
			if w := g.values[listValue{key, v}]; w != nil && w.op.Outcome == Unknown {
				w.committed = true
			}
		}
	}
	for _, x := range g.txns {
		for _, r := range x.reads {
			if x.op.Outcome == OK {
				saw(r.key, r.seen)
			}
		}
	}
	for key, list := range g.final {
		saw(key, list)
	}
	g.txns = slices.DeleteFunc(g.txns, func(x *listTxn) bool { return x.op.Outcome == Unknown && !x.committed })
	return nil
}

// versions finds the order of each list's appends, of which all reads show a
// beginning.
func (g *listGraph) versions() *Finding {
	by := map[string]*listTxn{}
	for key, list := range g.final {
		g.lists[key] = list
	}
	for _, x := range g.txns {
		for _, r := range x.reads {
			if x.committed && len(r.seen) > len(g.lists[r.key]) {
				if g.final != nil {
					return finding(Broken, []*listTxn{x}, "#%d read %s=%v, in the end it is %v", x.op.ID, r.key, r.seen, g.final[r.key])
				}
				g.lists[r.key], by[r.key] = r.seen, x
			}
		}
	}
	for _, x := range g.txns {
		for _, r := range x.reads {
			if long := g.lists[r.key]; x.committed && !slices.Equal(long[:len(r.seen)], r.seen) {
				return finding(Broken, []*listTxn{x, by[r.key]}, "two orders of list %s: #%d read %v, yet it is %v", r.key, x.op.ID, r.seen, long)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.lists)) {
		there := map[string]bool{}
		for _, v := range g.lists[key] {
			w := g.values[listValue{key, v}]
			switch {
			case there[v]:
				return finding(Broken, []*listTxn{w, by[key]}, "list %s holds %s twice", key, v)
			case w == nil:
				return finding(Broken, []*listTxn{by[key]}, "list %s holds %s, which nobody appended", key, v)
			}
			there[v] = true
		}
	}
	return nil
}

// lost requires that all that was acknowledged is there in the end, and all of
// a transaction or nothing.
func (g *listGraph) lost() *Finding {
	if g.final == nil {
		return nil
	}
	for _, x := range g.txns {
		if !x.committed {
			continue
		}
		for key, values := range x.appends {
			for _, v := range values {
				if !slices.Contains(g.final[key], v) {
					return finding(Broken, []*listTxn{x}, "the append of %s to %s by #%d (%s) is lost", v, key, x.op.ID, x.op.Outcome)
				}
			}
		}
	}
	return nil
}

// aborted finds values of transactions that failed (G1a).
func (g *listGraph) aborted() *Finding {
	for _, x := range g.txns {
		for _, r := range x.reads {
			for _, v := range r.seen {
				if w := g.values[listValue{r.key, v}]; x.committed && w != nil && w.op.Outcome == Failed {
					return finding(G1a, []*listTxn{w, x}, "#%d read %s of list %s, which #%d appended and did not commit", x.op.ID, v, r.key, w.op.ID)
				}
			}
		}
	}
	for key, list := range g.final {
		for _, v := range list {
			if w := g.values[listValue{key, v}]; w != nil && w.op.Outcome == Failed {
				return finding(G1a, []*listTxn{w}, "list %s holds %s in the end, which #%d appended and did not commit", key, v, w.op.ID)
			}
		}
	}
	return nil
}

// intermediate finds reads that end between two appends of another transaction (G1b).
func (g *listGraph) intermediate() *Finding {
	for _, x := range g.txns {
		for _, r := range x.reads {
			if !x.committed || len(r.seen) == 0 {
				continue
			}
			last := r.seen[len(r.seen)-1]
			w := g.values[listValue{r.key, last}]
			if w == nil || w == x {
				continue
			}
			if all := w.appends[r.key]; all[len(all)-1] != last && w.committed {
				return finding(G1b, []*listTxn{w, x}, "#%d read list %s up to %s, after which #%d appended %v", x.op.ID, r.key, last, w.op.ID, all[slices.Index(all, last)+1:])
			}
		}
	}
	return nil
}
