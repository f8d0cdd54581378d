package typeio

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func parseEnum(t *types.T, s string) (types.Datum, error) {
	d, ok := types.EnumValue(t, s)
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", t.SQLName, s)
	}
	return d, nil
}

// appendEnum prints a label. A value inside of a record may come without its
// type; then the label is not known here.
func appendEnum(dst []byte, t *types.T, d types.Datum, _ *types.FormatContext) []byte {
	if t.Def != nil {
		for i := range t.Def.Labels {
			if t.Def.Labels[i].Rank == d.Str() {
				return append(dst, t.Def.Labels[i].Name...)
			}
		}
	}
	return append(dst, "?"...)
}
