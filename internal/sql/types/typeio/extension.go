package typeio

import (
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/intquery"
	"github.com/lichendb/lichen/internal/sql/ltree"
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

// labelsVersion stands before the text in the binary form of paths of labels and of queries for them.
const labelsVersion = 1

func parseLabels(s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	return types.NewLabels(s), ltree.Check(s, fc.CountSteps)
}

// parseQuery reads a value of the types of extensions that are queries, and puts it into its normal form.
func parseQuery(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	var q interface{ AppendText(dst []byte) []byte }
	var err error
	switch t.Oid {
	case types.Lquery.Oid:
		q, err = ltree.ParsePattern(s, fc.CountSteps)
	case types.Ltxtquery.Oid:
		q, err = ltree.ParseTextQuery(s, fc.CountSteps)
	default:
		q, err = intquery.Parse(s, fc.CountSteps)
	}
	if err != nil {
		return types.Null, err
	}
	return types.NewOpaque(string(q.AppendText(nil))), nil
}

// versioned reads a text behind its version.
func (m *message) versioned(t *types.T) (types.Datum, error) {
	if v := m.take(1); len(v) == 1 && v[0] != labelsVersion {
		return types.Null, errBinary("unsupported %s version number %d", t.Name, v[0])
	}
	return ParseText(t, m.restText(), m.fc)
}
