package check

import (
	"cmp"
	"maps"
	"slices"
)

// anchor is the timestamp that orders the versions of a key: that of the version
// if it is known, else the first at which it was seen. Versions that were seen
// can have no other order: one that begins at or below the timestamp of a read
// and is newer than what was read would have been read.
func (w *written) anchor() TS {
	if w.known {
		return w.hi
	}
	return w.first
}

// chains bounds the timestamps of the unknown transactions that someone saw:
// each of their versions begins after the last read of the one before, and not
// after its own first.
func (c *tsCheck) chains() error {
	for _, name := range slices.Sorted(maps.Keys(c.keys)) {
		k := c.keys[name]
		chain := slices.Clone(k.versions)
		for _, w := range k.byValue {
			if !w.known && w.firstBy != nil {
				chain = append(chain, w)
			}
		}
		slices.SortFunc(chain, func(a, b *written) int {
			switch d := a.anchor().Compare(b.anchor()); {
			case d != 0:
				return d
			case a.known:
				return -1
			case b.known:
				return 1
			}
			return a.op.ID - b.op.ID
		})
		var end TS
		var endBy *Op
		for _, w := range chain {
			if !w.known {
				w.bound(end, endBy, w.first, w.firstBy)
			}
			for _, p := range []struct {
				ts TS
				by *Op
			}{{w.anchor(), w.op}, {w.last, w.lastBy}} {
				if end.Less(p.ts) {
					end, endBy = p.ts, p.by
				}
			}
			// What was seen last must not lie behind a known successor; reads
			// has checked that against the known versions that were read.
			if !w.known {
				n := k.newest(w.last, nil)
				w.bound(n.hi, n.op, w.first, w.firstBy)
			}
		}
	}
	return nil
}

// bound narrows what is known of the transaction's timestamp to (lo, hi] as well.
func (w *written) bound(lo TS, loBy *Op, hi TS, hiBy *Op) {
	x := w.txn
	if !x.seen {
		x.seen, x.hi, x.hiBy = true, hi, hiBy
	}
	if x.lo.Less(lo) {
		x.lo, x.loBy = lo, loBy
	}
	if hi.Less(x.hi) {
		x.hi, x.hiBy = hi, hiBy
	}
}

// zone is a stretch (from, to] of timestamps at which a key can't have got
// another version, since by saw an older one at its end.
type zone struct {
	from, to TS
	by       *Op
}

// unknowns requires that a timestamp is left for each unknown transaction that
// someone saw.
func (c *tsCheck) unknowns() error {
	zones := map[string][]zone{}
	for _, x := range c.txns {
		if !x.seen || x.known {
			continue
		}
		if !x.lo.Less(x.hi) {
			return c.violation([]*Op{x.op, x.loBy, x.hiBy},
				"unknown transaction #%d was seen at %v, yet another transaction shows that it did not commit at or before %v", x.op.ID, x.hi, x.lo)
		}
		at := x.lo // nothing at or below it is possible
		var by *Op
		for _, z := range c.zonesOf(x, zones) {
			if at.Less(z.from) {
				break // a timestamp between the two is possible
			}
			if at.Less(z.to) {
				at, by = z.to, z.by
			}
		}
		if !at.Less(x.hi) {
			return c.violation([]*Op{x.op, x.hiBy, by},
				"unknown transaction #%d was seen at %v but not all of it: at %v what it overwrote was still there", x.op.ID, x.hi, at)
		}
	}
	return nil
}

// zonesOf returns the zones of the keys that the transaction wrote, in order.
func (c *tsCheck) zonesOf(x *txn, cache map[string][]zone) []zone {
	var all []zone
	for _, w := range x.op.Writes {
		k := c.keys[w.Key]
		zones, ok := cache[w.Key]
		if !ok {
			zones = k.zones()
			cache[w.Key] = zones
		}
		all = append(all, zones...)
	}
	slices.SortFunc(all, func(a, b zone) int { return a.from.Compare(b.from) })
	return all
}

// zones returns where what was seen of the key leaves no room for a version.
func (k *keyState) zones() []zone {
	var zones []zone
	add := func(v *written) {
		if v.lastBy != nil && v.hi.Less(v.last) {
			zones = append(zones, zone{v.hi, v.last, v.lastBy})
		}
	}
	for _, v := range k.versions {
		add(v)
	}
	for _, v := range k.byValue {
		if !v.known {
			add(v)
		}
	}
	return zones
}

// realTime requires that an operation has a timestamp at or above that of what was
// known of a key when it began.
func (c *tsCheck) realTime() error {
	if !c.RealTime {
		return nil
	}
	type known struct {
		at int64 // since when
		ts TS
		by *Op
	}
	facts := map[string][]known{}
	begins := map[string][]*Op{}
	for _, x := range c.txns {
		op := x.op
		if op.Outcome != OK {
			continue
		}
		for _, r := range op.Reads {
			if w := c.keys[r.Key].byValue[r.Value]; w != nil && w.known && !r.Absent {
				facts[r.Key] = append(facts[r.Key], known{op.Return, w.hi, op})
			}
			begins[r.Key] = append(begins[r.Key], op)
		}
		for _, w := range op.Writes {
			facts[w.Key] = append(facts[w.Key], known{op.Return, op.TS, op})
			begins[w.Key] = append(begins[w.Key], op)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(begins)) {
		facts, begins := facts[name], begins[name]
		slices.SortFunc(facts, func(a, b known) int { return cmp.Compare(a.at, b.at) })
		slices.SortFunc(begins, func(a, b *Op) int { return cmp.Compare(a.Invoke, b.Invoke) })
		var latest known
		for _, op := range begins {
			for len(facts) > 0 && facts[0].at < op.Invoke {
				if latest.ts.Less(facts[0].ts) {
					latest = facts[0]
				}
				facts = facts[1:]
			}
			if op.TS.Less(latest.ts) {
				return c.violation([]*Op{latest.by, op}, "#%d began after #%d had ended, which knew of key %s at %v, yet acts on it at %v",
					op.ID, latest.by.ID, name, latest.ts, op.TS)
			}
		}
	}
	return nil
}
