package scan

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Bounds of the rows that a scan looks for at a time through an inverted index.
const (
	firstTokenRows = 16
	maxTokenRows   = 1024
	minPostings    = 16 // entries of a token read at a time, at the least
)

// tokenSource finds the keys of rows through an inverted index.
type tokenSource struct {
	run   *operator.Run
	x     *inverted.Index
	conds [][]tokenExpr
	rows  postings // nil at the end
	next  []byte   // where the rows go on
	ahead int      // how many to look for next
	page  int      // most entries of a token to read at a time
}

// tokenExpr is a compiled plan.TokenCond.
type tokenExpr struct {
	op    string
	value expr.Func
}

func newTokenSource(c *operator.Compiler, t *catalog.Table, n *plan.TokenScan) (*tokenSource, error) {
	if n == nil {
		return nil, nil
	}
	x, err := inverted.Compile(t, n.Index)
	if err != nil {
		return nil, err
	}
	s := &tokenSource{run: c.Run, x: x}
	for _, alts := range n.Conds {
		list := make([]tokenExpr, len(alts))
		for i, a := range alts {
			list[i].op = a.Op
			if list[i].value, err = c.Expr(a.Value, nil); err != nil {
				return nil, err
			}
		}
		s.conds = append(s.conds, list)
	}
	return s, nil
}

// open evaluates the conditions; all tells that they leave every row.
func (s *tokenSource) open() (all bool, err error) {
	s.close()
	o := inverted.Options{Similarity: similarity(&s.run.State), Format: s.run.Format()}
	every := make([]*inverted.Formula, len(s.conds))
	for i, list := range s.conds {
		alts := make([]*inverted.Formula, len(list))
		for j, c := range list {
			d, err := c.value(nil)
			if err != nil {
				return false, err
			}
			alts[j] = &inverted.Formula{Kind: inverted.None}
			if !d.IsNull() {
				alts[j] = s.x.Class.Query(s.x.Type(), c.op, d, o)
			}
		}
		every[i] = inverted.Or(alts...)
	}
	if err := s.run.Builtin.Stopped(); err != nil {
		return false, err // the formulas were cut short
	}
	f := inverted.And(every...)
	if f.Kind == inverted.All || f.Kind == inverted.None {
		return f.Kind == inverted.All, nil
	}
	s.next, s.ahead = s.next[:0], firstTokenRows
	s.page = max(minPostings, maxPageRows/f.Tokens())
	s.rows, err = s.postings(f)
	return false, err
}

func (s *tokenSource) close() {
	if s.rows != nil {
		s.rows.close()
		s.rows = nil
	}
}

// fill replaces the list of keys to read by the next ones; it is empty at the end.
func (s *tokenSource) fill(spans *spanSet) error {
	spans.buf, spans.list = spans.buf[:0], spans.list[:0]
	for s.rows != nil && len(spans.list) < s.ahead {
		row, err := s.rows.seek(s.next)
		if err != nil {
			return err
		}
		if row == nil {
			s.close()
			break
		}
		spans.addKey(row)
		s.next = append(append(s.next[:0], row...), 0)
	}
	s.ahead = min(4*s.ahead, maxTokenRows)
	return nil
}

// addKey adds the key of a row of the index, given without its prefix.
func (s *spanSet) addKey(rest []byte) {
	start := len(s.buf)
	s.buf = append(append(s.buf, s.x.Prefix()...), rest...)
	s.list = append(s.list, keySpan{start: start, mid: len(s.buf), end: len(s.buf), point: true})
}

// similarity is the setting pg_trgm.similarity_threshold.
func similarity(r *expr.State) float64 {
	if r.Builtin.Session != nil {
		if v, ok := r.Builtin.Session.Setting("pg_trgm.similarity_threshold"); ok {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				return f
			}
		}
	}
	return inverted.DefaultSimilarity
}
