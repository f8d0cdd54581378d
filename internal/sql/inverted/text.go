package inverted

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/trigram"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Markers of the tokens of texts.
const (
	markLexeme  = 'l'
	markTrigram = 't'
)

func vectorTokens(_ *types.T, d types.Datum, fc *types.FormatContext) []string {
	v := d.TSVector(fc)
	out := make([]string, len(v))
	for i := range v {
		out[i] = tokenOf(markLexeme, v[i].Word)
	}
	return out
}

func vectorMatches(_ *types.T, d types.Datum, _ Options) *Formula {
	q := d.TSQuery()
	if q == nil {
		return none
	}
	return queryFormula(q)
}

func queryFormula(q *textsearch.Query) *Formula {
	switch q.Op {
	case textsearch.OpNot:
		return all
	case textsearch.OpOr:
		return Or(queryFormula(q.Left), queryFormula(q.Right))
	case textsearch.OpAnd, textsearch.OpPhrase:
		return And(queryFormula(q.Left), queryFormula(q.Right))
	}
	if !q.Prefix {
		return token(tokenOf(markLexeme, q.Word))
	}
	// Longer tokens keep this many bytes of the word.
	const kept = maxToken - 32
	return &Formula{Kind: Prefix, Token: string(markLexeme) + q.Word[:min(len(q.Word), kept)]}
}

func ofTrigrams(ts []trigram.Trigram, fc *types.FormatContext) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		if fc.Stopped(1) {
			break
		}
		out[i] = string(markTrigram) + string(t[:])
	}
	return out
}

func trigramTokens(_ *types.T, d types.Datum, fc *types.FormatContext) []string {
	ts, _ := trigram.Of(d.Str(), fc.CountSteps) // Tokens returns the error
	return ofTrigrams(ts, fc)
}

func textEquals(t *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(trigramTokens(t, d, o.Format))...)
}

func likeMatches(_ *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(ofTrigrams(trigram.Pattern(d.Str()), o.Format))...)
}

func regexpMatches(_ *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(ofTrigrams(trigram.Regexp(d.Str()), o.Format))...)
}

// similar: two texts have at most as many trigrams in common as one of them has, and
// together at least as many as that one.
func similar(t *types.T, d types.Datum, o Options) *Formula {
	tokens := trigramTokens(t, d, o.Format)
	least := int(math.Ceil(o.Similarity*float64(len(tokens)) - 1e-4))
	if o.Similarity <= 0 {
		return all
	}
	return AtLeast(max(least, 1), formulas(tokens)...)
}
