package check

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// maxKeyOps limits the operations on one key that Linearizable takes on.
const maxKeyOps = 20_000

// defaultBudget is the time for one key unless Linearizable names another.
const defaultBudget = 10 * time.Second

// Linearizable checks that operations on single keys took effect one at a time,
// each between its beginning and its end. An operation has at most one
// read and one write, of the same key; with both it is atomic: the write happens
// only if the key held what was read. An unknown operation may take effect at any
// time after it began, or never; one that failed never does.
//
// Call it outside of a synctest bubble: virtual time stands still while it
// computes, and its budget never ends. It does not notice violations across keys.
type Linearizable struct {
	Initial map[string]string
	Budget  time.Duration // per key, real time; 0: ten seconds
}

// register is what a key holds.
type register struct {
	value  string
	absent bool
}

func held(a Access) register {
	if a.Absent {
		return register{absent: true}
	}
	return register{value: a.Value}
}

// step is the sequential register; input is the *Op.
func step(state, input, _ any) (bool, any) {
	op, now := input.(*Op), state.(register)
	if len(op.Reads) > 0 && held(op.Reads[0]) != now {
		return op.Outcome == Unknown, now // an unknown one then has no effect
	}
	if len(op.Writes) > 0 {
		now = held(op.Writes[0])
	}
	return true, now
}

func (c Linearizable) model(key string) porcupine.Model {
	initial := register{absent: true}
	if v, ok := c.Initial[key]; ok {
		initial = register{value: v}
	}
	return porcupine.Model{
		Init:              func() any { return initial },
		Step:              step,
		DescribeOperation: func(input, _ any) string { return input.(*Op).String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// Check returns nil, a [Violation] or [Undecided].
func (c Linearizable) Check(ops []Op) error {
	keys, err := byKey(ops)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := c.checkKey(key, keys[key]); err != nil {
			return err
		}
	}
	return nil
}

func (c Linearizable) checkKey(key string, ops []*Op) error {
	if len(ops) > maxKeyOps {
		return &Undecided{"linearizable", fmt.Sprintf("%d operations on key %s, the limit is %d", len(ops), key, maxKeyOps)}
	}
	model := c.model(key)
	budget := c.Budget
	if budget == 0 {
		budget = defaultBudget
	}
	switch porcupine.CheckEventsTimeout(model, events(ops), budget) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return &Undecided{"linearizable", fmt.Sprintf("%d operations on key %s take more than %v", len(ops), key, budget)}
	}
	bad := shortest(model, ops, budget)
	last := bad[len(bad)-1]
	v := &Violation{"linearizable", fmt.Sprintf("key %s: no order of the operations explains what #%d saw; it and those before it, newest first",
		key, last.ID), nil}
	for i := len(bad) - 1; i >= 0; i-- {
		v.Ops = append(v.Ops, *bad[i])
	}
	return v
}

// Visualize writes a web page that shows the operations on a key and how far
// they can be explained.
func (c Linearizable) Visualize(w io.Writer, ops []Op, key string) error {
	keys, err := byKey(ops)
	if err != nil {
		return err
	}
	model := c.model(key)
	_, info := porcupine.CheckEventsVerbose(model, events(keys[key]), defaultBudget)
	return porcupine.Visualize(model, info, w)
}

// byKey sorts out the operations that say something about a key.
func byKey(ops []Op) (map[string][]*Op, error) {
	keys := map[string][]*Op{}
	for i := range ops {
		op := &ops[i]
		access := append(slices.Clone(op.Reads), op.Writes...)
		if len(op.Reads) > 1 || len(op.Writes) > 1 || len(access) == 2 && access[0].Key != access[1].Key {
			return nil, &Undecided{"linearizable", fmt.Sprintf("operation #%d is not one on a single key", op.ID)}
		}
		if len(access) == 0 || op.Outcome == Failed || op.Outcome == Unknown && len(op.Writes) == 0 {
			continue
		}
		keys[access[0].Key] = append(keys[access[0].Key], op)
	}
	for k, ops := range keys {
		keys[k] = unseenDropped(ops)
	}
	return keys, nil
}

// unseenDropped leaves out the unknown writes of values that no one saw: if the
// rest can be explained with them, then without them too. Each would double the
// work.
func unseenDropped(ops []*Op) []*Op {
	seen := map[register]bool{}
	for _, op := range ops {
		for _, r := range op.Reads {
			seen[held(r)] = true
		}
	}
	return slices.DeleteFunc(ops, func(op *Op) bool {
		return op.Outcome == Unknown && !seen[held(op.Writes[0])]
	})
}

// events lists beginnings and ends in their order; what is unknown ends last.
func events(ops []*Op) []porcupine.Event {
	type at struct {
		order int64
		event porcupine.Event
	}
	var list []at
	end := int64(1) << 62
	for i, op := range ops {
		ret := op.Return
		if op.Outcome == Unknown {
			end++
			ret = end
		}
		list = append(list,
			at{op.Invoke, porcupine.Event{ClientId: op.Client, Kind: porcupine.CallEvent, Value: op, Id: i}},
			at{ret, porcupine.Event{ClientId: op.Client, Kind: porcupine.ReturnEvent, Value: op, Id: i}})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].order < list[j].order })
	out := make([]porcupine.Event, len(list))
	for i := range list {
		out[i] = list[i].event
	}
	return out
}

// shortest returns the operations up to the first end of one at which they
// can't be explained any more; that one is the last. Those that had not ended
// by then count as unknown.
func shortest(model porcupine.Model, ops []*Op, budget time.Duration) []*Op {
	ends := slices.DeleteFunc(slices.Clone(ops), func(op *Op) bool { return op.Outcome == Unknown })
	slices.SortFunc(ends, func(a, b *Op) int { return int(a.Return - b.Return) })
	upTo := func(n int) []*Op {
		var out []*Op
		cut := ends[n].Return
		for _, op := range ops {
			switch {
			case op.Invoke > cut:
			case op.Return <= cut || op.Outcome == Unknown:
				out = append(out, op)
			case len(op.Writes) > 0:
				open := *op
				open.Outcome, open.Return = Unknown, 0
				out = append(out, &open)
			}
		}
		return out
	}
	n := sort.Search(len(ends)-1, func(n int) bool {
		return porcupine.CheckEventsTimeout(model, events(upTo(n)), budget) == porcupine.Illegal
	})
	bad := upTo(n)
	slices.SortStableFunc(bad, func(a, b *Op) int { return int(a.Invoke - b.Invoke) })
	i := slices.Index(bad, ends[n])
	return append(slices.Delete(bad, i, i+1), ends[n])
}
