package builtin

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// restrictedOids are the functions that PostgreSQL keeps from everybody but superusers at first, in ascending order
// (pgcatalog.TestRoutines compares them with procs.txt).
var restrictedOids = []uint32{
	2172, 2274, 2282, 2307, 2621, 2622, 2623, 2624, 2625, 2739, 2848, 3071, 3072, 3098, 3293, 3295, 3297, 3307, 3329,
	3353, 3354, 3400, 3401, 3436, 3775, 3776, 3777, 3800, 3801, 3826, 3827, 3828, 4543, 5029, 5030, 5031, 5052, 6003,
	6004, 6005, 6006, 6007, 6008, 6009, 6010, 6011, 6012, 6013, 6014, 6170, 6230, 6232, 6250, 6270, 6271, 6272,
}

// restrict marks what is kept from everybody.
func (r *registry) restrict() {
	for _, o := range r.all {
		if _, found := slices.BinarySearch(restrictedOids, o.Oid); found && !o.Operator {
			o.Restricted = true
		}
	}
}

// Privileged returns the function whose privilege EXECUTE a call takes: for an operator that behind it.
func Privileged(o *call.Overload) *call.Overload {
	if o.Operator {
		return OperatorCode(o)
	}
	return o
}
