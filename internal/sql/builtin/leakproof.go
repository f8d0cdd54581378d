package builtin

import (
	_ "embed" // for leakproof.txt
	"strconv"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// leakproofLines are the oids and names of the functions that PostgreSQL calls leakproof.
//
//go:embed leakproof.txt
var leakproofLines string

var leakproofOids = sync.OnceValue(func() map[uint32]bool {
	oids := map[uint32]bool{}
	for line := range strings.Lines(leakproofLines) {
		num, _, _ := strings.Cut(line, " ")
		oid, err := strconv.ParseUint(num, 10, 32)
		must.NoError(err, "builtin: line %q of leakproof.txt", line)
		oids[uint32(oid)] = true
	}
	return oids
})

// Leakproof reports whether a function or operator tells nobody of its arguments but by its result: it neither fails nor
// sends messages for some values. It may be called for rows that the user must not see.
func Leakproof(o *call.Overload) bool {
	if o.Routine != nil {
		return o.Leakproof
	}
	if o.Operator {
		if o = OperatorCode(o); o == nil {
			return false
		}
	}
	return leakproofOids()[o.Oid]
}
