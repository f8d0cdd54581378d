package check

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// Version is a version of a key in a store; Absent marks a deletion.
type Version struct {
	Access
	TS TS
}

// Timestamps checks serializable transactions against their own timestamps, as a database of
// versions defines it: an acknowledged transaction has one commit timestamp, and
// each of its reads returned the newest version of another transaction at or
// below it. The operations carry TS, Reads and Writes; of a transaction that failed
// nothing is ever seen; of one that is unknown all or nothing, at some one
// timestamp that explains everything that saw it.
//
// Each value is written to a key at most once in the history, so that a
// read names its writer. It takes time n log n and leaves nothing undecided.
//
// What it can't see: a lost write that nobody read at or above its timestamp, unless
// Versions are given; where an unknown transaction deletes a key, reads that
// find the key absent are taken for explained by it; what an unknown
// transaction itself read.
type Timestamps struct {
	// Initial holds the values that keys had before the history; others were absent.
	Initial map[string]string
	// RealTime also requires that an operation has a timestamp at or above that
	// of whatever another one had written or read of the same key before it began.
	RealTime bool
	// Versions, if not nil, are all versions that the store holds in the end: exactly
	// those of the acknowledged transactions and of some of the unknown ones.
	Versions []Version
}

// txn is an operation and what is known of its timestamp: it lies in (lo, hi].
type txn struct {
	op       *Op
	lo, hi   TS
	known    bool // the timestamp is hi
	seen     bool // unknown, but someone saw it
	loBy     *Op  // who bounds it, for the report
	hiBy     *Op
	never    bool // unknown, and known not to have happened
	assigned bool // unknown, and its timestamp was found in the store
}

// written is a value written to a key: the version if its transaction committed.
type written struct {
	*txn
	access Access
	hidden bool // overwritten by its own transaction
	placed bool // unknown, and found in the store
	// first and last bound the timestamps at which it was read, by whom.
	first, last     TS
	firstBy, lastBy *Op
}

// keyState is all that is known of a key.
type keyState struct {
	name     string
	initial  *written
	byValue  map[string]*written
	versions []*written // of known timestamp, in its order
	// maybeDeleted: an unknown transaction deletes the key.
	maybeDeleted bool
	deletes      []*written // with unknown timestamps
}

type tsCheck struct {
	Timestamps
	txns []*txn
	keys map[string]*keyState
}

func (c *tsCheck) violation(ops []*Op, format string, args ...any) error {
	v := &Violation{"timestamps", fmt.Sprintf(format, args...), nil}
	for _, op := range ops {
		if op != nil && !slices.ContainsFunc(v.Ops, func(o Op) bool { return o.ID == op.ID }) {
			v.Ops = append(v.Ops, *op)
		}
	}
	return v
}

// Check returns nil or a [Violation].
func (c Timestamps) Check(ops []Op) error {
	t := &tsCheck{Timestamps: c, keys: map[string]*keyState{}}
	for _, step := range []func() error{
		func() error { return t.index(ops) },
		t.stored, t.order, t.reads, t.chains, t.unknowns, t.realTime,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *tsCheck) key(name string) *keyState {
	k, ok := c.keys[name]
	if !ok {
		v, exists := c.Initial[name]
		k = &keyState{name: name, byValue: map[string]*written{}}
		k.initial = &written{txn: &txn{known: true}, access: Access{Key: name, Value: v, Absent: !exists}}
		k.versions = []*written{k.initial}
		if exists {
			k.byValue[v] = k.initial
		}
		c.keys[name] = k
	}
	return k
}

// finals returns the writes of op that are the last of their keys.
func finals(op *Op) []Access {
	var out []Access
	for n, w := range op.Writes {
		if !slices.ContainsFunc(op.Writes[n+1:], func(a Access) bool { return a.Key == w.Key }) {
			out = append(out, w)
		}
	}
	return out
}

// index makes the transactions and the values that they wrote.
func (c *tsCheck) index(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		x := &txn{op: op, known: op.Outcome == OK, hi: op.TS}
		if x.known && op.TS.IsZero() && len(op.Reads)+len(op.Writes) > 0 {
			return c.violation([]*Op{op}, "an acknowledged operation has no timestamp")
		}
		c.txns = append(c.txns, x)
		for n, w := range op.Writes {
			k := c.key(w.Key)
			later := slices.ContainsFunc(op.Writes[n+1:], func(a Access) bool { return a.Key == w.Key })
			v := &written{txn: x, access: w, hidden: later}
			if !w.Absent {
				if other := k.byValue[w.Value]; other != nil {
					return c.violation([]*Op{other.op, op}, "the history can't be checked: %v was written twice", w)
				}
				k.byValue[w.Value] = v
			}
			if later {
				continue
			}
			switch {
			case x.known:
				k.versions = append(k.versions, v)
			case op.Outcome == Unknown && w.Absent:
				k.maybeDeleted = true
				k.deletes = append(k.deletes, v)
			}
		}
	}
	return nil
}

// stored compares the transactions with the versions in the store, and learns
// from it which unknown ones committed, and when.
func (c *tsCheck) stored() error {
	if c.Versions == nil {
		return nil
	}
	type place struct {
		key string
		ts  TS
	}
	found := map[place]Access{}
	for _, v := range c.Versions {
		found[place{v.Key, v.TS}] = v.Access
	}
	// Values name their writers; what remains of deletions is sorted out after.
	versions := slices.Clone(c.Versions)
	slices.SortStableFunc(versions, func(a, b Version) int {
		switch {
		case a.Absent == b.Absent:
			return 0
		case b.Absent:
			return -1
		}
		return 1
	})
	for _, v := range versions {
		whole := func(x *txn) bool { // all of it could have been written then
			return !slices.ContainsFunc(finals(x.op), func(a Access) bool { return found[place{a.Key, v.TS}] != a })
		}
		if err := c.storedVersion(v, whole); err != nil {
			return err
		}
	}
	for _, x := range c.txns {
		if x.op.Outcome == Unknown && !x.assigned {
			x.never = true
		}
		if x.op.Outcome != OK && !x.assigned {
			continue
		}
		for _, w := range finals(x.op) {
			if got, ok := found[place{w.Key, x.hi}]; !ok || got != w {
				return c.violation([]*Op{x.op}, "the store lacks %v at %v, which %s transaction #%d wrote", w, x.hi, x.op.Outcome, x.op.ID)
			}
		}
	}
	for _, k := range c.keys { // what was learnt counts from here on
		k.maybeDeleted, k.deletes = false, nil
	}
	return nil
}

func (c *tsCheck) storedVersion(v Version, whole func(*txn) bool) error {
	k := c.key(v.Key)
	w := k.byValue[v.Value]
	if v.Absent {
		w = k.storedDelete(v.TS, whole)
	}
	switch {
	case w == nil:
		return c.violation(nil, "the store holds %v at %v, which nobody wrote", v.Access, v.TS)
	case w == k.initial:
		return nil
	case w.op.Outcome == Failed:
		return c.violation([]*Op{w.op}, "the store holds %v at %v of a transaction that failed", v.Access, v.TS)
	case w.hidden:
		return c.violation([]*Op{w.op}, "the store holds %v at %v, which its own transaction overwrote", v.Access, v.TS)
	case w.op.Outcome == OK && w.hi != v.TS, w.assigned && w.hi != v.TS:
		return c.violation([]*Op{w.op}, "the store holds %v at %v, its transaction committed at %v", v.Access, v.TS, w.hi)
	case w.op.Outcome == Unknown && !w.placed:
		w.placed, w.assigned, w.known, w.hi = true, true, true, v.TS
		k.versions = append(k.versions, w)
	}
	return nil
}

// storedDelete finds whose a deletion in the store is. Deletions have no value to
// tell them apart, only the timestamp; one of an unknown transaction that wrote
// nothing else fits any time at which all of it is there. The largest is taken.
func (k *keyState) storedDelete(ts TS, whole func(*txn) bool) *written {
	for _, w := range k.versions {
		if w.access.Absent && w.hi == ts {
			return w
		}
	}
	var best *written
	for _, w := range k.deletes {
		switch {
		case w.placed || w.assigned && w.hi != ts:
		case w.assigned:
			return w
		case whole(w.txn) && (best == nil || len(best.op.Writes) < len(w.op.Writes)):
			best = w
		}
	}
	return best
}

// order sorts the versions of each key and requires that no two have one timestamp.
func (c *tsCheck) order() error {
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		k := c.keys[name]
		slices.SortStableFunc(k.versions, func(a, b *written) int { return a.hi.Compare(b.hi) })
		for i := 1; i < len(k.versions); i++ {
			a, b := k.versions[i-1], k.versions[i]
			if a.hi == b.hi {
				return c.violation([]*Op{a.op, b.op}, "two transactions wrote key %s at %v", name, a.hi)
			}
		}
	}
	return nil
}

// newest returns the newest known version of the key at or below ts that is not
// op's own.
func (k *keyState) newest(ts TS, op *Op) *written {
	i := sort.Search(len(k.versions), func(i int) bool { return ts.Less(k.versions[i].hi) }) - 1
	if op != nil && k.versions[i].op == op {
		i--
	}
	return k.versions[i]
}

// reads checks every read against the known versions, and notes when each
// value was seen.
func (c *tsCheck) reads() error {
	for _, x := range c.txns {
		if x.op.Outcome != OK {
			continue
		}
		for _, r := range x.op.Reads {
			ts := x.op.TS
			if slices.ContainsFunc(x.op.Writes, func(a Access) bool { return a.Key == r.Key }) {
				ts = ts.prev() // what others had written before this one did
			}
			if err := c.read(x.op, r, ts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *tsCheck) read(op *Op, r Access, ts TS) error {
	k := c.key(r.Key)
	newest := k.newest(ts, op)
	if r.Absent {
		if newest.access.Absent {
			if !k.maybeDeleted {
				newest.note(op, ts)
			}
			return nil
		}
		if k.maybeDeleted {
			return nil
		}
		return c.violation([]*Op{newest.op, op}, "#%d at %v found no key %s, the newest version is %v at %v", op.ID, ts, r.Key, newest.access, newest.hi)
	}
	w := k.byValue[r.Value]
	switch {
	case w == nil:
		return c.violation([]*Op{op}, "#%d read %v, which nobody wrote", op.ID, r)
	case w.op == op:
		return c.violation([]*Op{op}, "the history can't be checked: #%d lists a read of its own write %v", op.ID, r)
	case w.op != nil && (w.op.Outcome == Failed || w.never):
		return c.violation([]*Op{w.op, op}, "#%d read %v of a transaction that did not commit", op.ID, r)
	case w.hidden:
		return c.violation([]*Op{w.op, op}, "#%d read %v, which its own transaction overwrote", op.ID, r)
	case w.known && ts.Less(w.hi):
		return c.violation([]*Op{w.op, op}, "#%d at %v read %v, which was committed later, at %v", op.ID, ts, r, w.hi)
	case w.known && w != newest:
		return c.violation([]*Op{w.op, newest.op, op}, "#%d at %v read %v of %v, the newest version is %v at %v",
			op.ID, ts, r, w.hi, newest.access, newest.hi)
	}
	w.note(op, ts)
	return nil
}

// note remembers that op saw the value at ts.
func (w *written) note(op *Op, ts TS) {
	if w.firstBy == nil || ts.Less(w.first) {
		w.first, w.firstBy = ts, op
	}
	if w.lastBy == nil || w.last.Less(ts) {
		w.last, w.lastBy = ts, op
	}
}
