package casts

import "github.com/lichendb/lichen/internal/sql/types"

func addRangeCasts(add castAdder) {
	for _, m := range []*types.T{types.Int4Multirange, types.Int8Multirange, types.NumMultirange, types.TSMultirange, types.TSTZMultirange, types.DateMultirange} {
		add(m.Sub, types.CastExplicit, 'f', castToMultirange, m)
	}
}

func castToMultirange(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewMultirange([]types.Range{d.Range()}, nil), nil
}
