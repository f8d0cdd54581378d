package keys

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// constructed is one key of every kind, with the span it must lie in.
func constructed(id, other uint64, user []byte, txn [16]byte) map[string][]byte {
	return map[string][]byte{
		"StoreIdent":        StoreIdent(),
		"RangeAppliedState": RangeAppliedState(id),
		"RangeDescriptor":   RangeDescriptor(id),
		"RangeGCThreshold":  RangeGCThreshold(id),
		"RangeTombstone":    RangeTombstone(id),
		"RangeReplicaID":    RangeReplicaID(id),
		"RangeSnapshotMark": RangeSnapshotMark(id),
		"Lock":              Lock(user),
		"TxnRecord":         TxnRecord(user, txn),
		"Meta":              Meta(user),
		"SystemKey":         SystemKey(string(user)),
		"Table":             AppendFamily(append(IndexPrefix(id, other, 1), user...), 0),
	}
}

func TestRegionsDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, other := rapid.Uint64().Draw(t, "id"), rapid.Uint64().Draw(t, "other")
		user := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "user")
		all := constructed(id, other, user, [16]byte{1})
		seen := map[string]string{}
		for name, key := range all {
			if prev, ok := seen[string(key)]; ok {
				t.Fatalf("%s and %s are both %x", name, prev, key)
			}
			seen[string(key)] = name
			replicated := name == "Meta" || name == "SystemKey" || name == "Table"
			if ReplicatedSpan().Contains(key) != replicated {
				t.Fatalf("%s: in the replicated span is %t", name, !replicated)
			}
			if rl := bytes.HasPrefix([]byte(name), []byte("Range")); RangeLocalSpan(id).Contains(key) != rl ||
				AllRangeLocalSpan().Contains(key) != rl {
				t.Fatalf("%s: in the range-local span is %t", name, !rl)
			}
			if TableDataSpan().Contains(key) != (name == "Table") {
				t.Fatalf("%s: in the table span", name)
			}
		}
		if gotID, rest, ok := DecodeRangeLocal(RangeDescriptor(id)); !ok || gotID != id || len(rest) != 1 {
			t.Fatalf("range id %d became %d", id, gotID)
		}
	})
}

func TestTablesDoNotInterleave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) uint64 {
			return rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 300)).Draw(t, name)
		}
		db1, t1, i1 := draw("db1"), draw("table1"), draw("index1")
		db2, t2, i2 := draw("db2"), draw("table2"), draw("index2")
		key := append(IndexPrefix(db2, t2, i2), rapid.SliceOf(rapid.Byte()).Draw(t, "columns")...)
		if DatabaseSpan(db1).Contains(key) != (db1 == db2) ||
			TableSpan(db1, t1).Contains(key) != (db1 == db2 && t1 == t2) ||
			IndexSpan(db1, t1, i1).Contains(key) != (db1 == db2 && t1 == t2 && i1 == i2) {
			t.Fatalf("%s is in the wrong span", Pretty(key))
		}
		db, table, index, _, ok := DecodeIndexPrefix(key)
		if !ok || db != db2 || table != t2 || index != i2 {
			t.Fatalf("%d/%d/%d became %d/%d/%d", db2, t2, i2, db, table, index)
		}
		if got := AppendIndexPrefix(AppendTablePrefix(nil, 1, 2), db2, t2, i2)[3:]; !bytes.Equal(got, IndexPrefix(db2, t2, i2)) {
			t.Fatal("the appending form differs")
		}
		if c := bytes.Compare(TablePrefix(db1, t1), TablePrefix(db1, t2)); (c < 0) != (t1 < t2) {
			t.Fatal("tables are not in the order of their ids")
		}
	})
}

func TestLocksFollowTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xff}), 1, 3)
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		if bytes.Compare(Lock(a), Lock(b)) != bytes.Compare(a, b) {
			t.Fatalf("locks on %x and %x are out of order", a, b)
		}
		if key, ok := DecodeLock(Lock(a)); !ok || !bytes.Equal(key, a) {
			t.Fatalf("lock on %x decodes to %x", a, key)
		}
		span := Span{Start: a, End: b}
		if rapid.Bool().Draw(t, "point") {
			span.End = nil
		}
		if !span.Valid() {
			return
		}
		if LockSpan(span).Contains(Lock(c)) != span.Contains(c) ||
			TxnRecordSpan(span).Contains(TxnRecord(c, [16]byte{0xff})) != span.Contains(c) {
			t.Fatalf("%x in %v: the lock or record span disagrees", c, span)
		}
	})
}

func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2}), 1, 2)
		span := func(name string) Span {
			s := Span{Start: gen.Draw(t, name), End: gen.Draw(t, name+" end")}
			if !s.Valid() {
				s.End = nil
			}
			return s
		}
		a, b := span("a"), span("b")
		overlap := false
		for x := range 3 * 3 * 3 * 3 {
			k := []byte{byte(x % 3), byte(x / 3 % 3), byte(x / 9 % 3), byte(x / 27 % 3)}
			for n := 1; n <= 4; n++ {
				overlap = overlap || a.Contains(k[:n]) && b.Contains(k[:n])
			}
		}
		if a.Overlaps(b) != overlap || b.Overlaps(a) != overlap {
			t.Fatalf("%v and %v: overlap is %t", a, b, overlap)
		}
	})
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "\xff\xff": "", "": "", "a\x00": "a\x01"} {
		if got := PrefixEnd([]byte(prefix)); string(got) != want {
			t.Errorf("PrefixEnd(%q) = %q", prefix, got)
		}
	}
	if got := Next([]byte("a")); string(got) != "a\x00" {
		t.Errorf("Next = %q", got)
	}
}

func TestPretty(t *testing.T) {
	for want, key := range map[string][]byte{
		"/Min":                            nil,
		"/Max":                            ReplicatedSpan().End,
		"/Store/Ident":                    StoreIdent(),
		"/Range/7/AppliedState":           RangeAppliedState(7),
		"/Lock/Table/1/2/3":               Lock(IndexPrefix(1, 2, 3)),
		`/System/"settings"`:              SystemKey("settings"),
		`/Table/1/300/2/"\x88\x00"`:       AppendFamily(append(IndexPrefix(1, 300, 2), 0x88), 0),
		"/Table/1":                        DatabasePrefix(1),
		`/Table/5/9/1/"\x00"`:             AppendFamily(IndexPrefix(5, 9, 1), 0),
		"/Meta/Table/1":                   Meta(DatabasePrefix(1)),
		`/Txn/Table/1/"0123456789abcdef"`: TxnRecord(DatabasePrefix(1), [16]byte([]byte("0123456789abcdef"))),
	} {
		if got := Pretty(key); got != want {
			t.Errorf("%x is %s, want %s", key, got, want)
		}
	}
	if f, err := DecodeFamily(AppendFamily(nil, 1000)); err != nil || f != 1000 {
		t.Errorf("family %d, %v", f, err)
	}
	if _, err := DecodeFamily([]byte{0, 0}); err == nil {
		t.Error("a family with bytes after it was accepted")
	}
}

func FuzzPretty(f *testing.F) {
	for _, key := range constructed(1, 2, []byte("u"), [16]byte{}) {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if Pretty(key) == "" {
			t.Fatal("empty")
		}
		DecodeRangeLocal(key)
		DecodeLock(key)
		DecodeIndexPrefix(key)
	})
}
