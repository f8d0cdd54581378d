package coerce

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CommonType returns the type that UNION, CASE, COALESCE, VALUES, ARRAY[],
// GREATEST and IN lists give to expressions of the given types (manual, 10.5).
// context names the construct for the message ("UNION", "CASE", ...). All
// unknown gives text. Earlier types win ties, so the order matters: CASE puts
// the type of its ELSE first. The modifier survives only if all types share it, and none
// is unknown: a literal beside a varchar(3) is as long as it likes.
func CommonType(ts []*types.T, context string) (*types.T, error) {
	if len(ts) == 0 {
		return types.Text, nil
	}
	ts = undomained(ts)
	t := ts[0]
	for _, next := range ts[1:] {
		switch {
		case IsUnknown(next):
		case next.Is(t):
			if next.Typmod != t.Typmod {
				t = plain(t)
			}
		case IsUnknown(t):
			t = next
		default:
			tc, preferred := Category(t)
			nc, _ := Category(next)
			if tc != nc {
				return nil, pgerr.New(pgerr.DatatypeMismatch, "%s types %s and %s cannot be matched",
					context, t.Shown().SQLName, next.Shown().SQLName)
			}
			if !preferred && CanCoerce(t, next) && !CanCoerce(next, t) {
				t = next
			}
			t = plain(t)
		}
	}
	if IsUnknown(t) {
		return types.Text, nil
	}
	if slices.ContainsFunc(ts, IsUnknown) {
		t = plain(t)
	}
	for _, u := range ts {
		if !CanCoerce(u, t) {
			return nil, pgerr.New(pgerr.CannotCoerce, "%s could not convert type %s to %s",
				context, u.Shown().SQLName, t.Shown().SQLName)
		}
	}
	return t, nil
}

// undomained returns types as they are if all are of one domain, else the types below. An
// array of a domain is one also beside literals.
func undomained(ts []*types.T) []*types.T {
	same := true
	var first *types.T
	for _, t := range ts {
		if IsUnknown(t) {
			continue
		}
		if first == nil {
			first = t
		}
		same = same && t.Shown().Oid == first.Shown().Oid
	}
	if same && (first == nil || !first.Shown().IsDomain() || !slices.ContainsFunc(ts, IsUnknown)) {
		return ts
	}
	out := make([]*types.T, len(ts))
	for i, t := range ts {
		out[i] = t.WithDomain(nil)
	}
	return out
}
