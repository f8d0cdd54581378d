package expr

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestCallsInPlaceReserveNothing: the length of a large value is told where there is no memory for a second one,
// which upper makes.
func TestCallsInPlaceReserveNothing(t *testing.T) {
	large := []types.Datum{types.NewString(strings.Repeat("x", 2*quota.LargeValue) + " ")}
	var st State
	st.Bind(context.Background(), &call.Context{Values: quota.NewValues(quota.NewPool("test", 1))}, nil, nil)
	for _, c := range []struct {
		name string
		arg  *types.T
		want pgerr.Code
	}{
		{"length", types.Text, ""}, {"length", types.Bpchar, ""}, {"length", types.Bytea, ""},
		{"octet_length", types.Text, ""}, {"octet_length", types.Bytea, ""}, {"bit_length", types.Text, ""},
		{"upper", types.Text, pgerr.OutOfMemory},
	} {
		o, err := builtin.ResolveFunction(c.name, []*types.T{c.arg})
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.call(o, o.Eval, large, len(large[0].Str()))
		if (err == nil) != (c.want == "") || err != nil && pgerr.CodeOf(err) != c.want {
			t.Errorf("%s(%s): error %v, want %q", c.name, c.arg.Name, err, c.want)
		}
	}
}
