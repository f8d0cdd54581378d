package coord

import (
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
)

// No spilled key is forgotten, and few others are taken for one.
func TestSpilledKeys(t *testing.T) {
	const spills, writes = 5, 2000
	var s spilledKeys
	pool := quota.NewPool("test", 1<<20)
	s.acc.Init(pool)
	spill := func(n int) (requests []kvpb.SpillRequest) {
		for i := range writes {
			if i%500 == 0 {
				requests = append(requests, kvpb.SpillRequest{})
			}
			r := &requests[len(requests)-1]
			r.Writes = append(r.Writes, kvpb.Write{Key: fmt.Appendf(nil, "key %d of %d", i, n)})
		}
		return requests
	}
	for n := range spills {
		s.add(spill(n))
	}
	wrong := 0
	for n := range spills + 1 {
		for i := range writes {
			held := s.mayHold(fmt.Appendf(nil, "key %d of %d", i, n))
			if !held && n < spills {
				t.Fatalf("key %d of spill %d is forgotten", i, n)
			}
			if held && n == spills {
				wrong++
			}
		}
	}
	if wrong > writes/10 {
		t.Errorf("%d of %d other keys are taken for spilled ones", wrong, writes)
	}
	held := int64(0)
	for _, f := range s.filters {
		held += f.bytes()
	}
	if held != s.acc.Used() || held == 0 || pool.Used() < held {
		t.Errorf("the filters have %d bytes, %d are charged, %d reserved", held, s.acc.Used(), pool.Used())
	}
	if err := pool.Reserve(1<<20 - pool.Used()); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < maxFilters && !s.unknown; i++ { // until what the account has in advance is used up
		s.add(spill(spills))
	}
	if len(s.filters) == maxFilters {
		t.Error("filters are made without memory")
	}
	if !s.mayHold([]byte("any key")) {
		t.Error("a key is ruled out that may be one of a spill without a filter")
	}
}
