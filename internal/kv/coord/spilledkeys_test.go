package coord

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
)

// No spilled key is forgotten, and few others are taken for one.
func TestSpilledKeys(t *testing.T) {
	const spills, writes = 5, 2000
	var s spilledKeys
	var reserved int64
	reserve := func(n int64) error { reserved += n; return nil }
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
		s.add(spill(n), reserve)
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
	if reserved != s.charged || reserved == 0 {
		t.Errorf("%d bytes are reserved, %d are charged", reserved, s.charged)
	}
	s.add(spill(spills), func(int64) error { return errors.New("no memory") })
	if !s.mayHold([]byte("any key")) {
		t.Error("a key is ruled out that may be one of a spill without a filter")
	}
}
