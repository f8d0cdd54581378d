package builtin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// longCalls take long for their arguments: as many steps as a cancelled statement may not go.
func longCalls() map[string][]types.Datum {
	str := types.NewString
	big := str(strings.Repeat("ab,", 400_000))
	list := types.NewJSON("[" + strings.Repeat("1, ", 50_000) + "1]")
	ints := types.NewArray(slices.Repeat([]types.Datum{types.NewInt(1)}, 50_000))
	return map[string][]types.Datum{
		"regexp_like ^((a*)*)\\2b$":        {str(strings.Repeat("a", 40)), str(`^((a*)*)\2b$`)},
		"regexp_like (a|b|,)*c":            {big, str("(a|b|,)*c")},
		"regexp_like (?<=c)d":              {big, str("(?<=c)d")},
		"regexp_replace a(b)":              {big, str("a(b)"), str(`\1`), str("g")},
		"regexp_count a":                   {big, str("a")},
		"regexp_count (a)\\1":              {big, str(`(a)\1`)},
		"regexp_split_to_array ,":          {big, str(",")},
		"regexp_substr c":                  {big, str("[cd]")},
		"upper":                            {big},
		"lower":                            {big},
		"translate":                        {big, str("ab"), str("ba")},
		"string_to_array":                  {big, str(",")},
		"array_positions":                  {ints, types.NewInt(2)},
		"array_cat":                        {ints, ints},
		"array_to_json":                    {ints},
		"array_append":                     {ints, types.NewInt(1)},
		"format":                           {big},
		"format %":                         {str("%1000000s"), str("x")},
		"quote_literal":                    {big},
		"quote_ident":                      {big},
		"parse_ident":                      {str(strings.Repeat("a", 100_000)), types.True},
		"width_bucket":                     {types.NewInt(2), ints},
		"jsonb_set":                        {list, types.NewArray([]types.Datum{str("7")}), types.NewJSON("2"), types.True},
		"jsonb_array_length":               {list},
		"jsonb_pretty":                     {list},
		"jsonb_strip_nulls":                {list},
		"json_array_length":                {list},
		"jsonb_path_query_array $[*] ? ()": {types.NewJSON("[" + strings.Repeat("1, ", 50_000) + "1]"), jsonpathOf("$[*] ? (@ == 2)"), types.NewJSON("{}"), types.False},
	}
}

func jsonpathOf(s string) types.Datum {
	d, err := typeio.ParseText(types.JSONPath, s, nil)
	if err != nil {
		panic(err)
	}
	return d
}

// callNamed calls the function that a case of longCalls names, of as many arguments.
func callNamed(t *testing.T, c *call.Context, name string, args []types.Datum) (types.Datum, error) {
	t.Helper()
	name, _, _ = strings.Cut(name, " ")
	for _, o := range Functions(name) {
		if len(o.Args) == len(args) && !o.IsSRF() {
			return o.Call(c, concreteTypes(o, types.Int4), args)
		}
	}
	t.Fatalf("no function %s of %d arguments", name, len(args))
	return types.Null, nil
}

// TestLongCallsEnd makes calls that take long while their statement is cancelled: each ends
// when it looks, which is after StepsPerCheck steps.
func TestLongCallsEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	cancel(cause)
	for name, args := range longCalls() {
		c := (&call.Context{Ctx: ctx}).Apart()
		if _, err := callNamed(t, c, name, args); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJoiningLooks joins large values: the call looks whether its statement goes on as often as its result is long.
func TestJoiningLooks(t *testing.T) {
	ctx := &looked{Context: t.Context()}
	args := slices.Repeat([]types.Datum{types.NewString(strings.Repeat("x", 1<<20))}, 8)
	for _, o := range append(Functions("concat"), Functions("concat_ws")...) {
		ts := slices.Repeat([]*types.T{types.Text}, len(args))
		ctx.looks = 0
		if d, err := o.Call((&call.Context{Ctx: ctx}).Apart(), ts, args); err != nil || len(d.Str()) < 7<<20 {
			t.Errorf("%s: %d bytes, %v", o.Name, len(d.Str()), err)
		}
		if ctx.looks < 100 {
			t.Errorf("%s looked %d times", o.Name, ctx.looks)
		}
	}
}

// looked is a context that counts how often it is looked at.
type looked struct {
	context.Context
	looks int
}

func (l *looked) Err() error {
	l.looks++
	return l.Context.Err()
}

// TestLargeCallsAreNotFolded: a plan keeps no large values.
func TestLargeCallsAreNotFolded(t *testing.T) {
	for _, o := range Functions("repeat") {
		if d, err := o.Fold(&call.Context{}, o.Args, []types.Datum{types.NewString("x"), types.NewInt(1_000_000)}); err == nil {
			t.Errorf("folded to %d bytes", len(d.Str()))
		}
		if d, err := o.Fold(&call.Context{}, o.Args, []types.Datum{types.NewString("x"), types.NewInt(1000)}); err != nil || len(d.Str()) != 1000 {
			t.Errorf("%d bytes, %v", len(d.Str()), err)
		}
	}
}

// TestLargeValuesAreReserved makes values that the pool has not the memory for.
func TestLargeValuesAreReserved(t *testing.T) {
	str, num := types.NewString, types.NewInt
	p := quota.NewPool("test", 1<<20)
	for name, args := range map[string][]types.Datum{
		"repeat":          {str("x"), num(50 << 20)},
		"lpad":            {str("x"), num(50 << 20), str("y")},
		"rpad":            {str("x"), num(50 << 20), str("y")},
		"format":          {str("%50000000s"), str("x")},
		"replace":         {str(strings.Repeat("x", 10_000)), str("x"), str(strings.Repeat("y", 1000))},
		"regexp_replace":  {str(strings.Repeat("x", 10_000)), str("x"), str(strings.Repeat("y", 1000)), str("g")},
		"array_fill":      {num(1), types.NewArray([]types.Datum{num(1_000_000)})},
		"string_to_array": {str(strings.Repeat("x,", 200_000)), str(",")},
	} {
		if d, err := callNamed(t, &call.Context{Values: quota.NewValues(p)}, name, args); pgerr.CodeOf(err) != pgerr.OutOfMemory {
			t.Errorf("%s: %d bytes, %v", name, len(d.Str()), err)
		}
		if p.Used() != 0 {
			t.Fatalf("%s: %d bytes leaked", name, p.Used())
		}
	}
	c := &call.Context{Values: quota.NewValues(p)}
	a := []types.Datum{types.NewJSON("[" + strings.Repeat("1,", 100_000) + "1]")}
	if err := c.Begin(a, len(a[0].Str())); pgerr.CodeOf(err) != pgerr.OutOfMemory {
		t.Errorf("json: %v", err)
	}
}
