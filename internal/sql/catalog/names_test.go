package catalog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNamesInOrder puts and removes names in random order and asks for those in order now and then:
// they are always the names there are.
func TestNamesInOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	n := newNamespace(map[NameKey]NameEntry{})
	merged := 0
	for i := range 20_000 {
		k := NameKey{Database: ID(rnd.IntN(2)), Schema: ID(rnd.IntN(3)), Name: fmt.Sprint("t", rnd.IntN(200))}
		if rnd.IntN(3) > 0 {
			n.put(k, NameEntry{ID: ID(i)})
		} else {
			n.remove(k)
		}
		if rnd.IntN(50) > 0 {
			continue
		}
		if n.sorted != nil {
			merged++
		}
		n.sort()
		if want := slices.SortedFunc(maps.Keys(n.entries), compareNames); !slices.Equal(n.sorted, want) {
			t.Fatalf("after %d changes: %v\nwant %v", i, n.sorted, want)
		}
	}
	if merged < 100 {
		t.Errorf("changes were merged %d times only", merged)
	}
}
