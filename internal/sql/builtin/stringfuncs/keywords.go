package stringfuncs

import (
	_ "embed" // for keywords.txt
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// keywordList holds PostgreSQL's key words, a line per category: U(nreserved),
// C(olumn name), T(ype or function name), R(eserved).
//
//go:embed keywords.txt
var keywordList string

// labelKeywords cannot be a column label without AS.
const labelKeywords = `array as char character create day except fetch filter for from grant group having hour
	intersect into isnull limit minute month notnull offset on order over overlaps precision returning second to
	union varying where window with within without year`

type keyword struct {
	word     string
	category byte
}

func keywords() []keyword {
	var all []keyword
	for _, line := range strings.Split(strings.TrimSpace(keywordList), "\n") {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			all = append(all, keyword{w, words[0][0]})
		}
	}
	slices.SortFunc(all, func(a, b keyword) int { return strings.Compare(a.word, b.word) })
	return all
}

// keywordFunctions declares the list of key words.
func keywordFunctions() []*call.Overload {
	return []*call.Overload{
		call.SRF("pg_get_keywords() setof record", getKeywords).Stable().Columns(
			[]string{"word", "catcode", "barelabel", "catdesc", "baredesc"},
			[]*types.T{types.Text, types.Char, types.Bool, types.Text, types.Text}),
	}
}

// getKeywords is pg_get_keywords().
func getKeywords(*call.Context, []types.Datum) (call.RowIterator, error) {
	categories := map[byte]string{
		'U': "unreserved", 'C': "unreserved (cannot be function or type name)",
		'T': "reserved (can be function or type name)", 'R': "reserved",
	}
	needsAs := map[string]bool{}
	for _, w := range strings.Fields(labelKeywords) {
		needsAs[w] = true
	}
	var rows [][]types.Datum
	for _, k := range keywords() {
		label := "can be bare label"
		if needsAs[k.word] {
			label = "requires AS"
		}
		rows = append(rows, []types.Datum{
			types.NewString(k.word), types.NewString(string(k.category)), types.NewBool(!needsAs[k.word]),
			types.NewString(categories[k.category]), types.NewString(label),
		})
	}
	return call.NewRows(rows), nil
}
