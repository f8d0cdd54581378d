package check

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// listOp makes a transaction of steps like "x+1" and "x=1,2".
func listOp(outcome Outcome, steps string) Op {
	op := Op{Kind: ListTxn, Outcome: outcome}
	for _, f := range strings.Fields(steps) {
		if key, value, ok := strings.Cut(f, "+"); ok {
			op.Steps = append(op.Steps, ListStep{Key: key, Append: value})
			continue
		}
		key, list, _ := strings.Cut(f, "=")
		s := ListStep{Key: key}
		if list != "" {
			s.Read = strings.Split(list, ",")
		}
		op.Steps = append(op.Steps, s)
	}
	return op
}

var plantedLists = []struct {
	name string
	ops  []Op
	want []Anomaly // all that are found
	text string    // of the first one
}{
	{"serial", []Op{
		listOp(OK, "x+1 y+1"), listOp(OK, "x=1 y=1 x+2"), listOp(Failed, "x+9"), listOp(OK, "x=1,2 y=1"),
	}, nil, ""},
	{"dirty write", []Op{ // in x one comes first, in y the other
		listOp(OK, "x+1 y+1"), listOp(OK, "x+2 y+2"), listOp(OK, "x=1,2"), listOp(OK, "y=2,1"),
	}, []Anomaly{G0}, "#1 -ww x→ #2 -ww y→ #1"},
	{"aborted read", []Op{listOp(Failed, "x+1"), listOp(OK, "x=1")}, []Anomaly{G1a}, "did not commit"},
	{"aborted read at an inner place", []Op{
		listOp(Failed, "x+1"), listOp(OK, "x+2"), listOp(OK, "x=1,2"),
	}, []Anomaly{G1a}, "did not commit"},
	{"intermediate read", []Op{
		listOp(OK, "x+1 x+2"), listOp(OK, "x=1"), listOp(OK, "x=1,2"),
	}, []Anomaly{G1b, GSingle}, "after which #1 appended [2]"},
	{"circular information flow", []Op{
		listOp(OK, "x+1 y=2"), listOp(OK, "y+2 x=1"),
	}, []Anomaly{G1c}, "#1 -wr x→ #2 -wr y→ #1"},
	{"circular flow with a write", []Op{
		listOp(OK, "x+1 y=2"), listOp(OK, "x+3 y+2"), listOp(OK, "x=1,3"),
	}, []Anomaly{G1c}, "-ww x→"},
	{"lost update", []Op{
		listOp(OK, "x+1"), listOp(OK, "x=1 x+2"), listOp(OK, "x=1 x+3"), listOp(OK, "x=1,2,3"),
	}, []Anomaly{GSingle}, "#3 -rw x→ #2 -ww x→ #3"},
	{"read skew", []Op{
		listOp(OK, "x+1 y+1"), listOp(OK, "x= y=1"),
	}, []Anomaly{GSingle}, "#2 -rw x→ #1 -wr y→ #2"},
	{"unrepeatable read", []Op{
		listOp(OK, "x+1"), listOp(OK, "x= x=1"),
	}, []Anomaly{GSingle}, "#2 -rw x→ #1 -wr x→ #2"},
	{"long fork", []Op{ // two readers disagree on which of two appends came first
		listOp(OK, "x+1"), listOp(OK, "y+1"), listOp(OK, "x=1 y="), listOp(OK, "x= y=1"),
	}, []Anomaly{GNonadjacent}, "-rw y→ #2 -wr y→"},
	{"write skew", []Op{
		listOp(OK, "x= y+1"), listOp(OK, "y= x+1"), listOp(OK, "x=1 y=1"),
	}, []Anomaly{G2}, "-rw x→ #2 -rw y→ #1"},
	{"unknown and seen", []Op{
		listOp(Unknown, "x= y+1"), listOp(OK, "y= x+1"), listOp(OK, "x=1 y=1"),
	}, []Anomaly{G2}, "-rw"},
	{"unknown and not seen", []Op{
		listOp(Unknown, "x= y+1"), listOp(OK, "y= x+1"), listOp(OK, "x=1 y="),
	}, nil, ""},
	{"two orders", []Op{listOp(OK, "x+1"), listOp(OK, "x+2"), listOp(OK, "x=1,2"), listOp(OK, "x=2")}, []Anomaly{Broken}, "two orders"},
	{"twice", []Op{listOp(OK, "x+1"), listOp(OK, "x=1,1")}, []Anomaly{Broken}, "holds 1 twice"},
	{"made up", []Op{listOp(OK, "x+1"), listOp(OK, "x=1,7")}, []Anomaly{Broken}, "nobody appended"},
	{"own append not seen", []Op{listOp(OK, "x+1 x=")}, []Anomaly{Broken}, "after it had appended [1]"},
	{"unusable", []Op{listOp(OK, "x+1"), listOp(OK, "x+1")}, []Anomaly{Broken}, "can't be checked"},
}

func TestPlantedLists(t *testing.T) {
	for _, p := range plantedLists {
		t.Run(p.name, func(t *testing.T) {
			found, err := Lists{Level: Serializable}.Anomalies(numbered(p.ops))
			if err != nil {
				t.Fatal(err)
			}
			var got []Anomaly
			for _, f := range found {
				got = append(got, f.Anomaly)
			}
			if !slices.Equal(got, p.want) || len(found) > 0 && !strings.Contains(found[0].Problem, p.text) {
				t.Fatalf("found %v, want %v with %q: %+v", got, p.want, p.text, found)
			}
		})
	}
}

// TestLevels: which level allows which anomaly.
func TestLevels(t *testing.T) {
	for a, want := range map[Anomaly]string{
		Broken: "", G0: "", G1a: "", G1b: "", G1c: "", GSingle: "RC", GNonadjacent: "RC", G2: "RC SI",
	} {
		got := ""
		for l, name := range map[Level]string{ReadCommitted: "RC", Snapshot: " SI", Serializable: " SER"} {
			if l.Allows(a) != strings.Contains(want, strings.TrimSpace(name)) {
				got += " " + l.String()
			}
		}
		if got != "" {
			t.Errorf("%s is allowed, or not, wrongly by%s", a, got)
		}
	}
	skew := numbered([]Op{listOp(OK, "x= y+1"), listOp(OK, "y= x+1"), listOp(OK, "x=1 y=1")})
	if err := (Lists{Level: Snapshot}).Check(skew); err != nil {
		t.Error(err)
	}
	var v *Violation
	if err := (Lists{Level: Serializable}).Check(skew); !errors.As(err, &v) || len(v.Ops) != 2 {
		t.Errorf("write skew under SERIALIZABLE: %v", err)
	}
}

// TestFinalLists: what was acknowledged is there in the end, what failed is not.
func TestFinalLists(t *testing.T) {
	ops := numbered([]Op{listOp(OK, "x+1 y+1"), listOp(Unknown, "x+2 y+2"), listOp(Failed, "x+3")})
	for text, final := range map[string]map[string][]string{
		"":                              {"x": {"1", "2"}, "y": {"1", "2"}},
		"of 1 to y by #1 (ok) is lost":  {"x": {"1"}},
		"2 to y by #2 (unknown) is los": {"x": {"1", "2"}, "y": {"1"}},
		"did not commit":                {"x": {"1", "3"}, "y": {"1"}},
		"two orders":                    {"x": {"2", "1"}, "y": {"1", "2"}},
	} {
		more := slices.Clone(ops)
		if text == "two orders" {
			more = numbered(append(more, listOp(OK, "x=1")))
		}
		err := Lists{Level: ReadCommitted, Final: final}.Check(more)
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("%v: %v, want %q", final, err, text)
		}
	}
}

// engine is a small database of lists with an isolation level, whose transactions are
// interleaved step by step.
type engine struct {
	level Level
	lists map[string][]string // committed
	locks map[string]*session
	rng   *rand.Rand
}

// session is a transaction of an engine.
type session struct {
	op       Op
	snapshot map[string][]string
	seen     map[string]int // length of what was read, by key
	todo     int
}

func (e *engine) view(s *session, key string) []string {
	base := e.lists[key]
	if e.level != ReadCommitted {
		base = s.snapshot[key]
	}
	out := slices.Clone(base)
	for _, st := range s.op.Steps {
		if st.Key == key && st.Append != "" {
			out = append(out, st.Append)
		}
	}
	return out
}

// step does one step; false: the transaction has to wait or was aborted.
func (e *engine) step(s *session, value string) (ok, aborted bool) {
	key := string("xyz"[e.rng.IntN(3)])
	if e.rng.IntN(2) == 0 {
		s.seen[key] = len(e.lists[key])
		s.op.Steps = append(s.op.Steps, ListStep{Key: key, Read: e.view(s, key)})
		return true, false
	}
	if owner := e.locks[key]; owner != nil && owner != s {
		return false, e.rng.IntN(4) == 0 // or it would wait for ever
	}
	if e.level != ReadCommitted && len(e.lists[key]) != len(s.snapshot[key]) {
		return false, true
	}
	e.locks[key] = s
	s.op.Steps = append(s.op.Steps, ListStep{Key: key, Append: value})
	return true, false
}

// end commits, if the level lets the transaction, and gives its locks up.
func (e *engine) end(s *session, aborted bool) Op {
	s.op.Outcome = Failed
	if e.level == Serializable {
		for key := range s.seen {
			aborted = aborted || len(e.lists[key]) != len(s.snapshot[key])
		}
	}
	if !aborted {
		s.op.Outcome = OK
		for _, st := range s.op.Steps {
			if st.Append != "" {
				e.lists[st.Key] = append(slices.Clip(e.lists[st.Key]), st.Append)
			}
		}
		if e.rng.IntN(20) == 0 {
			s.op.Outcome = Unknown
		}
	}
	for key, owner := range e.locks {
		if owner == s {
			delete(e.locks, key)
		}
	}
	return s.op
}

func (e *engine) run(txns int) []Op {
	var ops []Op
	open := make([]*session, 4)
	values := 0
	for len(ops) < txns {
		i := e.rng.IntN(len(open))
		if open[i] == nil {
			open[i] = &session{op: Op{Kind: ListTxn}, snapshot: map[string][]string{}, seen: map[string]int{}, todo: 1 + e.rng.IntN(4)}
			for k, l := range e.lists {
				open[i].snapshot[k] = l
			}
			continue
		}
		values++
		ok, aborted := e.step(open[i], fmt.Sprint(values))
		if ok {
			open[i].todo--
		}
		if aborted || open[i].todo == 0 {
			if op := e.end(open[i], aborted); len(op.Steps) > 0 {
				ops = append(ops, op)
			}
			open[i] = nil
		}
	}
	return numbered(ops)
}

// TestListsOfEngines: histories of an engine pass at its own level, and show at the level
// above that they are not of it.
func TestListsOfEngines(t *testing.T) {
	for _, level := range []Level{ReadCommitted, Snapshot, Serializable} {
		caught := 0
		const runs = 40
		for seed := range uint64(runs) {
			e := &engine{level: level, lists: map[string][]string{}, locks: map[string]*session{}, rng: rand.New(rand.NewPCG(seed, 7))}
			ops := e.run(200)
			if err := (Lists{Level: level, Final: e.lists}).Check(ops); err != nil {
				t.Fatalf("seed %d, an engine with %s: %v", seed, level, err)
			}
			if err := (Lists{Level: min(level+1, Serializable), Final: e.lists}).Check(ops); err != nil {
				caught++
			}
		}
		if level != Serializable && caught < runs/2 {
			t.Errorf("of %d histories of %s only %d show that it is not the next level", runs, level, caught)
		}
	}
}

// TestListsScale checks a history as long as those of long runs.
func TestListsScale(t *testing.T) {
	e := &engine{level: Snapshot, lists: map[string][]string{}, locks: map[string]*session{}, rng: rand.New(rand.NewPCG(1, 7))}
	var ops []Op
	final := map[string][]string{}
	for part := range 40 { // lists are short lived, as their readers make sure
		e.lists, e.locks = map[string][]string{}, map[string]*session{}
		for _, op := range e.run(500) {
			op.Steps = slices.Clone(op.Steps)
			for i := range op.Steps {
				op.Steps[i].Key = fmt.Sprint(part, op.Steps[i].Key)
			}
			ops = append(ops, op)
		}
		for k, l := range e.lists {
			final[fmt.Sprint(part, k)] = l
		}
	}
	if err := (Lists{Level: Snapshot, Final: final}).Check(numbered(ops)); err != nil {
		t.Fatal(err)
	}
}
