package check

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Shorthands for histories: r and w are accesses; ok, failed and unknown are
// operations of one kind, at a timestamp, from one place in the order to another.
func acc(kv string) Access {
	k, v, exists := strings.Cut(kv, "=")
	return Access{Key: k, Value: v, Absent: !exists}
}

func txnOp(from, to int64, ts int64, outcome Outcome, reads, writes string) Op {
	op := Op{Kind: "txn", Invoke: from, Return: to, TS: TS{Wall: ts}, Outcome: outcome}
	for _, r := range strings.Fields(reads) {
		op.Reads = append(op.Reads, acc(r))
	}
	for _, w := range strings.Fields(writes) {
		op.Writes = append(op.Writes, acc(w))
	}
	return op
}

func numbered(ops []Op) []Op {
	for i := range ops {
		ops[i].ID = i + 1
	}
	return ops
}

// planted is a history and what a checker must say of it: nothing if want is
// empty.
type planted struct {
	name string
	ops  []Op
	want string
}

func (p planted) test(t *testing.T, check func(ops []Op) error) {
	t.Run(p.name, func(t *testing.T) {
		err := check(numbered(p.ops))
		if p.want == "" {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		var v *Violation
		if !errors.As(err, &v) || !strings.Contains(err.Error(), p.want) {
			t.Fatalf("want a violation with %q, have: %v", p.want, err)
		}
	})
}

func TestPlantedTimestamps(t *testing.T) {
	initial := map[string]string{"x": "0", "y": "0"}
	for _, p := range []planted{
		{"serial", []Op{
			txnOp(1, 2, 10, OK, "x=0", "x=1 y=1"),
			txnOp(3, 4, 20, OK, "x=1 y=1", "x=2"),
			txnOp(5, 6, 15, Failed, "", "x=9")}, ""},
		{"lost update", []Op{
			txnOp(1, 4, 10, OK, "x=0", "x=1"),
			txnOp(2, 5, 11, OK, "x=0", "x=2")}, "newest version is x=1"},
		{"dirty read", []Op{
			txnOp(1, 2, 0, Failed, "", "x=1"),
			txnOp(3, 4, 9, OK, "x=1", "")}, "did not commit"},
		{"intermediate read", []Op{
			txnOp(1, 2, 5, OK, "", "x=1 x=2"),
			txnOp(3, 4, 9, OK, "x=1", "")}, "overwrote"},
		{"stale read", []Op{
			txnOp(1, 2, 5, OK, "", "x=1"),
			txnOp(3, 4, 9, OK, "x=0", "")}, "newest version is x=1"},
		{"stale timestamp", []Op{
			txnOp(1, 2, 5, OK, "", "x=1"),
			txnOp(3, 4, 4, OK, "x=0", "")}, "began after"},
		{"reads go back", []Op{
			txnOp(1, 0, 5, Unknown, "", "y=1"),
			txnOp(2, 3, 5, OK, "", "x=1"),
			txnOp(4, 5, 7, OK, "x=1 y=1", ""),
			txnOp(6, 7, 8, OK, "y=0", "")}, "unknown transaction #1"},
		{"torn snapshot", []Op{
			txnOp(1, 2, 5, OK, "", "x=1 y=1"),
			txnOp(3, 4, 9, OK, "x=1 y=0", "")}, "newest version is y=1"},
		{"torn unknown transaction", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1 y=1"),
			txnOp(3, 4, 9, OK, "x=1", ""),
			txnOp(5, 6, 12, OK, "y=0", "")}, "not all of it"},
		{"unknown transaction between two reads", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1 y=1"),
			txnOp(3, 4, 9, OK, "x=0 y=0", ""),
			txnOp(5, 6, 12, OK, "y=1 x=1", "")}, ""},
		{"two unknown ones in turn", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1"),
			txnOp(2, 0, 0, Unknown, "", "x=2"),
			txnOp(3, 4, 9, OK, "x=1", ""),
			txnOp(5, 6, 12, OK, "x=2", "")}, ""},
		{"two unknown ones to and fro", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1"),
			txnOp(2, 0, 0, Unknown, "", "x=2"),
			txnOp(3, 4, 9, OK, "x=1", ""),
			txnOp(5, 6, 12, OK, "x=2", ""),
			txnOp(7, 8, 15, OK, "x=1", "")}, "unknown transaction #"},
		{"unknown delete", []Op{
			txnOp(1, 0, 0, Unknown, "", "x"),
			txnOp(3, 4, 9, OK, "x", "")}, ""},
		{"lost key", []Op{txnOp(3, 4, 9, OK, "x", "")}, "found no key x"},
		{"same timestamp", []Op{
			txnOp(1, 2, 5, OK, "", "x=1"),
			txnOp(3, 4, 5, OK, "", "x=2")}, "two transactions wrote"},
		{"unusable", []Op{
			txnOp(1, 2, 5, OK, "", "x=1"),
			txnOp(3, 4, 6, OK, "", "x=1")}, "can't be checked"},
	} {
		p.test(t, Timestamps{Initial: initial, RealTime: true}.Check)
	}
}

func TestPlantedStores(t *testing.T) {
	ops := []Op{
		txnOp(1, 2, 10, OK, "", "x=1 x=2 y=2"),
		txnOp(3, 0, 0, Unknown, "", "x=3 y=3"),
		txnOp(4, 5, 0, Failed, "", "x=4"),
		txnOp(6, 7, 30, OK, "", "x"),
	}
	stored := func(ts int64, kv string) Version { return Version{acc(kv), TS{Wall: ts}} }
	good := []Version{stored(10, "x=2"), stored(10, "y=2"), stored(30, "x")}
	for _, p := range []struct {
		planted
		more []Version
		drop int // of good, from 1
	}{
		{planted{"acknowledged only", ops, ""}, nil, 0},
		{planted{"the unknown one too", ops, ""}, []Version{stored(20, "x=3"), stored(20, "y=3")}, 0},
		{planted{"unknown write and deletion of a key", append(slices.Clone(ops), txnOp(8, 0, 0, Unknown, "", "y=8 y")), ""}, []Version{stored(50, "y")}, 0},
		{planted{"half of it", ops, "lacks y=3"}, []Version{stored(20, "x=3")}, 0},
		{planted{"at two times", ops, "committed at"}, []Version{stored(20, "x=3"), stored(21, "y=3")}, 0},
		{planted{"lost", ops, "lacks y=2"}, nil, 2},
		{planted{"lost deletion", ops, "lacks -x"}, nil, 3},
		{planted{"twice", ops, "committed at 10"}, []Version{stored(40, "y=2")}, 0},
		{planted{"failed", ops, "that failed"}, []Version{stored(40, "x=4")}, 0},
		{planted{"overwritten", ops, "overwrote"}, []Version{stored(10, "x=1")}, 0},
		{planted{"nobody's", ops, "nobody wrote"}, []Version{stored(40, "x=9")}, 0},
		{planted{"nobody's deletion", ops, "nobody wrote"}, []Version{stored(40, "y")}, 0},
		{planted{"seen, yet not there", append(slices.Clone(ops), txnOp(8, 9, 25, OK, "x=3", "")), "did not commit"}, nil, 0},
		{planted{"seen too early", append(slices.Clone(ops), txnOp(8, 9, 25, OK, "y=3", "")), "committed later"},
			[]Version{stored(27, "x=3"), stored(27, "y=3")}, 0},
	} {
		c := Timestamps{Versions: append(slices.Clone(good), p.more...)}
		if p.drop > 0 {
			c.Versions = slices.Delete(c.Versions, p.drop-1, p.drop)
		}
		p.test(t, c.Check)
	}
}

// TestTimestampsScale checks a history as long as those of long runs.
func TestTimestampsScale(t *testing.T) {
	var ops []Op
	for i := range int64(50_000) {
		key := "k" + strconv.FormatInt(i%50, 10)
		read := key
		if i >= 50 {
			read = key + "=v" + strconv.FormatInt(i-50, 10)
		}
		ops = append(ops, txnOp(2*i+1, 2*i+2, i+1, OK, read, key+"=v"+strconv.FormatInt(i, 10)))
	}
	if err := (Timestamps{RealTime: true}).Check(numbered(ops)); err != nil {
		t.Fatal(err)
	}
}

func TestPlantedRegisters(t *testing.T) {
	initial := map[string]string{"x": "0"}
	for _, p := range []planted{
		{"serial", []Op{
			txnOp(1, 2, 0, OK, "x=0", "x=1"),
			txnOp(3, 4, 0, OK, "x=1", ""),
			txnOp(5, 6, 0, OK, "", "x"),
			txnOp(7, 8, 0, OK, "x", "")}, ""},
		{"unknown write late", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1"),
			txnOp(3, 4, 0, OK, "x=0", ""),
			txnOp(5, 6, 0, OK, "x=1", "")}, ""},
		{"unknown write to and fro", []Op{
			txnOp(1, 0, 0, Unknown, "", "x=1"),
			txnOp(3, 4, 0, OK, "x=1", ""),
			txnOp(5, 6, 0, OK, "x=0", "")}, "#3"},
		{"concurrent", []Op{
			txnOp(1, 4, 0, OK, "", "x=1"),
			txnOp(2, 3, 0, OK, "x=1", ""),
			txnOp(5, 6, 0, OK, "x=1", "")}, ""},
		{"lost acknowledged write", []Op{
			txnOp(1, 2, 0, OK, "", "x=1"),
			txnOp(3, 4, 0, OK, "x=0", "")}, "what #2 saw"},
		{"dirty read", []Op{
			txnOp(1, 2, 0, Failed, "", "x=1"),
			txnOp(3, 4, 0, OK, "x=1", "")}, "what #2 saw"},
		{"lost update", []Op{
			txnOp(1, 4, 0, OK, "x=0", "x=1"),
			txnOp(2, 5, 0, OK, "x=0", "x=2")}, "#2"},
		{"duplicated effect", []Op{
			txnOp(1, 2, 0, OK, "", "x=1"),
			txnOp(3, 4, 0, OK, "", "x=2"),
			txnOp(5, 6, 0, OK, "x=2", ""),
			txnOp(7, 8, 0, OK, "x=1", "")}, "what #4 saw"},
	} {
		p.test(t, Linearizable{Initial: initial}.Check)
	}
	var page bytes.Buffer
	ops := numbered([]Op{txnOp(1, 2, 0, OK, "", "x=1"), txnOp(3, 4, 0, OK, "x=0", "")})
	if err := (Linearizable{}).Visualize(&page, ops, "x"); err != nil || !strings.Contains(page.String(), "<html") {
		t.Fatal("no page: ", err)
	}
}

// TestUndecided shows that what is too hard is said to be so.
func TestUndecided(t *testing.T) {
	var ops []Op
	for i := range maxKeyOps + 1 {
		ops = append(ops, txnOp(int64(2*i+1), int64(2*i+2), 0, OK, "x=0", ""))
	}
	var u *Undecided
	if err := (Linearizable{}).Check(numbered(ops)); !errors.As(err, &u) {
		t.Fatal("too long a history: ", err)
	}
	if err := (Linearizable{}).Check(numbered([]Op{txnOp(1, 2, 0, OK, "x=0 y=0", "")})); !errors.As(err, &u) {
		t.Fatal("two keys: ", err)
	}
	bank := Bank{Initial: map[string]int64{"a": 0, "b": 0}}
	var transfers []Op
	for range 60 { // an odd amount can't be made of even ones, but who tries them all?
		transfers = append(transfers, Op{Kind: BankTransfer, Transfer: &Transfer{"a", "b", 2}},
			Op{Kind: BankTransfer, Transfer: &Transfer{"b", "a", 2}})
	}
	if err := bank.Check(numbered(transfers), map[string]int64{"a": 1, "b": -1}); !errors.As(err, &u) {
		t.Fatal("too many unknown transfers: ", err)
	}
}

func TestPlantedBank(t *testing.T) {
	bank := Bank{Initial: map[string]int64{"a": 10, "b": 10, "c": 10}, NonNegative: true}
	transfer := func(outcome Outcome, from, to string, amount int64) Op {
		return Op{Kind: BankTransfer, Outcome: outcome, Transfer: &Transfer{from, to, amount}}
	}
	snapshot := func(reads string) Op {
		op := txnOp(0, 0, 0, OK, reads, "")
		op.Kind = BankSnapshot
		return op
	}
	ops := []Op{transfer(OK, "a", "b", 3), transfer(Unknown, "b", "c", 4), transfer(Failed, "c", "a", 5)}
	final := func(a, b, c int64) func([]Op) error {
		return func(ops []Op) error { return bank.Check(ops, map[string]int64{"a": a, "b": b, "c": c}) }
	}
	planted{"unknown one happened", ops, ""}.test(t, final(7, 9, 14))
	planted{"unknown one did not", ops, ""}.test(t, final(7, 13, 10))
	planted{"lost", ops, "account a holds 10"}.test(t, final(10, 10, 10))
	planted{"twice", ops, "account a holds 4"}.test(t, final(4, 16, 10))
	planted{"half of the unknown one", ops, "no choice"}.test(t, final(7, 9, 10))
	planted{"failed one happened", ops, "account a holds 12"}.test(t, final(12, 13, 5))
	none := func(ops []Op) error { return bank.Check(ops, nil) }
	planted{"whole snapshot", []Op{snapshot("a=7 b=13 c=10")}, ""}.test(t, none)
	planted{"torn snapshot", []Op{snapshot("a=7 b=10 c=10")}, "sums up to 27"}.test(t, none)
	planted{"short snapshot", []Op{snapshot("a=20 b=10")}, "2 accounts of 3"}.test(t, none)
	planted{"overdrawn", []Op{snapshot("a=-1 b=21 c=10")}, "overdrawn"}.test(t, none)
}

func TestPlantedRing(t *testing.T) {
	ring := NewRing("", 4)
	op := func(kind, reads string) []Op {
		op := txnOp(0, 0, 0, OK, reads, "")
		op.Kind = kind
		return []Op{op}
	}
	planted{"whole", op(RingSnapshot, "000=002 002=001 001=003 003=000"), ""}.test(t, ring.Check)
	planted{"two rings", op(RingSnapshot, "000=001 001=000 002=003 003=002"), "ring of 2 keys"}.test(t, ring.Check)
	planted{"a tail", op(RingSnapshot, "000=001 001=002 002=001 003=000"), "runs into itself"}.test(t, ring.Check)
	planted{"a hole", op(RingSnapshot, "000=001 001=002 002=003"), "lacks key 003"}.test(t, ring.Check)
	planted{"no key", op(RingSnapshot, "000=001 001=9 002=003 003=000"), "no key"}.test(t, ring.Check)
	planted{"splice", op(RingSplice, "001=002 002=003 003=000"), ""}.test(t, ring.Check)
	planted{"torn splice", op(RingSplice, "001=002 002=001 001=002"), "never together"}.test(t, ring.Check)
}

func TestHistoryOrder(t *testing.T) {
	h := NewHistory()
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for range 50 {
				p := h.Begin(Op{Client: c, Kind: "txn"})
				p.Op.TS = TS{Wall: 1}
				p.Done(OK, nil)
			}
		})
	}
	wg.Wait()
	h.Begin(Op{Client: 9})
	ops := h.Ops()
	if len(ops) != 201 || h.Len() != 201 || ops[200].Outcome != Unknown || ops[200].Return != 0 {
		t.Fatal("the open operation is missing: ", ops[len(ops)-1])
	}
	seen := map[int64]bool{}
	last := map[int]int64{}
	for i, op := range ops[:200] {
		if op.ID != i+1 || op.Invoke >= op.Return || seen[op.Invoke] || seen[op.Return] || op.Invoke <= last[op.Client] || op.Outcome != OK || op.TS.IsZero() {
			t.Fatal("out of order: ", op)
		}
		seen[op.Invoke], seen[op.Return], last[op.Client] = true, true, op.Return
	}
}

func TestHistoryLines(t *testing.T) {
	h := NewHistory()
	p := h.Begin(Op{Client: 1, Kind: BankTransfer, Transfer: &Transfer{"a", "b", 3}})
	p.Op.TS = TS{5, 1}
	p.Done(Failed, errors.New("no"))
	h.Begin(txnOp(0, 0, 0, OK, "x=1 y", "z=2"))
	var lines bytes.Buffer
	if err := Write(&lines, h.Ops()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&lines)
	if err != nil || !reflect.DeepEqual(got, h.Ops()) {
		t.Fatalf("%v\n%v\n%v", err, got, h.Ops())
	}
	if _, err := Read(strings.NewReader(`{"outcome":"perhaps"}`)); err == nil {
		t.Fatal("read an outcome that does not exist")
	}
	if only := Only(got, "txn"); len(only) != 1 || !slices.Equal(only[0].Writes, []Access{{Key: "z", Value: "2"}}) {
		t.Fatal(only)
	}
}
