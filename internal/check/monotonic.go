package check

import (
	"cmp"
	"fmt"
	"slices"
)

// MonotonicReads checks that nobody who reads lists goes back in time: what a client has
// read of a list, or appended to it, each of its later transactions finds when it reads
// that list.
//
// It looks at operations with Steps that were acknowledged, and takes a list for newer
// the longer it is: that all reads of a list agree on its order is for [Lists] to say.
// It does not notice an old value that nobody has seen to be old, nor a list that was read
// only once.
type MonotonicReads struct {
	// Everybody also requires it across clients: what one has read or appended, all
	// transactions find that begin after the answer. It is what linearizability means
	// for a list.
	Everybody bool
}

// seenList is the most that is known of a list at a moment of the history.
type seenList struct {
	list  []string
	by    *Op     // who read it
	acked []acked // appends, in the order of their acknowledgements
}

type acked struct {
	value string
	by    *Op
}

// listOf names a list among what one client, or all, know.
type listOf struct {
	client int
	key    string
}

func (c MonotonicReads) of(op *Op, key string) listOf {
	if c.Everybody {
		return listOf{-1, key}
	}
	return listOf{op.Client, key}
}

// expected is what was known of a list when a transaction began.
type expected struct {
	list  []string
	by    *Op
	acked int
}

// Check returns nil or a [Violation].
func (c MonotonicReads) Check(ops []Op) error {
	type event struct {
		at  int64
		op  *Op
		end bool
	}
	var events []event
	for i := range ops {
		if op := &ops[i]; op.Outcome == OK && len(op.Steps) > 0 {
			events = append(events, event{op.Invoke, op, false}, event{op.Return, op, true})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	known := map[listOf]*seenList{}
	began := map[*Op]map[string]expected{}
	for _, e := range events {
		if !e.end {
			began[e.op] = c.expect(known, e.op)
			continue
		}
		if err := c.compare(known, began[e.op], e.op); err != nil {
			return err
		}
		delete(began, e.op)
		c.learn(known, e.op)
	}
	return nil
}

// expect notes what an operation that begins must find in the lists that it reads.
func (c MonotonicReads) expect(known map[listOf]*seenList, op *Op) map[string]expected {
	out := map[string]expected{}
	for _, s := range op.Steps {
		if k := known[c.of(op, s.Key)]; k != nil && s.Append == "" {
			out[s.Key] = expected{k.list, k.by, len(k.acked)}
		}
	}
	return out
}

// compare compares what an operation read with what it had to find.
func (c MonotonicReads) compare(known map[listOf]*seenList, want map[string]expected, op *Op) error {
	for _, s := range op.Steps {
		w, ok := want[s.Key]
		if s.Append != "" || !ok {
			continue
		}
		if len(s.Read) < len(w.list) {
			return &Violation{"monotonic reads", fmt.Sprintf("#%d read %v, of which %v was seen before it began", op.ID, s, w.list), []Op{*w.by, *op}}
		}
		k := known[c.of(op, s.Key)]
		for _, a := range k.acked[:w.acked] {
			if !slices.Contains(s.Read, a.value) {
				return &Violation{"monotonic reads", fmt.Sprintf("#%d read %v, which lacks %s, acknowledged before it began", op.ID, s, a.value), []Op{*a.by, *op}}
			}
		}
	}
	return nil
}

// learn takes in what an operation that has ended saw and did.
func (c MonotonicReads) learn(known map[listOf]*seenList, op *Op) {
	for _, s := range op.Steps {
		at := c.of(op, s.Key)
		k := known[at]
		if k == nil {
			k = &seenList{}
			known[at] = k
		}
		switch {
		case s.Append != "":
			k.acked = append(k.acked, acked{s.Append, op})
		case len(s.Read) > len(k.list):
			k.list, k.by = s.Read, op
		}
	}
}
