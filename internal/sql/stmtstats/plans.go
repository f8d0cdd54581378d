package stmtstats

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// Limits of the plans that are kept of a fingerprint.
const (
	// MaxPlans is how many plans an Entry keeps: those that were seen last.
	MaxPlans = 3
	// MaxPlanText bounds the text of one, in bytes.
	MaxPlanText = 4000
	// PlanEvery is how often the plan of a fingerprint is looked at. An execution that takes longer than any before is looked
	// at too.
	PlanEvery = 10 * time.Second
)

// Plan is how statements of a fingerprint were run.
type Plan struct {
	// ID is a number of the plan's shape, the same on all nodes.
	ID   string
	Text string // as EXPLAIN shows it, without constants
	// Samples counts the executions that were looked at, Nanos and MaxNanos are what those have taken.
	Samples         int64
	Nanos, MaxNanos int64
	First, Last     int64 // Unix nanoseconds
	// Reads are the tables that it reads, and how.
	Reads []Read `json:",omitempty"`
}

// Read is a table that a plan reads.
type Read struct {
	Table uint64
	// Index is the index that it is read by. Full says that all of the index is read.
	Index uint64
	Full  bool `json:",omitempty"`
	// Equal are the columns that a condition compares with one value each, Range a column that one compares with < and the
	// like, 0 if there is none: what an index would find.
	Equal []uint32 `json:",omitempty"`
	Range uint32   `json:",omitempty"`
	// Rows is how many rows the optimizer expects to read.
	Rows float64
}

// Limits of what is kept of a plan's reads.
const (
	MaxReads   = 8
	MaxColumns = 4
)

// Seen is what Look tells of a plan.
type Seen struct {
	// Shape has what tells a plan from others.
	Shape string
	// Text makes the text that is shown, and Reads the tables; both are called for a plan that is new.
	Text  func() string
	Reads func() []Read
}

// Due reports whether somebody shall look at the plan of an execution, and that it is the caller who does.
func (e *Entry) Due(took time.Duration, ended time.Time) bool {
	at, next := ended.UnixNano(), e.planDue.Load()
	if at < next && int64(took) < e.maxNanos.Load() {
		return false
	}
	return e.planDue.CompareAndSwap(next, at+int64(PlanEvery))
}

// Look notes the plan of an execution.
func (e *Entry) Look(took time.Duration, ended time.Time, s Seen) {
	id := number(s.Shape)
	e.planMu.Lock()
	defer e.planMu.Unlock()
	at := slices.IndexFunc(e.plans, func(p *Plan) bool { return p.ID == id })
	var p *Plan
	if at >= 0 {
		p = e.plans[at]
		e.plans = slices.Delete(e.plans, at, at+1)
	} else {
		p = &Plan{ID: id, Text: cut(s.Text(), MaxPlanText), Reads: bounded(s.Reads()), First: ended.UnixNano()}
		if len(e.plans) >= MaxPlans {
			e.plans = slices.Delete(e.plans, 0, 1)
		}
	}
	e.plans = append(e.plans, p)
	p.Samples++
	p.Nanos += int64(took)
	p.MaxNanos = max(p.MaxNanos, int64(took))
	p.Last = ended.UnixNano()
}

// plansOf returns copies of the plans, the last one first.
func (e *Entry) plansOf() []Plan {
	e.planMu.Lock()
	defer e.planMu.Unlock()
	out := make([]Plan, 0, len(e.plans))
	for _, p := range slices.Backward(e.plans) {
		out = append(out, *p)
	}
	return out
}

// lastPlan returns the id of the plan that was seen last, "" if none was.
func (e *Entry) lastPlan() string {
	e.planMu.Lock()
	defer e.planMu.Unlock()
	if len(e.plans) == 0 {
		return ""
	}
	return e.plans[len(e.plans)-1].ID
}

// bounded keeps the limits of reads.
func bounded(reads []Read) []Read {
	reads = reads[:min(len(reads), MaxReads)]
	for i := range reads {
		reads[i].Equal = reads[i].Equal[:min(len(reads[i].Equal), MaxColumns)]
	}
	return reads
}

// cut returns the beginning of a text, of at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	n := most - len(more)
	for n > 0 && text[n]&0xc0 == 0x80 { // within a character
		n--
	}
	return text[:n] + more
}

// number returns a number of a text, the same on all nodes.
func number(text string) string { return strconv.FormatUint(hash(text), 16) }

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // which never fails
	return h.Sum64()
}
