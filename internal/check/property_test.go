package check

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

var kvInitial = map[string]string{"k0": "i0", "k1": "i1"}

// kvHistory draws a history of transactions and returns the checker that fits it.
func kvHistory(t *rapid.T, stored bool) (*serial, Timestamps) {
	s := newSerial(t, kvInitial)
	s.play(kvWorkload(3, rapid.Bool().Draw(t, "deletes")), rapid.IntRange(5, 60).Draw(t, "ops"))
	c := Timestamps{Initial: kvInitial, RealTime: true}
	if stored {
		c.Versions = append([]Version{}, s.versions...)
	}
	return s, c
}

func TestValidHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, c := kvHistory(t, rapid.Bool().Draw(t, "stored"))
		pass(t, c.Check(s.ops))

		s = newSerial(t, kvInitial)
		s.play(kvWorkload(1, true), 60)
		pass(t, Linearizable{Initial: kvInitial}.Check(s.ops))

		bank, data := initialBank()
		s = newSerial(t, data)
		s.play(bankWorkload, 40)
		pass(t, bank.Check(s.ops, s.balances()))

		ring, s := drawRing(t)
		pass(t, ring.Check(s.ops))
	})
}

func pass(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func drawRing(t *rapid.T) (Ring, *serial) {
	ring := NewRing("r", rapid.IntRange(4, 8).Draw(t, "links"))
	data := map[string]string{}
	for _, l := range ring.Initial() {
		data[l.Key] = l.Value
	}
	s := newSerial(t, data)
	s.play(ringWorkload(ring), 30)
	return ring, s
}

// corruption changes one element of a history and reports whether there was one
// that it could change so that no correct database can explain it.
type corruption struct {
	name    string
	corrupt func(t *rapid.T, s *serial) bool
}

// testCorruptions requires that the checker refuses each corruption of the
// histories that build makes, and that each happened often enough to mean something.
func testCorruptions(t *testing.T, all []corruption, build func(t *rapid.T) (*serial, func() error)) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			done := 0
			rapid.Check(t, func(t *rapid.T) {
				s, check := build(t)
				if !c.corrupt(t, s) {
					return
				}
				done++
				var v *Violation
				if err := check(); !errors.As(err, &v) {
					t.Fatalf("not noticed: %v\n%v", err, s.ops)
				}
			})
			if done < 20 {
				t.Fatalf("only %d histories could be corrupted so", done)
			}
		})
	}
}

// pick draws one of the places that fit.
func pick[E any](t *rapid.T, places []E) (E, bool) {
	var none E
	if len(places) == 0 {
		return none, false
	}
	return places[rapid.IntRange(0, len(places)-1).Draw(t, "place")], true
}

// readPlace is a read of an acknowledged operation.
type readPlace struct {
	op   *Op
	read int
}

// corruptRead gives a read another value, chosen from those that instead offers.
func corruptRead(instead func(s *serial, op *Op, r Access) []Access) func(*rapid.T, *serial) bool {
	return func(t *rapid.T, s *serial) bool {
		var places []readPlace
		for i := range s.ops {
			op := &s.ops[i]
			for j, r := range op.Reads {
				if op.Outcome == OK && len(instead(s, op, r)) > 0 {
					places = append(places, readPlace{op, j})
				}
			}
		}
		p, ok := pick(t, places)
		if !ok {
			return false
		}
		p.op.Reads = slices.Clone(p.op.Reads)
		p.op.Reads[p.read], _ = pick(t, instead(s, p.op, p.op.Reads[p.read]))
		return true
	}
}

// valuesOf returns what operations that fit wrote to the key.
func valuesOf(s *serial, key string, fit func(op *Op) bool) []Access {
	var out []Access
	for i := range s.ops {
		for _, w := range s.ops[i].Writes {
			if w.Key == key && !w.Absent && fit(&s.ops[i]) {
				out = append(out, w)
			}
		}
	}
	return out
}

var (
	dirtyRead = corruption{"dirty read", corruptRead(func(s *serial, _ *Op, r Access) []Access {
		return valuesOf(s, r.Key, func(op *Op) bool { return op.Outcome == Failed })
	})}
	madeUp = corruption{"made-up value", corruptRead(func(_ *serial, _ *Op, r Access) []Access {
		return []Access{{Key: r.Key, Value: "never"}}
	})}
)

func TestCorruptedHistoriesFail(t *testing.T) {
	seen := []corruption{dirtyRead, madeUp,
		{"stale read", corruptRead(func(s *serial, op *Op, r Access) []Access {
			var newest TS // of the acknowledged versions, those of others
			for _, w := range s.ops {
				if w.Outcome == OK && w.ID != op.ID && !op.TS.Less(w.TS) && slices.ContainsFunc(w.Writes, func(a Access) bool { return a.Key == r.Key }) {
					newest = maxTS(newest, w.TS)
				}
			}
			return valuesOf(s, r.Key, func(w *Op) bool { return w.Outcome == OK && w.TS.Less(newest) })
		})},
		{"read from the future", corruptRead(func(s *serial, op *Op, r Access) []Access {
			return valuesOf(s, r.Key, func(w *Op) bool { return w.Outcome == OK && op.TS.Less(w.TS) })
		})},
		{"one timestamp twice", func(t *rapid.T, s *serial) bool {
			for i := range s.ops {
				for j := range i {
					a, b := &s.ops[i], &s.ops[j]
					if a.Outcome == OK && b.Outcome == OK && len(a.Writes) > 0 && len(b.Writes) > 0 && a.Writes[0].Key == b.Writes[0].Key {
						a.TS = b.TS
						return true
					}
				}
			}
			return false
		}},
		{"older than what was known", func(t *rapid.T, s *serial) bool {
			for i := range s.ops {
				for j := range i {
					a, b := &s.ops[i], &s.ops[j]
					if a.Outcome == OK && b.Outcome == OK && b.Return < a.Invoke && len(a.Writes) > 0 && len(b.Writes) > 0 && a.Writes[0].Key == b.Writes[0].Key {
						a.TS = b.TS.prev()
						return true
					}
				}
			}
			return false
		}},
	}
	testCorruptions(t, seen, func(t *rapid.T) (*serial, func() error) {
		s, c := kvHistory(t, false)
		return s, func() error { return c.Check(s.ops) }
	})
}

// committedBy returns the places in the store of versions of transactions that fit.
func committedBy(s *serial, fit func(op *Op) bool) []int {
	var out []int
	for i, v := range s.versions {
		for j := range s.ops {
			if !v.Absent && fit(&s.ops[j]) && slices.Contains(s.ops[j].Writes, v.Access) {
				out = append(out, i)
			}
		}
	}
	return out
}

func TestCorruptedStoresFail(t *testing.T) {
	ok := func(op *Op) bool { return op.Outcome == OK }
	stored := []corruption{
		{"lost acknowledged write", func(t *rapid.T, s *serial) bool {
			i, found := pick(t, committedBy(s, ok))
			if found {
				s.versions = slices.Delete(s.versions, i, i+1)
			}
			return found
		}},
		{"duplicated effect", func(t *rapid.T, s *serial) bool {
			i, found := pick(t, committedBy(s, func(op *Op) bool { return op.Outcome != Failed }))
			if found {
				s.versions = append(s.versions, Version{s.versions[i].Access, TS{Wall: s.ts + 1}})
			}
			return found
		}},
		{"half of an unknown transaction", func(t *rapid.T, s *serial) bool {
			i, found := pick(t, committedBy(s, func(op *Op) bool {
				values := slices.DeleteFunc(slices.Clone(op.Writes), func(a Access) bool { return a.Absent })
				return op.Outcome == Unknown && len(values) > 1 // a deletion left over may pass for another one
			}))
			if found {
				s.versions = slices.Delete(s.versions, i, i+1)
			}
			return found
		}},
		{"failed transaction in the store", func(t *rapid.T, s *serial) bool {
			for _, op := range s.ops {
				if op.Outcome == Failed && len(op.Writes) > 0 && !op.Writes[0].Absent {
					s.versions = append(s.versions, Version{op.Writes[0], TS{Wall: s.ts + 1}})
					return true
				}
			}
			return false
		}},
	}
	testCorruptions(t, stored, func(t *rapid.T) (*serial, func() error) {
		s, c := kvHistory(t, true)
		return s, func() error { c.Versions = s.versions; return c.Check(s.ops) }
	})
}

func TestCorruptedRegistersFail(t *testing.T) {
	both := func(op *Op) bool {
		return op.Outcome == OK && len(op.Reads) > 0 && len(op.Writes) > 0 && !op.Reads[0].Absent
	}
	registers := []corruption{dirtyRead, madeUp,
		{"stale read", corruptRead(func(s *serial, op *Op, r Access) []Access {
			return valuesOf(s, r.Key, func(old *Op) bool {
				return old.Outcome == OK && slices.ContainsFunc(s.ops, func(w Op) bool { // it was overwritten in between
					return w.Outcome == OK && old.Return < w.Invoke && w.Return < op.Invoke && len(w.Writes) > 0 && w.Writes[0].Key == r.Key
				})
			})
		})},
		{"lost update", func(t *rapid.T, s *serial) bool {
			for i := range s.ops {
				for j := range i {
					a, b := &s.ops[i], &s.ops[j]
					if both(a) && both(b) && a.Reads[0].Key == b.Reads[0].Key {
						a.Reads = b.Reads
						return true
					}
				}
			}
			return false
		}},
	}
	testCorruptions(t, registers, func(t *rapid.T) (*serial, func() error) {
		s := newSerial(t, kvInitial)
		s.play(kvWorkload(1, false), rapid.IntRange(20, 60).Draw(t, "ops"))
		return s, func() error { return Linearizable{Initial: kvInitial}.Check(s.ops) }
	})
}

func TestCorruptedBanksFail(t *testing.T) {
	// again applies an acknowledged transfer n more times.
	again := func(n int64) func(*rapid.T, *serial) bool {
		return func(t *rapid.T, s *serial) bool {
			for _, op := range s.ops {
				if op.Outcome == OK && op.Transfer != nil {
					s.move(op.Transfer.From, -n*op.Transfer.Amount)
					s.move(op.Transfer.To, n*op.Transfer.Amount)
					return true
				}
			}
			return false
		}
	}
	banks := []corruption{
		{"lost acknowledged transfer", again(-1)},
		{"duplicated effect", again(1)},
		{"torn snapshot", corruptRead(func(s *serial, _ *Op, r Access) []Access {
			n, err := strconv.ParseInt(r.Value, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return []Access{{Key: r.Key, Value: strconv.FormatInt(n+1e6, 10)}}
		})},
		{"account missing", corruptRead(func(_ *serial, _ *Op, r Access) []Access {
			return []Access{{Key: r.Key, Absent: true}}
		})},
	}
	bank, data := initialBank()
	testCorruptions(t, banks, func(t *rapid.T) (*serial, func() error) {
		s := newSerial(t, data)
		s.play(bankWorkload, 40)
		return s, func() error { return bank.Check(s.ops, s.balances()) }
	})
}

func TestCorruptedRingsFail(t *testing.T) {
	var ring Ring
	rings := []corruption{{"torn read", corruptRead(func(_ *serial, op *Op, r Access) []Access {
		var out []Access
		for _, k := range ring.Keys {
			// Any other link breaks a snapshot; in a splice only one into what it saw before.
			if k != r.Value && (op.Kind == RingSnapshot || k == r.Key) {
				out = append(out, Access{Key: r.Key, Value: k})
			}
		}
		return out
	})}}
	testCorruptions(t, rings, func(t *rapid.T) (*serial, func() error) {
		var s *serial
		ring, s = drawRing(t)
		return s, func() error { return ring.Check(s.ops) }
	})
}

// TestLostRingUpdate loses one of the three writes of one splice, and takes a
// snapshot at once.
func TestLostRingUpdate(t *testing.T) {
	for lost := range 3 {
		ring := NewRing("r", 6)
		data := map[string]string{}
		for _, l := range ring.Initial() {
			data[l.Key] = l.Value
		}
		_, writes, err := ring.Splice("r002", func(k string) (string, error) { return data[k], nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range writes {
			if i != lost {
				data[w.Key] = w.Value
			}
		}
		op := Op{Kind: RingSnapshot, Outcome: OK}
		for _, k := range ring.Keys {
			op.Reads = append(op.Reads, Access{Key: k, Value: data[k]})
		}
		if err := ring.Check([]Op{op}); err == nil {
			t.Fatal(fmt.Sprint("unnoticed: ", op))
		}
	}
}
