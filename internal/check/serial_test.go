package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"pgregory.net/rapid"
)

// serial is a perfect database: it executes one operation at a time, at ever
// higher timestamps, somewhere between the beginning and the end of each.
type serial struct {
	t        *rapid.T
	data     map[string]string
	versions []Version
	ts       int64
	order    int64
	ops      []Op
	values   int
}

// workload makes operations: begin says what is known at the start, run executes
// one and fills in what it saw.
type workload struct {
	begin func(s *serial) Op
	run   func(s *serial, op *Op)
}

func (s *serial) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(s.t, label) }

// play runs about n operations of a few clients, some of them with unknown or
// failed outcomes. An unknown one may take effect long after its client gave up.
func (s *serial) play(w workload, n int) {
	const clients = 4
	current := [clients]int{-1, -1, -1, -1}
	executed := map[int]bool{}
	var orphans []int
	run := func(i int) {
		s.ts += int64(1 + s.draw(3, "gap"))
		op := s.ops[i]
		w.run(s, &op)
		executed[i] = true
		if op.Outcome == Unknown && op.Return != 0 || slices.Contains(orphans, i) {
			return // nobody hears of it
		}
		op.TS = TS{Wall: s.ts}
		s.ops[i] = op
	}
	for s.order = 0; len(s.ops) < n; {
		c := s.draw(clients, "client")
		i := current[c]
		switch {
		case i < 0:
			op := w.begin(s)
			s.order++
			op.ID, op.Client, op.Invoke = len(s.ops)+1, c, s.order
			current[c] = len(s.ops)
			s.ops = append(s.ops, op)
			continue
		case !executed[i] && s.draw(8, "fate") > 1:
			run(i)
			continue
		case !executed[i] && s.draw(2, "failed") == 0:
			s.ops[i].Outcome = Failed
		case !executed[i] || s.draw(8, "lost") == 0:
			s.ops[i].Outcome, s.ops[i].TS, s.ops[i].Reads = Unknown, TS{}, nil
			if !executed[i] {
				orphans = append(orphans, i)
			}
		default:
			s.ops[i].Outcome = OK
		}
		s.order++
		s.ops[i].Return = s.order
		current[c] = -1
		if len(orphans) > 0 && s.draw(2, "orphan") == 0 {
			run(orphans[0])
			orphans = orphans[1:]
		}
	}
	for _, i := range current {
		if i >= 0 { // still open
			s.ops[i].TS, s.ops[i].Reads = TS{}, nil
		}
	}
}

func (s *serial) get(key string) Access {
	v, ok := s.data[key]
	return Access{Key: key, Value: v, Absent: !ok}
}

func (s *serial) put(a Access) {
	if a.Absent {
		delete(s.data, a.Key)
	} else {
		s.data[a.Key] = a.Value
	}
	s.versions = append(s.versions, Version{a, TS{Wall: s.ts}})
}

func newSerial(t *rapid.T, initial map[string]string) *serial {
	return &serial{t: t, data: maps.Clone(initial)}
}

const keyCount = 4

func someKey(s *serial) string { return "k" + strconv.Itoa(s.draw(keyCount, "key")) }

// kvWorkload reads and writes up to max keys an operation.
func kvWorkload(most int, deletes bool) workload {
	return workload{
		begin: func(s *serial) Op {
			op := Op{Kind: "txn"}
			var keys []string
			for range 1 + s.draw(most, "keys") {
				if k := someKey(s); !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
			for _, k := range keys {
				what := s.draw(3, "what") // read, write, both
				if what != 1 {
					op.Reads = append(op.Reads, Access{Key: k})
				}
				if what == 0 {
					continue
				}
				s.values++
				w := Access{Key: k, Value: "v" + strconv.Itoa(s.values)}
				if deletes && s.draw(6, "delete") == 0 {
					w = Access{Key: k, Absent: true}
				}
				op.Writes = append(op.Writes, w)
			}
			return op
		},
		run: func(s *serial, op *Op) {
			op.Reads = slices.Clone(op.Reads)
			for i, r := range op.Reads {
				op.Reads[i] = s.get(r.Key)
			}
			for _, w := range op.Writes {
				s.put(w)
			}
		},
	}
}

const accounts = 5

func initialBank() (Bank, map[string]string) {
	b, data := Bank{Initial: map[string]int64{}}, map[string]string{}
	for i := range accounts {
		k := fmt.Sprintf("a%d", i)
		b.Initial[k], data[k] = 1e12, "1000000000000"
	}
	return b, data
}

func (s *serial) move(account string, amount int64) {
	n, err := strconv.ParseInt(s.data[account], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	s.data[account] = strconv.FormatInt(n+amount, 10)
}

// bankWorkload moves amounts that are powers of two, so that no transfer looks like
// others together.
var bankWorkload = workload{
	begin: func(s *serial) Op {
		if s.draw(3, "snapshot") == 0 {
			return Op{Kind: BankSnapshot}
		}
		from := s.draw(accounts, "from")
		to := (from + 1 + s.draw(accounts-1, "to")) % accounts
		s.values++
		return Op{Kind: BankTransfer, Transfer: &Transfer{fmt.Sprintf("a%d", from), fmt.Sprintf("a%d", to), 1 << s.values}}
	},
	run: func(s *serial, op *Op) {
		if t := op.Transfer; t != nil {
			s.move(t.From, -t.Amount)
			s.move(t.To, t.Amount)
			return
		}
		for _, k := range slices.Sorted(maps.Keys(s.data)) {
			op.Reads = append(op.Reads, s.get(k))
		}
	},
}

func (s *serial) balances() map[string]int64 {
	out := map[string]int64{}
	for k, v := range s.data {
		out[k], _ = strconv.ParseInt(v, 10, 64)
	}
	return out
}

func ringWorkload(r Ring) workload {
	return workload{
		begin: func(s *serial) Op {
			if s.draw(3, "snapshot") == 0 {
				return Op{Kind: RingSnapshot}
			}
			return Op{Kind: RingSplice}
		},
		run: func(s *serial, op *Op) {
			if op.Kind == RingSnapshot {
				for _, k := range r.Keys {
					op.Reads = append(op.Reads, s.get(k))
				}
				return
			}
			read := func(k string) (string, error) { return s.data[k], nil }
			reads, writes, err := r.Splice(r.Keys[s.draw(len(r.Keys), "start")], read)
			if err != nil {
				s.t.Fatal(err)
			}
			op.Reads, op.Writes = reads, writes
			for _, w := range writes {
				s.put(w)
			}
		},
	}
}
