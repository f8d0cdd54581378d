package call_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestWeightyCallsAreSteps: calls that are short, but of much work each, end with their
// statement too.
func TestWeightyCallsAreSteps(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	cancel(cause)
	c := &call.Context{Ctx: ctx}
	d := types.NewString(strings.Repeat("9", call.WeightyBytes))
	calls := 0
	for c.BeginCast(d, types.Numeric) == nil {
		if calls++; calls > call.StepsPerCheck/call.WeightyBytes {
			t.Fatalf("%d calls", calls)
		}
	}
}

// A value that turns out a little larger than what was reserved for it is accounted for in
// full: as much is released once it is gone.
func TestValueBeyondItsReservation(t *testing.T) {
	p := quota.NewPool("test", 1<<20)
	c := &call.Context{Values: quota.NewValues(p)}
	if err := c.Begin(nil, quota.LargeValue); err != nil {
		t.Fatal(err)
	}
	size := call.Scratch*quota.LargeValue + 1000
	d, err := c.Made(types.NewString(strings.Repeat("x", size)), nil, nil)
	if err != nil || p.Used() != int64(size) {
		t.Errorf("%d bytes are reserved for %d, %v", p.Used(), len(d.Str()), err)
	}
}
