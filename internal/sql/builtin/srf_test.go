package builtin

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// srfLimit bounds how many rows the tests read.
const srfLimit = 20

func runSRF(t *testing.T, c *call.Context, name string, ts []*types.T, texts []string) (string, error) {
	t.Helper()
	o, err := ResolveFunction(name, ts)
	if err != nil {
		return "", err
	}
	params, ret, err := o.Signature(ts)
	if err != nil {
		return "", err
	}
	args := make([]types.Datum, len(ts))
	for i := range args {
		if args[i], err = typeio.ParseText(params[i], texts[i], c.Format); err != nil {
			t.Fatal(err)
		}
	}
	f, err := o.BoundSRF(call.Binding{Types: params})
	if err != nil {
		return "", err
	}
	rows, err := f(c, args)
	if err != nil {
		return "", err
	}
	var out []string
	for len(out) < srfLimit {
		row, ok, err := rows.Next()
		if err != nil {
			return "", err
		}
		if !ok {
			break
		}
		s := "NULL"
		if !row[0].IsNull() {
			s = resultText(c, ret, row[0])
		}
		out = append(out, s)
	}
	return strings.Join(out, "|"), nil
}

func TestSetReturningFunctions(t *testing.T) {
	c := testContext(t)
	i4, i8, num, text, ts := types.Int4, types.Int8, types.Numeric, types.Text, types.Timestamp
	for _, tc := range []struct {
		name string
		ts   []*types.T
		args []string
		want string
	}{
		{"generate_series", []*types.T{i4, i4}, []string{"1", "3"}, "1|2|3"},
		{"generate_series", []*types.T{i4, i4}, []string{"3", "1"}, ""},
		{"generate_series", []*types.T{i4, i4, i4}, []string{"5", "1", "-2"}, "5|3|1"},
		{"generate_series", []*types.T{i8, i8, i8}, []string{"9223372036854775806", "9223372036854775807", "1"}, "9223372036854775806|9223372036854775807"},
		{"generate_series", []*types.T{num, num, num}, []string{"1", "2", "0.5"}, "1|1.5|2.0"},
		{"generate_series", []*types.T{ts, ts, types.Interval}, []string{"2024-01-31", "2024-04-30", "1 month"},
			"2024-01-31 00:00:00|2024-02-29 00:00:00|2024-03-29 00:00:00|2024-04-29 00:00:00"},
		{"generate_series", []*types.T{types.TimestampTZ, types.TimestampTZ, types.Interval}, []string{"2024-03-09 12:00-05", "2024-03-11 12:00-04", "1 day"},
			"2024-03-09 12:00:00-05|2024-03-10 12:00:00-04|2024-03-11 12:00:00-04"},
		{"generate_subscripts", []*types.T{types.Int4Array, i4}, []string{"[2:4]={1,2,3}", "1"}, "2|3|4"},
		{"unnest", []*types.T{types.TextArray}, []string{"{{a,NULL},{c,d}}"}, "a|NULL|c|d"},
		{"regexp_matches", []*types.T{text, text, text}, []string{"a1b22", "([a-z])([0-9]+)", "g"}, "{a,1}|{b,22}"},
		{"regexp_matches", []*types.T{text, text}, []string{"abc", "x"}, ""},
		{"regexp_split_to_table", []*types.T{text, text}, []string{"a b  c", " +"}, "a|b|c"},
		{"string_to_table", []*types.T{text, text, text}, []string{"a,x,c", ",", "x"}, "a|NULL|c"},
	} {
		got, err := runSRF(t, c, tc.name, tc.ts, tc.args)
		if err != nil || got != tc.want {
			t.Errorf("%s(%v): got %s, %v, want %s", tc.name, tc.args, got, err, tc.want)
		}
	}
	for _, args := range [][]string{{"1", "2", "0"}} {
		if _, err := runSRF(t, c, "generate_series", []*types.T{i4, i4, i4}, args); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
			t.Errorf("generate_series(%v): %v", args, err)
		}
	}
}
