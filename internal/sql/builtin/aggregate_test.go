package builtin

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// TestAggregateGolden compares aggregates with PostgreSQL's results. The lines
// are those of goldenFile, with an array of rows for the arguments. Every case
// runs twice: in one accumulator, and in two that are merged.
func TestAggregateGolden(t *testing.T) {
	file := "testdata/aggregates.tsv"
	if f := os.Getenv("LICHEN_AGGREGATES"); f != "" {
		file = f
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c := testContext(t)
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<24)
	n := 0
	for sc.Scan() {
		n++
		w := strings.Split(sc.Text(), "\t")
		for _, split := range []bool{false, true} {
			aggregateLine(t, c, w, split)
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func aggregateLine(t *testing.T, c *call.Context, w []string, split bool) {
	t.Helper()
	var ts []*types.T
	if w[2] != "" {
		for _, n := range strings.Split(w[2], ",") {
			ts = append(ts, typeNamed(t, n))
		}
	}
	var rows [][]*string
	if err := json.Unmarshal([]byte(w[3]), &rows); err != nil {
		t.Fatal(err)
	}
	call := w[1] + "(" + w[2] + ") of " + w[3]
	d, ret, err := aggregateRows(t, c, w[1], ts, rows, split)
	var want goldenError
	if strings.HasPrefix(w[4], "{") {
		if jerr := json.Unmarshal([]byte(w[4]), &want); jerr != nil {
			t.Fatal(jerr)
		}
		if string(pgerr.CodeOf(err)) != want.Code || err.Error() != want.Message {
			t.Errorf("%s: got %v, %v, want %s %s", call, d, err, want.Code, want.Message)
		}
		return
	}
	var res *string
	if jerr := json.Unmarshal([]byte(w[4]), &res); jerr != nil {
		t.Fatal(jerr)
	}
	switch {
	case err != nil:
		t.Errorf("%s: error %v, want %s", call, err, w[4])
	case d.IsNull() != (res == nil):
		t.Errorf("%s: got NULL %v, want %s", call, d.IsNull(), w[4])
	case res != nil && resultText(c, ret, d) != *res && !closeFloat(ret, resultText(c, ret, d), *res):
		t.Errorf("%s:\n\tgot  %q\n\twant %q", call, resultText(c, ret, d), *res)
	}
}

func aggregateRows(t *testing.T, c *call.Context, name string, ts []*types.T, rows [][]*string, split bool) (types.Datum, *types.T, error) {
	t.Helper()
	a, err := ResolveAggregate(name, ts)
	if err != nil {
		return types.Null, nil, err
	}
	params, ret, err := a.Signature(ts)
	if err != nil {
		return types.Null, nil, err
	}
	accs := []call.Accumulator{a.New(params)}
	if split {
		accs = append(accs, a.New(params))
	}
	args := make([]types.Datum, len(ts))
	for i, row := range rows {
		for j, s := range row {
			args[j] = types.Null
			if s != nil {
				if args[j], err = typeio.ParseText(params[j], *s, c.Format); err != nil {
					t.Fatal(err)
				}
			}
		}
		which := 0
		if split && i >= len(rows)/2 {
			which = 1
		}
		if err := accs[which].Add(c, args); err != nil {
			return types.Null, ret, err
		}
	}
	if split {
		if err := accs[0].Merge(accs[1]); err != nil {
			return types.Null, ret, err
		}
	}
	if accs[0].SizeBytes() <= 0 {
		t.Errorf("%s: size %d", name, accs[0].SizeBytes())
	}
	d, err := accs[0].Result(c)
	accs[0].Reset()
	if empty, err2 := accs[0].Result(c); err2 != nil || name != "count" && !empty.IsNull() {
		t.Errorf("%s: after Reset: %v, %v", name, empty, err2)
	}
	return d, ret, err
}
