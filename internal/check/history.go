package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome says how an operation ended, as far as its client knows.
type Outcome uint8

// The outcomes of operations.
const (
	// Unknown: no answer came, or one that leaves open whether the operation took
	// effect.
	Unknown Outcome = iota
	// OK: the operation took effect and its reads are what its client got.
	OK
	// Failed: the operation certainly had no effect.
	Failed
)

var outcomeNames = [...]string{"unknown", "ok", "failed"}

// String returns the name of the outcome.
func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText writes the name of the outcome.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the name of an outcome.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("check: no outcome is called %q", text)
	}
	*o = Outcome(i)
	return nil
}

// TS is a commit or read timestamp. The zero value means that it is not known.
type TS struct {
	Wall    int64  `json:"wall"`
	Logical uint32 `json:"logical,omitempty"`
}

// IsZero reports whether the timestamp is not known.
func (t TS) IsZero() bool { return t == TS{} }

// Less reports whether t is before u.
func (t TS) Less(u TS) bool {
	return t.Wall < u.Wall || t.Wall == u.Wall && t.Logical < u.Logical
}

// Compare returns -1, 0 or +1 as t is before, equal to or after u.
func (t TS) Compare(u TS) int {
	switch {
	case t.Less(u):
		return -1
	case u.Less(t):
		return 1
	}
	return 0
}

// prev returns the largest timestamp before t, which must not be zero.
func (t TS) prev() TS {
	if t.Logical > 0 {
		return TS{t.Wall, t.Logical - 1}
	}
	return TS{t.Wall - 1, ^uint32(0)}
}

func maxTS(a, b TS) TS {
	if a.Less(b) {
		return b
	}
	return a
}

// String prints the two parts of the timestamp.
func (t TS) String() string { return fmt.Sprintf("%d,%d", t.Wall, t.Logical) }

// Access is a key and the value that was read from it or written to it.
type Access struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	// Absent: the key did not exist, or was deleted.
	Absent bool `json:"absent,omitempty"`
}

// String prints key=value, or -key when it is absent.
func (a Access) String() string {
	if a.Absent {
		return "-" + a.Key
	}
	return a.Key + "=" + a.Value
}

// Transfer moves an amount between two accounts of a bank.
type Transfer struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

// Op is one operation, or transaction, as its client saw it.
type Op struct {
	ID     int    `json:"id"` // position in the history, from 1
	Client int    `json:"client"`
	Kind   string `json:"kind"`
	// Invoke and Return are positions in the one order of all beginnings and ends
	// of operations; Return is 0 for an operation that never ended.
	Invoke int64 `json:"invoke"`
	Return int64 `json:"return,omitempty"`
	// Began and Ended tell the time since the history began, for people.
	Began   time.Duration `json:"began"`
	Ended   time.Duration `json:"ended,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Error   string        `json:"error,omitempty"`

	// TS is the commit timestamp, or that of the snapshot of a read-only operation.
	TS TS `json:"ts,omitzero"`
	// Reads are what the operation saw of others, never its own writes.
	Reads    []Access  `json:"reads,omitempty"`
	Writes   []Access  `json:"writes,omitempty"`
	Transfer *Transfer `json:"transfer,omitempty"`
	// Steps are those of a transaction on lists; while it has not ended, its appends.
	Steps []ListStep `json:"steps,omitempty"`
}

// String prints the operation in one line.
func (o Op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d client %d [%d", o.ID, o.Client, o.Invoke)
	if o.Return == 0 {
		b.WriteString(",-]")
	} else {
		fmt.Fprintf(&b, ",%d]", o.Return)
	}
	fmt.Fprintf(&b, " %v", o.Began)
	if o.Return != 0 {
		fmt.Fprintf(&b, "..%v", o.Ended)
	}
	fmt.Fprintf(&b, " %s %s", o.Kind, o.Outcome)
	if !o.TS.IsZero() {
		fmt.Fprintf(&b, " ts %v", o.TS)
	}
	if t := o.Transfer; t != nil {
		fmt.Fprintf(&b, " %s->%s %d", t.From, t.To, t.Amount)
	}
	if len(o.Reads) > 0 {
		fmt.Fprintf(&b, " read %v", o.Reads)
	}
	if len(o.Writes) > 0 {
		fmt.Fprintf(&b, " wrote %v", o.Writes)
	}
	if len(o.Steps) > 0 {
		fmt.Fprintf(&b, " did %v", o.Steps)
	}
	if o.Error != "" {
		fmt.Fprintf(&b, " (%s)", o.Error)
	}
	return b.String()
}

// History records operations as they happen.
type History struct {
	start time.Time
	mu    sync.Mutex
	order int64
	ops   []Op
}

// NewHistory returns an empty history that begins now.
func NewHistory() *History { return &History{start: time.Now()} }

// Pending is an operation that has begun. Its owner fills in what it learns (Op)
// and ends it with Done.
type Pending struct {
	Op Op
	h  *History
}

// Begin records that an operation begins: call it before anything is sent.
// What op says then stands until Done; so an operation that never ends must
// name its writes here.
func (h *History) Begin(op Op) *Pending {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order++
	op.ID, op.Invoke, op.Return = len(h.ops)+1, h.order, 0
	op.Began, op.Ended, op.Outcome = time.Since(h.start), 0, Unknown
	h.ops = append(h.ops, op)
	return &Pending{Op: op, h: h}
}

// Done records how the operation ended: call it after the answer came.
func (p *Pending) Done(outcome Outcome, err error) {
	h := p.h
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order++
	p.Op.Return, p.Op.Ended, p.Op.Outcome = h.order, time.Since(h.start), outcome
	if err != nil {
		p.Op.Error = err.Error()
	}
	h.ops[p.Op.ID-1] = p.Op
}

// Len returns the number of operations begun.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ops)
}

// Ops returns the operations in the order in which they began. Those that have
// not ended are unknown.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ops)
}

// Write writes operations as lines of JSON.
func Write(w io.Writer, ops []Op) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	for i := range ops {
		if err := enc.Encode(&ops[i]); err != nil {
			return fmt.Errorf("check: write operation %d: %w", ops[i].ID, err)
		}
	}
	return b.Flush()
}

// Read reads what Write wrote.
func Read(r io.Reader) ([]Op, error) {
	var ops []Op
	for dec := json.NewDecoder(bufio.NewReader(r)); ; {
		var op Op
		if err := dec.Decode(&op); err == io.EOF {
			return ops, nil
		} else if err != nil {
			return nil, fmt.Errorf("check: operation %d: %w", len(ops)+1, err)
		}
		ops = append(ops, op)
	}
}

// Only returns the operations of the given kinds.
func Only(ops []Op, kinds ...string) []Op {
	return slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return !slices.Contains(kinds, o.Kind) })
}
