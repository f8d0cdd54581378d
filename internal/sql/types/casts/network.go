package casts

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func addNetworkCasts(add castAdder) {
	const i, a = types.CastImplicit, types.CastAssignment
	add(types.CIDR, i, 'b', nil, types.Inet)
	add(types.Inet, a, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NetworkOf(d), nil
	}, types.CIDR)
	for _, t := range []*types.T{types.Inet, types.CIDR} {
		add(t, a, 'f', castInetText(t), types.Text, types.Varchar, types.Bpchar)
	}
	add(types.MACAddr, i, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewMAC(d.Str()[:3] + "\xff\xfe" + d.Str()[3:]), nil
	}, types.MACAddr8)
	add(types.MACAddr8, i, 'f', func(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		if d.Str()[3] != 0xff || d.Str()[4] != 0xfe {
			return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "macaddr8 data out of range to convert to macaddr").
				WithHint("Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.")
		}
		return types.NewMAC(d.Str()[:3] + d.Str()[5:]), nil
	}, types.MACAddr)
}

// castInetText prints an address with its prefix length always.
func castInetText(*types.T) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		return types.NewString(typeio.FormatDatum(types.CIDR, d, fc)), nil
	}
}
