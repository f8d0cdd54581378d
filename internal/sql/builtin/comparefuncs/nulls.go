package comparefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// nullCountFunctions declares num_nulls and num_nonnulls.
func nullCountFunctions() []*call.Overload {
	count := func(sig string, nulls bool) *call.Overload {
		return call.Fn(sig, func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			n := int64(0)
			for i := range a {
				if a[i].IsNull() == nulls {
					n++
				}
			}
			return types.NewInt(n), nil
		}).NonStrict()
	}
	return []*call.Overload{
		count("num_nulls(any...) int4", true), count("num_nonnulls(any...) int4", false),
	}
}
