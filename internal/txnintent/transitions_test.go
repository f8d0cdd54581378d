package txnintent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestTransitions takes a transaction through everything that may happen to it, in every
// order, and compares which statuses that leads to with testdata/transitions. Step asserts
// on the way that each state is one that exists (invariant 1).
func TestTransitions(t *testing.T) {
	datadriven.RunTest(t, "testdata/transitions", func(t *testing.T, d *datadriven.TestData) string {
		found := explore(State{}, map[string]map[string]bool{})
		var out strings.Builder
		for _, line := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&out, "%s → %s\n", line, strings.Join(slices.Sorted(maps.Keys(found[line])), " | "))
		}
		return out.String()
	})
}

// possible is something that may happen: its events, one after the other as long as each
// lets the next.
type possible struct {
	name   string
	events []Event
}

func wall(n int64) hlc.Timestamp { return hlc.Timestamp{WallTime: n} }

func stageAt(ts int64, attempt uint32, keys ...string) possible {
	p := possible{name: "stage"}
	var all [][]byte
	for _, k := range keys {
		all = append(all, []byte(k))
	}
	p.events = []Event{
		{Type: BeginStage, Attempt: attempt},
		{Type: Stage, TS: wall(ts), Attempt: attempt, Writes: len(all) > 0},
		{Type: Written, TS: wall(ts), Attempt: attempt, Keys: all, Applied: true},
	}
	return p
}

func single(name string, e Event) possible { return possible{name, []Event{e}} }

// possibilities are what may happen in a state. The record decides once, and as the intents
// that it counts on say.
func possibilities(s *State) (all []possible) {
	outcomeTS := s.TS
	if s.Kind == Spilled && s.staging() {
		outcomeTS = s.StagedTS
	}
	if !s.Status.Known() || s.Status == Aborted {
		all = append(all, single("decide aborted", Event{Type: Decide, Outcome: Aborted}))
	}
	if s.Status != Aborted && s.Kind != None {
		all = append(all, single("decide committed", Event{Type: Decide, Outcome: Committed, TS: outcomeTS}))
	}
	if s.Status.Decided() {
		return append(all, single("resolve", Event{Type: Resolve}))
	}
	if s.Kind != Spilled {
		all = append(all, stageAt(20, 1, "b"), stageAt(30, 2, "b", "d"))
	} else {
		all = append(all, stageAt(20, 1), stageAt(30, 2))
	}
	if s.Kind == Staged && s.staging() {
		all = append(all, single("commit implicitly", Event{Type: CommitImplicitly}), single("query", Event{Type: Query}))
	}
	if s.Status == ImplicitlyCommitted {
		all = append(all, single("resolve", Event{Type: Resolve, TS: s.TS}))
	}
	return append(all,
		single("spill", Event{Type: Spill, TS: wall(10), Span: kvpb.Span{Key: []byte("a"), EndKey: []byte("e")}}),
		single("commit here", Event{Type: CommitHere}),
		single("push", Event{Type: Push, TS: wall(25)}),
		single("split", Event{Type: Split, Key: []byte("c")}),
		single("split", Event{Type: Split, Key: []byte("a")}),
		single("leave", Event{Type: Leave}),
	)
}

// explore adds the transitions from a state, and from all that it leads to. A later attempt
// does not come after an implicit commit: the gateway knows of that.
func explore(from State, found map[string]map[string]bool) map[string]map[string]bool {
	type visit struct{ State }
	seen, todo := map[string]bool{}, []visit{{from}}
	for len(todo) > 0 {
		s := todo[0].State
		todo = todo[1:]
		for _, p := range possibilities(&s) {
			if s.Status == ImplicitlyCommitted && p.name == "stage" {
				continue
			}
			next := s
			var effects Effects
			for _, e := range p.events {
				res := next.Step(e)
				effects |= res.Effects
				if !res.Has(Propose) {
					break
				}
			}
			line := fmt.Sprintf("%-20s %-8s %s", s.Status, s.Kind, p.name)
			if found[line] == nil {
				found[line] = map[string]bool{}
			}
			to := fmt.Sprintf("%s %s: %s", next.Status, next.Kind, effects)
			if next.Removed {
				to = "removed: " + effects.String()
			}
			found[line][strings.TrimSuffix(to, ": ")] = true
			if key := fmt.Sprintf("%+v", next); !seen[key] && !next.Removed {
				seen[key] = true
				todo = append(todo, visit{next})
			}
		}
	}
	return found
}
