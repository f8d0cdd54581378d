package typeio

import "github.com/lichendb/lichen/internal/sql/types"

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
