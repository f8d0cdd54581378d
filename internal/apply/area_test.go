package apply

import (
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestArea: a command that does nothing but write versions of keys of one table says so, and no other one does.
func TestArea(t *testing.T) {
	one, other := keys.IndexPrefix(1, 7, 1), keys.IndexPrefix(1, 8, 1)
	key := func(p []byte, s string) []byte { return append(p[:len(p):len(p)], s...) }
	a, _ := newApplier(t)
	index := uint64(10)
	for name, c := range map[string]struct {
		build func(b *Builder)
		want  bool
	}{
		"versions":   {func(b *Builder) { b.Put(key(one, "a"), nil); b.Tombstone(key(one, "b")) }, true},
		"two tables": {func(b *Builder) { b.Put(key(one, "c"), nil); b.Put(key(other, "a"), nil); b.Put(key(one, "d"), nil) }, false},
		"a lock": {func(b *Builder) {
			b.Put(key(one, "e"), nil)
			b.SetRaw(keys.AppendLock(nil, key(one, "e")), []byte("x"))
		}, false},
		"lock first": {func(b *Builder) {
			b.SetRaw(keys.AppendLock(nil, key(one, "e")), []byte("x"))
			b.Put(key(one, "e"), nil)
		}, false},
		"an intent": {func(b *Builder) {
			b.Provisional(kvpb.TxnID{Lo: 4}, hlc.Timestamp{WallTime: 100})
			b.Put(key(one, "f"), nil)
		}, false},
		"no operation": {func(b *Builder) {}, false},
	} {
		var b Builder
		b.Reset(kvpb.TxnID{Lo: 3}, hlc.Timestamp{WallTime: 100})
		c.build(&b)
		var got Applied
		index++
		if err := a.Entry(index, 6, AppendEntry(nil, AnyBounds, b.Bytes()), func(c Applied) { got = c }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !got.Effects || got.InArea != c.want || c.want && got.Area != keys.AreaOf(one) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
