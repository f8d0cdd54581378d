package builtin

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestResolveGolden compares overload resolution with PostgreSQL's, which has the
// extension pg_trgm. A line is
// kind (f, o), name, argument types ("unknown" for an untyped literal) and the
// result type, or "!" and the SQLSTATE.
func TestResolveGolden(t *testing.T) {
	file := "testdata/resolve.tsv"
	if f := os.Getenv("LICHEN_RESOLVE"); f != "" {
		file = f
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sc := bufio.NewScanner(in)
	n := 0
	for sc.Scan() {
		n++
		w := strings.Split(sc.Text(), "\t")
		var ts []*types.T
		for _, name := range strings.Split(w[2], ",") {
			ts = append(ts, typeNamed(t, name))
		}
		if got := resolveText(w[0], w[1], ts); got != w[3] {
			t.Errorf("%s(%s): got %s, want %s", w[1], w[2], got, w[3])
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func resolveText(kind, name string, ts []*types.T) string {
	resolve := ResolveFunction
	switch {
	case kind == "o":
		resolve = func(name string, ts []*types.T) (*call.Overload, error) { // as with pg_trgm, which the answers were given with
			return ResolveOperatorSeeing(name, ts, func(extension string) bool { return extension == "pg_trgm" })
		}
	case Functions(name) == nil:
		resolve = func(name string, ts []*types.T) (*call.Overload, error) {
			a, err := ResolveAggregate(name, ts)
			if err != nil {
				return nil, err
			}
			return &a.Overload, nil
		}
	}
	o, err := resolve(name, ts)
	if err != nil {
		return "!" + string(pgerr.CodeOf(err))
	}
	_, ret, err := o.Signature(ts)
	if err != nil {
		return "!" + string(pgerr.CodeOf(err))
	}
	return ret.SQLName
}
