package catalog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
)

// listed are the names of the relations that a session lists; each is found by the oids of
// its parts, and what is not listed is not found.
func (s *session) listed(all ...*Table) (names []string) {
	s.t.Helper()
	if err := s.ReadPast(ctx); err != nil {
		s.t.Fatal(err)
	}
	l := s.Listing()
	for _, d := range l.Relations {
		names = append(names, d.Name)
		for oid := range oidsOf(d) {
			if s.PeekOwner(oid) != Descriptor(d) {
				s.t.Errorf("%s is not found by oid %d", d.Name, oid)
			}
		}
		if l.Relation(d.ID) != d {
			s.t.Errorf("%s is not found by its id", d.Name)
		}
	}
	for _, t := range all {
		if l.Relation(t.ID) == nil && s.PeekOwner(t.Oid) != nil {
			s.t.Errorf("%s is not listed, but found", t.Name)
		}
	}
	return names
}

// distinctParts gives the parts of a table oids of their own.
func (s *session) distinctParts(t *Table) *Table {
	s.t.Helper()
	t = t.Clone()
	for _, oid := range []*uint32{&t.Checks[0].Oid, &t.Indexes[0].Oid, &t.Indexes[0].ConstraintOid} {
		var err error
		if *oid, err = s.NewOid(ctx); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.Put(ctx, t); err != nil {
		s.t.Fatal(err)
	}
	return t
}

func (s *session) drop(t *Table) {
	s.t.Helper()
	if err := s.RemoveName(ctx, NameKey{t.Database, t.Schema, t.Name}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Remove(ctx, t.ID); err != nil {
		s.t.Fatal(err)
	}
}

func TestListing(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s, other := n.session(t), n.session(t)
	expect := func(s *session, all []*Table, want ...string) {
		t.Helper()
		if got := s.listed(all...); !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	}
	s.begin(kv.TxnOptions{})
	a := s.distinctParts(s.create("a"))
	expect(s, nil, "a")
	other.begin(kv.TxnOptions{})
	expect(other, []*Table{a})
	s.commit()
	expect(other, nil, "a")
	shared, before := other.Listing(), n.db.Clock().Now()
	if s.begin(kv.TxnOptions{}); s.Listing() != shared {
		t.Error("two sessions keep a listing each")
	}
	kvsp, sp := s.txn.Savepoint(), s.Savepoint()
	b := s.distinctParts(s.create("b"))
	expect(s, nil, "a", "b")
	if err := s.txn.RollbackTo(ctx, kvsp); err != nil {
		t.Fatal(err)
	}
	s.RollbackTo(sp)
	expect(s, []*Table{b}, "a")
	s.statement()
	oldCheck := a.Checks[0].Oid
	a = s.distinctParts(a)
	if expect(s, nil, "a"); s.PeekOwner(oldCheck) != nil {
		t.Error("a constraint that the transaction dropped is found")
	}
	if other.PeekOwner(oldCheck) == nil {
		t.Error("a constraint is not found that another transaction is about to drop")
	}
	c := s.distinctParts(s.create("c"))
	s.drop(a)
	expect(s, []*Table{a}, "c")
	expect(other, []*Table{c}, "a")
	s.commit()
	expect(other, []*Table{a}, "c")
	other.rollback()
	other.begin(kv.TxnOptions{AsOf: before, ReadOnly: true})
	expect(other, []*Table{c}, "a")
	if other.PeekNamed(ctx, a.Schema, "a") == nil || other.PeekNamed(ctx, a.Schema, "c") != nil {
		t.Error("names are looked up in the present")
	}
	other.rollback()
	other.begin(kv.TxnOptions{})
	expect(other, []*Table{a}, "c")
	other.rollback()
}

// TestCounts compares the counts, which change with each object, with those of all there is.
func TestCounts(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	same := func() {
		t.Helper()
		fresh := &Store{counts: map[ID]*Counts{}}
		for _, d := range n.cat.committed().all {
			fresh.note(d, 1)
		}
		if got, want := s.Counts(), fresh.counts[s.db.ID]; got != *want {
			t.Errorf("counts %+v, want %+v", got, *want)
		}
	}
	same()
	s.begin(kv.TxnOptions{})
	a := s.create("a")
	s.create("b")
	s.commit()
	same()
	before := s.Counts()
	if before.Tables != 2 || before.Columns != 4 || before.Checks != 2 {
		t.Errorf("counts %+v", before)
	}
	s.begin(kv.TxnOptions{})
	a = a.Clone()
	a.Checks, a.Comment = nil, "a table"
	if err := s.Put(ctx, a); err != nil {
		t.Fatal(err)
	}
	if s.Counts() != before {
		t.Error("a change that is not committed is counted")
	}
	s.commit()
	same()
	s.begin(kv.TxnOptions{})
	s.drop(a)
	s.commit()
	same()
	if s.Counts().Tables != 1 {
		t.Errorf("counts %+v", s.Counts())
	}
}

// TestContentsFollow: what is listed after each of many changes is what there is, in the order of ids,
// however many of them came since it was listed last.
func TestContentsFollow(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var tables []*Table
	for i := range 200 {
		s.begin(kv.TxnOptions{})
		for j := range 1 + rng.IntN(4) {
			if k := rng.IntN(len(tables) + 1); k < len(tables) && rng.IntN(3) == 0 {
				s.drop(tables[k])
				tables = slices.Delete(tables, k, k+1)
				continue
			}
			tables = append(tables, s.create(fmt.Sprintf("t%d_%d", i, j)))
		}
		s.commit()
		if rng.IntN(3) == 0 {
			continue
		}
		var want []Descriptor
		for _, id := range slices.Sorted(maps.Keys(n.cat.objects)) {
			want = append(want, n.cat.objects[id].cur.Load().desc)
		}
		if got := n.cat.committed().all; !slices.Equal(got, want) {
			t.Fatalf("change %d: %d descriptors are listed, there are %d", i, len(got), len(want))
		}
	}
}
