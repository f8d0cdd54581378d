package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Kinds of operations of the bank.
const (
	BankTransfer = "bank-transfer" // Op.Transfer says what
	BankSnapshot = "bank-snapshot" // Op.Reads holds every account
)

// maxBankSteps limits the search for the unknown transfers that happened.
const maxBankSteps = 1_000_000

// Bank checks transfers between accounts: every acknowledged snapshot shows all
// accounts with the same sum, and the final balances are the initial ones
// plus all acknowledged transfers, no failed one, and some of the unknown ones.
//
// It does not notice what keeps the sum: a snapshot that shows a transfer that was
// rolled back, or is too old. [Timestamps] does. With unknown transfers a
// lost one may pass for an unknown one that happened, if they fit one another.
type Bank struct {
	Initial     map[string]int64
	NonNegative bool // transfers never overdraw an account
}

func (b Bank) violation(ops []Op, format string, args ...any) error {
	return &Violation{"bank", fmt.Sprintf(format, args...), ops}
}

// Check returns nil, a [Violation] or [Undecided]. A nil final means that the
// final balances are not known.
func (b Bank) Check(ops []Op, final map[string]int64) error {
	var total int64
	for _, v := range b.Initial {
		total += v
	}
	for _, op := range ops {
		if op.Kind == BankSnapshot && op.Outcome == OK {
			if err := b.snapshot(op, total); err != nil {
				return err
			}
		}
	}
	if final == nil {
		return nil
	}
	return b.final(ops, final)
}

func (b Bank) snapshot(op Op, total int64) error {
	seen := make(map[string]bool, len(op.Reads))
	var sum int64
	for _, r := range op.Reads {
		if _, known := b.Initial[r.Key]; !known {
			return b.violation([]Op{op}, "a snapshot shows account %s, which nobody made", r.Key)
		}
		v, err := strconv.ParseInt(r.Value, 10, 64)
		switch {
		case r.Absent:
			return b.violation([]Op{op}, "account %s is missing", r.Key)
		case seen[r.Key]:
			return b.violation([]Op{op}, "a snapshot shows account %s twice", r.Key)
		case err != nil:
			return b.violation([]Op{op}, "account %s holds %q, not a number", r.Key, r.Value)
		case v < 0 && b.NonNegative:
			return b.violation([]Op{op}, "account %s is overdrawn: %d", r.Key, v)
		}
		seen[r.Key] = true
		sum += v
	}
	if len(seen) != len(b.Initial) {
		return b.violation([]Op{op}, "a snapshot shows %d accounts of %d", len(seen), len(b.Initial))
	}
	if sum != total {
		return b.violation([]Op{op}, "a snapshot sums up to %d, not %d", sum, total)
	}
	return nil
}

// final explains the final balances.
func (b Bank) final(ops []Op, final map[string]int64) error {
	if len(final) != len(b.Initial) {
		return b.violation(nil, "there are %d accounts in the end, not %d", len(final), len(b.Initial))
	}
	left := map[string]int64{} // what the unknown transfers must explain
	for k, v := range b.Initial {
		f, ok := final[k]
		if !ok {
			return b.violation(nil, "account %s is missing in the end", k)
		}
		left[k] = f - v
	}
	var unknown []Op
	for _, op := range ops {
		if op.Transfer == nil || op.Outcome == Failed || op.Transfer.From == op.Transfer.To {
			continue
		}
		if op.Outcome == Unknown {
			unknown = append(unknown, op)
			continue
		}
		left[op.Transfer.From] += op.Transfer.Amount
		left[op.Transfer.To] -= op.Transfer.Amount
	}
	free := map[string]bool{} // accounts that an unknown transfer touches
	for _, op := range unknown {
		free[op.Transfer.From], free[op.Transfer.To] = true, true
	}
	for _, k := range slices.Sorted(maps.Keys(left)) {
		if left[k] != 0 && !free[k] {
			return b.violation(touching(ops, []string{k}),
				"account %s holds %d in the end, its acknowledged transfers make that %d", k, final[k], final[k]-left[k])
		}
	}
	for _, group := range connected(unknown) {
		s := newBankSearch(group, left)
		if s.solve() {
			continue
		}
		if s.steps > maxBankSteps {
			return &Undecided{"bank", fmt.Sprintf("%d connected unknown transfers are too many", len(group))}
		}
		return b.violation(append(slices.Clone(group), touching(ops, s.accounts())...),
			"no choice of the unknown transfers (the first %d below) explains the final balances of %v", len(group), s.accounts())
	}
	return nil
}

// touching returns the transfers of the accounts that may have happened.
func touching(ops []Op, accounts []string) []Op {
	var out []Op
	for _, op := range ops {
		if t := op.Transfer; t != nil && op.Outcome == OK && (slices.Contains(accounts, t.From) || slices.Contains(accounts, t.To)) {
			out = append(out, op)
		}
	}
	return out
}

// connected groups transfers that share accounts, directly or through others.
func connected(ops []Op) [][]Op {
	root := map[string]string{}
	var find func(string) string
	find = func(k string) string {
		r, ok := root[k]
		if !ok || r == k {
			root[k] = k
			return k
		}
		r = find(r)
		root[k] = r
		return r
	}
	for _, op := range ops {
		root[find(op.Transfer.From)] = find(op.Transfer.To)
	}
	at := map[string]int{}
	var groups [][]Op
	for _, op := range ops {
		r := find(op.Transfer.From)
		if _, ok := at[r]; !ok {
			at[r] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[r]] = append(groups[at[r]], op)
	}
	return groups
}

// bankSearch looks for a subset of transfers that moves what is left to explain.
type bankSearch struct {
	ops     []Op
	decided []bool
	left    map[string]int64
	// in and out are the sums that the undecided transfers could still move into
	// and out of an account; open is their number.
	in, out map[string]int64
	open    map[string]int
	steps   int
}

func newBankSearch(ops []Op, left map[string]int64) *bankSearch {
	s := &bankSearch{ops: ops, decided: make([]bool, len(ops)), left: map[string]int64{},
		in: map[string]int64{}, out: map[string]int64{}, open: map[string]int{}}
	for _, op := range ops {
		s.left[op.Transfer.From] = left[op.Transfer.From]
		s.left[op.Transfer.To] = left[op.Transfer.To]
		s.count(op.Transfer, 1)
	}
	return s
}

func (s *bankSearch) accounts() []string { return slices.Sorted(maps.Keys(s.left)) }

// count adds a transfer to, or with n = -1 takes it from, the undecided ones.
func (s *bankSearch) count(t *Transfer, n int64) {
	s.out[t.From] += n * t.Amount
	s.in[t.To] += n * t.Amount
	s.open[t.From] += int(n)
	s.open[t.To] += int(n)
}

func (s *bankSearch) possible(k string) bool { return -s.out[k] <= s.left[k] && s.left[k] <= s.in[k] }

// next returns the undecided transfer whose accounts have the fewest others: the
// most constrained one.
func (s *bankSearch) next() int {
	best, fewest := -1, 0
	for i, op := range s.ops {
		n := min(s.open[op.Transfer.From], s.open[op.Transfer.To])
		if !s.decided[i] && (best < 0 || n < fewest) {
			best, fewest = i, n
		}
	}
	return best
}

func (s *bankSearch) solve() bool {
	for k := range s.left {
		if !s.possible(k) {
			return false
		}
	}
	return s.search()
}

func (s *bankSearch) search() bool {
	if s.steps++; s.steps > maxBankSteps {
		return false
	}
	i := s.next()
	if i < 0 {
		return true // every account's bounds are 0 and hold
	}
	t := s.ops[i].Transfer
	s.decided[i] = true
	s.count(t, -1)
	for _, amount := range []int64{t.Amount, 0} {
		s.left[t.From] += amount
		s.left[t.To] -= amount
		if s.possible(t.From) && s.possible(t.To) && s.search() {
			return true
		}
		s.left[t.From] -= amount
		s.left[t.To] += amount
	}
	s.count(t, 1)
	s.decided[i] = false
	return false
}
