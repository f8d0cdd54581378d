package named

import (
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
)

// What texts and columns name is known without reading them again.
func TestNames(t *testing.T) {
	n := In(slices.Values([]string{
		"nextval('17'::regclass) + length('x''::regclass')", "", "nextval('4294967295'::regclass) - nextval('17'::regclass)",
	}))
	for oid, want := range map[uint32]bool{17: true, 4294967295: true, 1: false, 7: false, 0: false} {
		if got := n.Relation(oid); got != want {
			t.Errorf("names %d: %v", oid, got)
		}
	}
	if n.MayBeTypes() {
		t.Error("types are named that are not")
	}
	for _, text := range []string{"a::s.mood = 'ok'", "CAST(a AS s.mood) = 'ok'"} {
		if n := In(slices.Values([]string{text})); !n.MayBeTypes() {
			t.Errorf("%s names no type", text)
		}
	}
	own := &types.T{Oid: 100000, Def: &types.Def{}}
	for typ, want := range map[*types.T]bool{types.Int4: true, types.Int4Array: true, nil: true, own: false, {Elem: own}: false} {
		if got := BuiltIn(typ); got != want {
			t.Errorf("%v is built in: %v", typ, got)
		}
	}
}
