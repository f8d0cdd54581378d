package inverted

import (
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Markers of the tokens of arrays.
const (
	markElement = 'e'
	markNull    = 'n'
	markEmpty   = 'z' // the only token of an array without elements
)

// elements returns the tokens of the elements, and whether there are NULLs.
func elements(t *types.T, d types.Datum, fc *types.FormatContext) (tokens []string, nulls bool) {
	var buf []byte
	for _, e := range d.ArrayElems() {
		if fc.Stopped(1) {
			break
		}
		if e.IsNull() {
			nulls = true
			continue
		}
		buf = rowcodec.AppendOrdered(buf[:0], t.Elem, e)
		tokens = append(tokens, tokenOf(markElement, string(buf)))
	}
	return tokens, nulls
}

func arrayTokens(t *types.T, d types.Datum, fc *types.FormatContext) []string {
	tokens, nulls := elements(t, d, fc)
	if nulls {
		tokens = append(tokens, string(markNull))
	}
	if len(tokens) == 0 {
		tokens = append(tokens, string(markEmpty))
	}
	return tokens
}

func formulas(tokens []string) []*Formula {
	out := make([]*Formula, len(tokens))
	for i, t := range tokens {
		out[i] = token(t)
	}
	return out
}

// arrayContains: a NULL is contained in nothing.
func arrayContains(t *types.T, d types.Datum, o Options) *Formula {
	tokens, nulls := elements(t, d, o.Format)
	if nulls {
		return none
	}
	return And(formulas(tokens)...)
}

func arrayContained(t *types.T, d types.Datum, o Options) *Formula {
	tokens, _ := elements(t, d, o.Format)
	return Or(formulas(append(tokens, string(markEmpty)))...)
}

func arrayOverlaps(t *types.T, d types.Datum, o Options) *Formula {
	tokens, _ := elements(t, d, o.Format)
	return Or(formulas(tokens)...)
}

func arrayEquals(t *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(arrayTokens(t, d, o.Format))...)
}
