package citextfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// inetText prints an address with its length, as the cast to text does.
func inetText(c *call.Context, a []types.Datum) (types.Datum, error) {
	cast, ok := casts.Find(types.Inet, types.Text)
	if !ok {
		return types.Null, nil
	}
	d, err := cast.Fn(c.Format, a[0], types.Text)
	return types.NewCitext(d.Str()), err
}
