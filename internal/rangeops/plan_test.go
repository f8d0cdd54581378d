package rangeops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// TestPlan runs testdata/plan: "range" gives the replicas as node:store, learners with /learner,
// and the store that leads; "plan" has lines like "+voter 4:4", and shows what is done in which
// order, or why not.
func TestPlan(t *testing.T) {
	var desc *kvpb.RangeDescriptor
	var leader int
	kinds := map[string]placement.Kind{
		"+voter": placement.AddVoter, "-voter": placement.RemoveVoter, "+learner": placement.AddLearner, "-learner": placement.RemoveLearner,
	}
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "range" {
			desc = &kvpb.RangeDescriptor{RangeID: 7}
			d.ScanArgs(t, "leader", &leader)
			for _, word := range strings.Fields(d.Input) {
				at, learner := strings.CutSuffix(word, "/learner")
				r := kvpb.ReplicaDescriptor{Type: kvpb.Voter}
				if learner {
					r.Type = kvpb.Learner
				}
				scanTarget(t, d, at, &r.Node, &r.Store)
				desc.Replicas = append(desc.Replicas, r)
			}
			return ""
		}
		var cs []placement.Change
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			c := placement.Change{Kind: kinds[f[0]]}
			scanTarget(t, d, f[1], &c.Node, &c.Store)
			cs = append(cs, c)
		}
		p, err := planReplicas(desc, kvpb.StoreID(leader), cs)
		if err != nil {
			return err.Error() + "\n"
		}
		return p.String()
	})
}

func scanTarget(t *testing.T, d *datadriven.TestData, at string, node *kvpb.NodeID, store *kvpb.StoreID) {
	if _, err := fmt.Sscanf(at, "%d:%d", node, store); err != nil {
		d.Fatalf(t, "%q: %v", at, err)
	}
}

// String shows the steps of a plan.
func (p *replicasPlan) String() string {
	var b strings.Builder
	for _, c := range p.learners {
		fmt.Fprintf(&b, "add learner %d:%d\n", c.Node, c.Store)
	}
	for _, t := range p.await {
		fmt.Fprintf(&b, "wait for %d:%d\n", t.Node, t.Store)
	}
	for i, c := range p.votes {
		sep := " and "
		if i == 0 {
			sep = "at once: "
		}
		fmt.Fprintf(&b, "%s%s %d:%d", sep, map[replica.ChangeKind]string{replica.Promote: "promote", replica.Remove: "remove"}[c.Kind], c.Node, c.Store)
	}
	if len(p.votes) > 0 {
		b.WriteByte('\n')
	}
	for _, c := range p.removed {
		fmt.Fprintf(&b, "remove learner %d:%d\n", c.Node, c.Store)
	}
	return b.String()
}

// TestCovers: what is known of the ranges of a span must be without gaps and overlaps.
func TestCovers(t *testing.T) {
	r := func(start, end string) Info {
		return Info{Desc: kvpb.RangeDescriptor{StartKey: []byte(start), EndKey: []byte(end)}}
	}
	span := keys.Span{Start: []byte("b"), End: []byte("d")}
	for _, c := range []struct {
		list []Info
		ok   bool
	}{
		{[]Info{r("a", "e")}, true},
		{[]Info{r("a", "c"), r("c", "d")}, true},
		{[]Info{r("a", "c")}, false},
		{[]Info{r("c", "d")}, false},
		{[]Info{r("a", "c"), r("b", "e")}, false},
		{[]Info{r("a", "b"), r("c", "e")}, false},
	} {
		if got := covers(c.list, span); got != c.ok {
			t.Errorf("%v: %v", c.list, got)
		}
	}
	if covers(nil, keys.TableDataSpan()) {
		t.Error("nothing covers all tables")
	}
}

// TestMerged: a descriptor of a later generation supersedes an address that is behind, and a
// range that has left the span is not in it.
func TestMerged(t *testing.T) {
	d := func(id kvpb.RangeID, start, end string, generation uint64) kvpb.RangeDescriptor {
		return kvpb.RangeDescriptor{RangeID: id, StartKey: []byte(start), EndKey: []byte(end), Generation: generation}
	}
	recorded := []kvpb.RangeDescriptor{d(3, "m", "z", 4), d(2, "a", "m", 1), d(5, "c", "d", 1)}
	known := map[kvpb.RangeID]Info{
		2: {Desc: d(2, "a", "k", 2), Leads: true}, 3: {Desc: d(3, "p", "z", 3)}, 5: {Desc: d(5, "x", "y", 2)},
	}
	var got []string
	for _, i := range merged(recorded, known, keys.Span{Start: []byte("b"), End: []byte("n")}) {
		got = append(got, fmt.Sprintf("%d %s-%s %v", i.Desc.RangeID, i.Desc.StartKey, i.Desc.EndKey, i.Leads))
	}
	if want := "2 a-k true, 3 m-z false"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
