package obs

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	var x Times
	for _, d := range []time.Duration{3, 9, 2} {
		x.Add(d)
	}
	if count, total, longest := x.Get(); count != 3 || total != 14 || longest != 9 {
		t.Error(count, total, longest)
	}
}
