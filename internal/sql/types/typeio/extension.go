package typeio

import (
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

func parseCitext(s string, fc *types.FormatContext) (types.Datum, error) {
	return types.NewCitext(s), types.VerifyUTF8(s, fc)
}

func parseHstore(s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	v, err := hstore.Parse(s, fc.CountSteps)
	return types.NewHstore(v), err
}

func (m *message) hstore() (types.Datum, error) {
	b := m.rest()
	v, err := hstore.Decode(b)
	if err != nil {
		return types.Null, err
	}
	for p := range hstore.All(v) {
		for _, s := range [...]string{p.Key, p.Value} {
			if err := types.VerifyUTF8(s, m.fc); err != nil {
				return types.Null, err
			}
		}
	}
	return types.NewHstore(v), nil
}
