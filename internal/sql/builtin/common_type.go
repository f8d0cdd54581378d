package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CommonType returns the type that UNION, CASE, COALESCE, VALUES, ARRAY[],
// GREATEST and IN lists give to expressions of the given types (manual, 10.5).
// context names the construct for the message ("UNION", "CASE", ...). All
// unknown gives text. Earlier types win ties, so the order matters: CASE puts
// the type of its ELSE first. The modifier survives only if all types share it.
func CommonType(ts []*types.T, context string) (*types.T, error) {
	if len(ts) == 0 {
		return types.Text, nil
	}
	t := ts[0]
	for _, next := range ts[1:] {
		switch {
		case isUnknown(next):
		case next.Is(t):
			if next.Typmod != t.Typmod {
				t = plain(t)
			}
		case isUnknown(t):
			t = next
		default:
			tc, preferred := typeCategory(t)
			nc, _ := typeCategory(next)
			if tc != nc {
				return nil, pgerr.New(pgerr.DatatypeMismatch, "%s types %s and %s cannot be matched",
					context, t.SQLName, next.SQLName)
			}
			if !preferred && canCoerce(t, next) && !canCoerce(next, t) {
				t = next
			}
			t = plain(t)
		}
	}
	if isUnknown(t) {
		return types.Text, nil
	}
	for _, u := range ts {
		if !canCoerce(u, t) {
			return nil, pgerr.New(pgerr.CannotCoerce, "%s could not convert type %s to %s",
				context, u.SQLName, t.SQLName)
		}
	}
	return t, nil
}
