package txnintent

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestScripts runs the stories in testdata, a file each. A line of a "run" block is one step:
//
//	<range> <txn> <event> <arguments>   an event at the leader of a range
//	<range> lead, split, read, ...      the leader itself, or a request of another transaction
//	record <txn> <what>                 the transaction's record
//
// The output repeats the line with what follows: effects, replies, the state of the
// transaction, and who is woken. Transactions have names of one letter, timestamps are
// numbers, and what is durable is what "engine" lines say.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
		if strings.Contains(file, "fuzz") || strings.HasSuffix(file, "transitions") {
			t.Skip()
		}
		var s *script
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				s = &script{t: t, ranges: map[string]*scriptRange{}, records: map[string]*Record{}}
				return ""
			case "run":
				return s.run(d.Input)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

type script struct {
	t       *testing.T
	ranges  map[string]*scriptRange
	records map[string]*Record
	waits   []scriptWait
}

type scriptRange struct {
	table  Table
	known  map[string]*Txn // also those that were removed
	engine map[string]Intent
}

type scriptWait struct {
	name    string
	changed <-chan struct{}
}

func (s *script) run(input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		f := strings.Fields(line)
		var result string
		if f[0] == "record" {
			result = s.record(f[1], f[2], arguments(f[3:]))
		} else {
			result = s.at(f[0], f[1:])
		}
		fmt.Fprintf(&out, "%s\n", line)
		for _, r := range append([]string{result}, s.woken()...) {
			if r != "" {
				fmt.Fprintf(&out, "  %s\n", r)
			}
		}
	}
	return out.String()
}

// woken returns who does not wait any more.
func (s *script) woken() (names []string) {
	s.waits = slices.DeleteFunc(s.waits, func(w scriptWait) bool {
		select {
		case <-w.changed:
			names = append(names, w.name+" looks again")
			return true
		default:
			return false
		}
	})
	return names
}

// args are the arguments of a line: name=value, or plain words in turn.
type args struct {
	named map[string]string
	plain []string
}

func arguments(fields []string) args {
	a := args{named: map[string]string{}}
	for _, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok {
			a.named[k] = v
		} else {
			a.plain = append(a.plain, f)
		}
	}
	return a
}

func (a args) word(i int) string {
	if i < len(a.plain) {
		return a.plain[i]
	}
	return ""
}

func (a args) has(word string) bool { return slices.Contains(a.plain, word) }
func (a args) ts(name string) hlc.Timestamp {
	return at(a.named[name])
}
func (a args) attempt() uint32 {
	n, _ := strconv.Atoi(a.named["attempt"])
	return uint32(n)
}

func (a args) keys() (keys [][]byte) {
	if a.named["keys"] == "" {
		return nil
	}
	for _, k := range strings.Split(a.named["keys"], ",") {
		keys = append(keys, []byte(k))
	}
	return keys
}

// at reads a timestamp, 20 or 20.1.
func at(s string) (ts hlc.Timestamp) {
	wall, logical, _ := strings.Cut(s, ".")
	ts.WallTime, _ = strconv.ParseInt(wall, 10, 64)
	n, _ := strconv.Atoi(logical)
	ts.Logical = uint32(n)
	return ts
}

func idOf(name string) kvpb.TxnID { return kvpb.TxnID{Lo: uint64(name[0])} }

func nameOf(x *Txn) string { return string(rune(x.ID().Lo)) }

var began = time.Unix(1000, 0)

func (s *script) at(name string, f []string) string {
	r := s.ranges[name]
	if r == nil {
		r = &scriptRange{known: map[string]*Txn{}, engine: map[string]Intent{}}
		s.ranges[name] = r
	}
	a := arguments(f[1:])
	switch f[0] {
	case "engine": // an intent lies in the engine, or does not any more
		if a.word(0) == "clear" {
			r.engine = map[string]Intent{}
			return ""
		}
		r.engine[a.word(1)] = Intent{Txn: idOf(a.word(0)), TS: a.ts("ts"), Staged: a.attempt() > 0, Attempt: a.attempt(), Anchor: []byte("a")}
		return ""
	case "lead":
		return s.lead(r, a)
	case "split":
		r.table.Split([]byte(a.word(0)))
		return r.show()
	case "read":
		return s.read(r, a)
	case "refresh":
		changed := r.table.Changed(idOf(a.word(0)), kvpb.Span{Key: []byte(a.word(1))}, a.ts("from"), a.ts("to"))
		return map[bool]string{true: "must restart", false: "unchanged"}[changed]
	case "note-read":
		r.table.NoteRead(kvpb.Span{Key: []byte(a.word(0))}, a.ts("ts"))
		return r.show()
	case "lock":
		over, e := r.table.Holders(idOf(a.word(0)), []byte(a.word(1)), a.has("undecided"))
		return strings.TrimSpace("behind " + cmp.Or(names(over), "nobody") + " " + e.String())
	case "latest":
		v, moved := r.table.Latest([]byte(a.word(0)))
		return fmt.Sprintf("passes over %s, moved %s", timestamps(v), moves(moved))
	case "collect":
		return "versions may go up to " + short(r.table.Protect(a.ts("below")))
	case "close":
		return "closed below " + short(r.table.LeastStaging().Min(a.ts("ts")))
	case "show":
		return r.show()
	}
	return s.event(r, f[0], f[1], arguments(f[2:]))
}

func names(all []*Txn) string {
	var out []string
	for _, x := range all {
		out = append(out, nameOf(x))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func timestamps(v View) string {
	var out []string
	for _, ts := range v {
		out = append(out, short(ts))
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, " "), "nothing")
}

func moves(m map[hlc.Timestamp]hlc.Timestamp) string {
	var out []string
	for from, to := range m {
		out = append(out, short(from)+"→"+short(to))
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, " "), "nothing")
}

func (r *scriptRange) show() string {
	var out []string
	for _, x := range r.table.All() {
		out = append(out, nameOf(x)+": "+r.table.State(x).String())
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, "\n  "), "no intents")
}

// lead has another replica become the range's leader, which loads what the engine has.
func (s *script) lead(r *scriptRange, a args) string {
	l := NewLoader(began)
	var keys []string
	for k := range r.engine {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		l.Add([]byte(k), r.engine[k])
	}
	records := map[kvpb.TxnID]*Record{}
	if a.has("with-records") {
		for _, rec := range s.records {
			records[rec.ID] = rec
		}
	}
	r.table.Replace(l.Finish(records, a.ts("read")))
	for _, x := range r.table.All() {
		r.known[nameOf(x)] = x
	}
	return r.show()
}

func (s *script) read(r *scriptRange, a args) string {
	end := []byte(a.named["end"])
	v, w := r.table.Read(idOf(a.word(0)), []byte(a.word(1)), end, a.ts("ts"))
	if w == nil {
		return "passes over " + timestamps(v)
	}
	s.waits = append(s.waits, scriptWait{a.word(0), w.Changed})
	return strings.TrimSpace("waits for " + nameOf(w.Txn) + ": " + w.Effects.String())
}

// eventTypes are the events by their names in scripts.
var eventTypes = map[string]EventType{
	"spill": Spill, "begin": BeginStage, "stage": Stage, "written": Written, "commit-here": CommitHere, "commit-implicitly": CommitImplicitly,
	"query": Query, "leave": Leave, "decide": Decide, "resolve": Resolve, "push": Push, "defer": Defer, "wait": Wait, "end-wait": EndWait,
	"contend": Contend, "push-again": PushAgain,
}

func (s *script) event(r *scriptRange, name, event string, a args) string {
	x := r.known[name]
	if x == nil || r.table.State(x).Removed {
		var err error
		if x, err = r.table.getOrAdd(idOf(name), []byte("a"), began); err != nil {
			return err.Error()
		}
		r.known[name] = x
	}
	e := Event{
		Type: eventTypes[event], TS: a.ts("ts"), Attempt: a.attempt(), Keys: a.keys(), Least: a.ts("least"), MinSpilled: a.ts("least"),
		Writes: a.has("writes"), Recorded: a.has("recorded"), Applied: event == "written" && !a.has("ambiguous"),
	}
	if span := a.named["span"]; span != "" {
		from, to, _ := strings.Cut(span, "-")
		e.Span = kvpb.Span{Key: []byte(from), EndKey: keys.Next([]byte(to))}
	}
	for i, n := range statusNames {
		if a.has(n) {
			e.Outcome = Status(i)
		}
	}
	res := r.table.Step(x, e)
	reply := res.String()
	if !res.TS.IsEmpty() {
		reply += " " + short(res.TS)
	}
	return strings.TrimPrefix(reply+"; ", "; ") + r.table.State(x).String()
}

// record is what a request makes of a transaction's record.
func (s *script) record(name, what string, a args) string {
	rec := s.records[name]
	if rec == nil {
		rec = NewRecord(RecordState{TxnRecord: TxnRecord{ID: idOf(name)}, Since: began})
		s.records[name] = rec
	}
	var step RecordStep
	switch what {
	case "staged", "pending", "committed", "aborted":
		rec.Store(TxnRecord{Status: recordStatus(what), TS: a.ts("ts"), Attempt: a.attempt(), Keys: a.keys()}, began)
		return rec.show()
	case "ambiguous":
		rec.Presence = Ambiguous
		return rec.show()
	case "deleted":
		rec.Presence = Absent
		return rec.show()
	case "push":
		step = rec.Push(Pusher{
			TS: a.ts("ts"), Waited: millis(a, "waited"), RecordAge: millis(a, "age"), GatewayAlive: !a.has("dead"), AbortAfter: millis(a, "abandon"), Ended: ended(a),
		})
	case "commit", "abort", "forget":
		action := map[string]kvpb.EndAction{"commit": kvpb.EndCommit, "abort": kvpb.EndAbort, "forget": kvpb.EndForget}[what]
		step = rec.End(&kvpb.EndTxnRequest{Action: action, TS: a.ts("ts"), Attempt: a.attempt(), Since: a.ts("since")}, ended(a), a.has("forgotten"))
	case "stage":
		effects, ts := rec.BeginStage(a.attempt())
		if e := ended(a); e.Known {
			effects, ts = e.BeginStage()
		}
		return strings.TrimSuffix(effects.String()+" "+short(ts), " "+short(hlc.Timestamp{}))
	case "sweep":
		alive := !a.has("dead")
		return fmt.Sprintf("%v, tidies: %v", rec.Sweep(alive, millis(a, "age"), 5*time.Second), rec.Tidies(alive, a.has("resolved"), millis(a, "age")))
	}
	return step.show()
}

func millis(a args, name string) time.Duration {
	n, _ := strconv.Atoi(a.named[name])
	return time.Duration(n) * time.Millisecond
}

func ended(a args) (e Ended) {
	if ts := a.named["remembered"]; ts != "" {
		return Ended{Known: true, Aborted: ts == "aborted", TS: at(ts)}
	}
	return e
}

func recordStatus(name string) kvpb.TxnStatus {
	return map[string]kvpb.TxnStatus{"pending": kvpb.TxnPending, "staged": kvpb.TxnStaging, "committed": kvpb.TxnCommitted, "aborted": kvpb.TxnAborted}[name]
}

func (r *RecordState) show() string {
	if r.Presence != Stored {
		return map[Presence]string{Absent: "no record", Ambiguous: "ambiguous"}[r.Presence]
	}
	return fmt.Sprintf("record: %v@%s keys=%s", statusNames[outcomes[r.Status]], short(r.TS), bytes.Join(r.Keys, []byte(",")))
}

func (s RecordStep) show() string {
	out := s.Action.String()
	if s.Action == Answer {
		out += " " + outcomes[s.Status].String()
	}
	if !s.TS.IsEmpty() {
		out += "@" + short(s.TS)
	}
	if s.PushSucceeded {
		out += ", above the read"
	}
	if !s.MinCommitTS.IsEmpty() {
		out += ", commits at " + short(s.MinCommitTS) + " at the lowest"
	}
	return out
}
