package searchfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// queryTextFunctions declares the functions that run the text of a query.
func queryTextFunctions() []*call.Overload {
	names, ts := []string{"word", "ndoc", "nentry"}, []*types.T{types.Text, types.Int4, types.Int4}
	return []*call.Overload{
		call.SRF("ts_stat(text) setof record", wordCounts).Volatile().Columns(names, ts),
		call.SRF("ts_stat(text,text) setof record", wordCounts).Volatile().Columns(names, ts),
		call.Fn("ts_rewrite(tsquery,text) tsquery", rewriteByQuery).Volatile(),
	}
}

// queryOf runs the query of a function and hands over its rows, all of whose columns have the type t.
func queryOf(c *call.Context, text, what string, n int, t *types.T, row func([]types.Datum) error) error {
	s, err := c.NeedSession()
	if err != nil {
		return err
	}
	return s.Query(text, func(ts []*types.T) error {
		if len(ts) != n || slices.ContainsFunc(ts, func(have *types.T) bool { return !have.Is(t) }) {
			return pgerr.New(pgerr.InvalidParameterValue, "%s", what)
		}
		return nil
	}, func(r []types.Datum) error {
		if err := c.Step(1); err != nil || slices.ContainsFunc(r, types.Datum.IsNull) {
			return err
		}
		return row(r)
	})
}

// maxCountedWords bounds the words that ts_stat counts.
const maxCountedWords = 1 << 20

// wordCounts is ts_stat: in how many of the query's documents each word stands and how often, with one of the
// given weights.
func wordCounts(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	weights := uint8(0)
	if len(a) == 2 {
		for _, letter := range []byte(a[1].Str()) {
			if w, ok := textsearch.ParseWeight(letter); ok {
				weights |= 1 << w
			}
		}
	}
	type count struct{ documents, entries int64 }
	counts := map[string]*count{}
	err := queryOf(c, a[0].Str(), "ts_stat query must return one tsvector column", 1, types.TSVector, func(r []types.Datum) error {
		for _, l := range r[0].TSVector(c.Format) {
			if err := c.Step(1); err != nil {
				return err
			}
			n := occurrences(l, weights)
			if n == 0 {
				continue
			}
			of := counts[l.Word]
			if of == nil {
				if len(counts) == maxCountedWords {
					return pgerr.New(pgerr.ProgramLimitExceeded, "ts_stat counts %d words at most", maxCountedWords)
				}
				of = &count{}
				counts[l.Word] = of
			}
			of.documents++
			of.entries += n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows := make([][]types.Datum, 0, len(counts))
	for word, n := range counts {
		rows = append(rows, []types.Datum{types.NewString(word), types.NewInt(n.documents), types.NewInt(n.entries)})
	}
	slices.SortFunc(rows, func(a, b []types.Datum) int { return types.Compare(a[0], b[0]) })
	return call.NewRows(rows), nil
}

// occurrences counts the positions of a word that have one of some weights, or all without any; a word without
// positions stands once.
func occurrences(l textsearch.Lexeme, weights uint8) (n int64) {
	if weights == 0 {
		return int64(max(len(l.Positions), 1))
	}
	for _, p := range l.Positions {
		if weights>>p.Weight&1 != 0 {
			n++
		}
	}
	return n
}

// rewriteByQuery is ts_rewrite with the replacements that a query returns, one after the other.
func rewriteByQuery(c *call.Context, a []types.Datum) (types.Datum, error) {
	q := a[0].TSQuery()
	err := queryOf(c, a[1].Str(), "ts_rewrite query must return two tsquery columns", 2, types.TSQuery, func(r []types.Datum) error {
		if target := r[0].TSQuery(); q != nil && target != nil {
			q = q.Rewrite(target, r[1].TSQuery())
		}
		if q.Height() > textsearch.MaxQueryHeight {
			_, err := queryResult(q)
			return err
		}
		return nil
	})
	if err != nil {
		return types.Null, err
	}
	return queryResult(q)
}
