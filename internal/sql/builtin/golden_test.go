package builtin

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// goldenFile holds calls with what PostgreSQL 15 answers, one per line and
// tab-separated: f (function) or o (operator), name, argument types, arguments
// as a JSON array of texts, and the result as JSON text, null, or {"code",
// "message"} of the error. The session's time zone is America/New_York.
const goldenFile = "testdata/golden.tsv"

type goldenError struct{ Code, Message string }

func testContext(t testing.TB) *call.Context {
	t.Helper()
	fc := types.NewFormatContext()
	loc, ok := datetime.LoadZone("America/New_York", fc)
	if !ok {
		t.Fatal("no time zone")
	}
	fc.TimeZone = loc
	fc.Zones = types.NewZoneCache()
	now := time.Date(2024, 5, 17, 12, 34, 56, 789000000, time.UTC)
	fc.Now = now
	micros := types.MicrosFromTime(now)
	return &call.Context{Format: fc, StmtTime: micros, TxnTime: micros, Now: func() time.Time { return now }}
}

func typeNamed(t testing.TB, name string) *types.T {
	t.Helper()
	typ, ok := types.ByName(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return typ
}

// evalCall resolves and evaluates one call with arguments given as text.
func evalCall(t testing.TB, c *call.Context, kind, name string, ts []*types.T, texts []*string) (types.Datum, *types.T, error) {
	t.Helper()
	args := make([]types.Datum, len(ts))
	consts := make([]*types.Datum, len(ts))
	resolve := ResolveFunction
	if kind == "o" {
		resolve = ResolveOperator
	}
	o, err := resolve(name, ts)
	if err != nil {
		return types.Null, nil, err
	}
	params, ret, err := o.Signature(ts)
	if err != nil {
		return types.Null, nil, err
	}
	for i, s := range texts {
		if s != nil {
			if args[i], err = typeio.ParseText(params[i], *s, c.Format); err != nil {
				return types.Null, nil, err
			}
		}
		consts[i] = &args[i]
	}
	d, err := o.Call(c, params, args)
	if err != nil || o.Volatility == call.Volatile {
		return d, ret, err
	}
	for i := range args {
		if o.Strict && args[i].IsNull() {
			return d, ret, nil
		}
	}
	f, err := o.Bound(call.Binding{Types: params, Consts: consts})
	if err != nil {
		t.Errorf("%s: bound with constants: %v", o, err)
		return d, ret, nil
	}
	if again, err := f(c, args); err != nil || again.IsNull() != d.IsNull() || !d.IsNull() && types.Compare(again, d) != 0 {
		t.Errorf("%s: bound with constants gives %v, %v", o, again, err)
	}
	return d, ret, nil
}

// resultText renders a result as PostgreSQL's cast to text does.
func resultText(c *call.Context, ret *types.T, d types.Datum) string {
	if ret.Is(types.Bool) {
		if d.Bool() {
			return "true"
		}
		return "false"
	}
	return typeio.FormatDatum(ret, d, c.Format)
}

func TestGolden(t *testing.T) {
	file := goldenFile
	if f := os.Getenv("LICHEN_GOLDEN"); f != "" {
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
		if len(w) != 5 {
			t.Fatalf("line %d: %d fields", n, len(w))
		}
		goldenLine(t, c, w)
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func goldenLine(t *testing.T, c *call.Context, w []string) {
	t.Helper()
	var ts []*types.T
	if w[2] != "" {
		for _, n := range strings.Split(w[2], ",") {
			ts = append(ts, typeNamed(t, n))
		}
	}
	var texts []*string
	if err := json.Unmarshal([]byte(w[3]), &texts); err != nil {
		t.Fatal(err)
	}
	call := w[1] + "(" + w[2] + ") of " + w[3]
	d, ret, err := evalCall(t, c, w[0], w[1], ts, texts)
	var want goldenError
	if strings.HasPrefix(w[4], "{") {
		if jerr := json.Unmarshal([]byte(w[4]), &want); jerr != nil {
			t.Fatal(jerr)
		}
		switch {
		case err == nil:
			t.Errorf("%s: no error, want %s %s", call, want.Code, want.Message)
		case string(pgerr.CodeOf(err)) != want.Code || err.Error() != want.Message:
			t.Errorf("%s:\n\tgot  %s %s\n\twant %s %s", call, pgerr.CodeOf(err), err, want.Code, want.Message)
		}
		return
	}
	var res *string
	if jerr := json.Unmarshal([]byte(w[4]), &res); jerr != nil {
		t.Fatal(jerr)
	}
	switch {
	case err != nil:
		t.Errorf("%s: error %s %v, want %s", call, pgerr.CodeOf(err), err, w[4])
	case d.IsNull() || res == nil:
		if !d.IsNull() {
			t.Errorf("%s: got %q, want NULL", call, resultText(c, ret, d))
		} else if res != nil {
			t.Errorf("%s: got NULL, want %q", call, *res)
		}
	case resultText(c, ret, d) != *res && !closeFloat(ret, resultText(c, ret, d), *res):
		t.Errorf("%s:\n\tgot  %q\n\twant %q", call, resultText(c, ret, d), *res)
	}
}

// closeFloat reports whether two floats differ by the last digits only, which
// depend on the mathematical library.
func closeFloat(t *types.T, a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return t.Is(types.Float8) && err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-14*math.Abs(y)
}
