package inverted

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Markers of the tokens of gin_hstore_ops beside markKey: a pair, and one whose value is NULL.
const (
	markPair     = 'v'
	markNullPair = 'u'
)

// hstoreTokens returns the keys and the pairs of a value: where PostgreSQL's class has values by themselves, so that pairs are
// looked at again, here a pair is one token.
func hstoreTokens(_ *types.T, d types.Datum, fc *types.FormatContext) []string {
	var out []string
	for p := range hstore.All(d.Str()) {
		if fc.Stopped(1) {
			break
		}
		out = append(out, tokenOf(markKey, p.Key), pairToken(p))
	}
	return out
}

func pairToken(p hstore.Pair) string {
	text := string(binary.AppendUvarint(nil, uint64(len(p.Key)))) + p.Key + p.Value
	if p.Null {
		return tokenOf(markNullPair, text)
	}
	return tokenOf(markPair, text)
}

func hstoreContains(_ *types.T, d types.Datum, o Options) *Formula {
	var pairs []*Formula
	for p := range hstore.All(d.Str()) {
		if o.Format.Stopped(1) {
			break
		}
		pairs = append(pairs, token(pairToken(p)))
	}
	return And(pairs...)
}
