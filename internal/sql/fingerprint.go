package sql

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Clients of the simple protocol write values into the text of a statement. The statement's
// fingerprint is the text without its integers: they become parameters, declared with the
// types that they have as constants, so that all statements of one fingerprint share one
// syntax tree, one plan and its compiled programs.
//
// It is done only where a constant and a parameter of its type mean the same: as
// operands of a comparison with a column in WHERE, as assigned values and what is
// added to or taken from a column in SET, and as the values of INSERT. If a text has
// an integer elsewhere, among those that parser.Literals finds, it has no fingerprint.
// So it is too if its plan with parameters fails: the text is then run as it is, and
// the client sees that error.

// Limits of fingerprints.
const (
	maxFingerprints        = 4096 // per node and generation
	maxSessionFingerprints = 256
)

// fingerprint is what the texts of one fingerprint share.
type fingerprint struct {
	stmt   parser.Statement // AST is nil if the texts can't share one
	params []*types.T
	off    atomic.Bool // its plan fails where that of a text does not
}

// fingerprintCache holds the fingerprints of a node: those of the present generation and of
// the one before, so that those in use stay.
type fingerprintCache struct {
	mu       sync.RWMutex
	now, old map[string]*fingerprint
}

func (c *fingerprintCache) get(key []byte) *fingerprint {
	c.mu.RLock()
	sh, old := c.now[string(key)], false
	if sh == nil {
		sh = c.old[string(key)]
		old = sh != nil
	}
	c.mu.RUnlock()
	if old {
		c.put(string(key), sh)
	}
	return sh
}

func (c *fingerprintCache) put(key string, sh *fingerprint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || len(c.now) >= maxFingerprints {
		c.old, c.now = c.now, map[string]*fingerprint{}
	}
	c.now[key] = sh
}

// fingerprints is a session's use of them.
type fingerprints struct {
	literals []parser.Literal
	key      []byte
	args     []types.Datum
	prepared map[*fingerprint]*prepared.Statement
}

// Marks of a literal in the key of a fingerprint: no text has a zero byte. The sign is
// part of the fingerprint, since it decides how the text is parsed.
const (
	markInt4  = "\x00"
	markInt8  = "\x00\x00"
	markMinus = "\x00-"
)

// fingerprintOf makes the key of a text's fingerprint; false if it can have none.
func (x *fingerprints) fingerprintOf(text string) bool {
	var ok bool
	if x.literals, ok = parser.Literals(text, x.literals[:0]); !ok {
		return false
	}
	x.key = x.key[:0]
	at := 0
	for _, l := range x.literals {
		x.key = append(x.key, text[at:l.Start]...)
		if text[l.Start] == '-' {
			x.key = append(x.key, markMinus...)
		}
		mark := markInt4
		if intType(l.Val) == types.Int8 {
			mark = markInt8
		}
		x.key = append(x.key, mark...)
		at = l.End
	}
	x.key = append(x.key, text[at:]...)
	return true
}

// intType is the type of an integer constant.
func intType(v int64) *types.T {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return types.Int8
	}
	return types.Int4
}

// queryByFingerprint runs a simple query by the fingerprint of its text. It answers false if it
// has not, and then whether the fingerprint is to be learned if the query succeeds.
func (s *Session) queryByFingerprint(text string, res Results) (done, learn bool, sh *fingerprint, err error) {
	x := &s.fingerprints
	if o := s.stringOptions(); o.Escapes || o.RefuseQuotes || !x.fingerprintOf(text) {
		return false, false, nil, nil // fingerprints are read by the standard
	}
	sh = s.srv.fingerprints.get(x.key)
	if sh == nil {
		return false, true, nil, nil
	}
	if sh.stmt.AST == nil || sh.off.Load() {
		return false, false, nil, nil
	}
	s.dropUnnamed()
	p := x.prepared[sh]
	if p == nil {
		if x.prepared == nil || len(x.prepared) >= maxSessionFingerprints {
			x.prepared = map[*fingerprint]*prepared.Statement{}
		}
		p = &prepared.Statement{Stmt: sh.stmt, Declared: sh.params, Parameterized: true}
		x.prepared[sh] = p
	}
	p.Text = text
	x.args = x.args[:0]
	for _, l := range x.literals {
		x.args = append(x.args, types.NewInt(l.Val))
	}
	ctx := s.begin(text)
	defer s.end()
	e := execution{s: s, prepared: p, params: x.args, res: res, describe: true, commit: true, alone: true}
	if err = e.run(ctx); err == nil {
		return true, false, sh, nil
	}
	if e.unplanned {
		return false, false, sh, nil
	}
	err = s.failWith(ctx, err)
	return true, false, sh, err
}

// learnFingerprint remembers the fingerprint of a text that was run, or that it has none.
func (s *Session) learnFingerprint(text string) {
	x := &s.fingerprints
	if !x.fingerprintOf(text) {
		return
	}
	stmts, err := parser.Parse(text)
	if err != nil || len(stmts) != 1 {
		return
	}
	sh := &fingerprint{}
	key := string(x.key)
	if withParams(stmts[0].AST, x.literals) {
		sh.stmt = stmts[0]
		sh.stmt.SQL, sh.stmt.NumParams = key, len(x.literals)
		for _, l := range x.literals {
			sh.params = append(sh.params, intType(l.Val))
		}
	}
	s.srv.fingerprints.put(key, sh)
}

// withParams replaces the literals of a statement by parameters, in order. It
// reports false, and leaves the statement useless, if one of them is where a
// parameter may mean something else.
func withParams(stmt ast.Statement, literals []parser.Literal) bool {
	f := literalFinder{byPos: map[int]int{}}
	for i, l := range literals {
		f.byPos[l.Pos] = i
	}
	switch n := stmt.(type) {
	case *ast.Select:
		if n.With != nil || n.AsOf != nil || n.Into != nil || n.L != nil {
			return false
		}
		f.condition(&n.Where)
	case *ast.Update:
		if n.With != nil {
			return false
		}
		for i := range n.Set {
			f.value(&n.Set[i].X)
		}
		f.condition(&n.Where)
	case *ast.Delete:
		if n.With != nil {
			return false
		}
		f.condition(&n.Where)
	case *ast.Insert:
		if n.With != nil || n.Source == nil || len(n.Source.Values) != 1 {
			return false
		}
		for i := range n.Source.Values[0] {
			f.literal(&n.Source.Values[0][i])
		}
	}
	if len(f.found) != len(literals) {
		return false
	}
	for _, l := range f.found {
		lit := (*l.at).(*ast.IntLit)
		if lit.Val != literals[l.n].Val {
			return false
		}
		*l.at = &ast.Param{Loc: lit.Loc, N: l.n + 1}
	}
	return true
}

// literalFinder collects the places of literals that may be parameters.
type literalFinder struct {
	byPos map[int]int // position → number, of those not found yet
	found []foundLiteral
}

type foundLiteral struct {
	at *ast.Expr
	n  int
}

func (f *literalFinder) literal(x *ast.Expr) {
	lit, ok := (*x).(*ast.IntLit)
	if !ok {
		return
	}
	if n, ok := f.byPos[lit.Pos]; ok {
		delete(f.byPos, lit.Pos)
		f.found = append(f.found, foundLiteral{at: x, n: n})
	}
}

// condition looks into a condition for comparisons of a column.
func (f *literalFinder) condition(x *ast.Expr) {
	switch e := (*x).(type) {
	case *ast.And:
		for i := range e.Args {
			f.condition(&e.Args[i])
		}
	case *ast.Or:
		for i := range e.Args {
			f.condition(&e.Args[i])
		}
	case *ast.Not:
		f.condition(&e.X)
	case *ast.BinaryOp:
		if isComparison(e.Op) {
			f.beside(&e.L, &e.R)
			f.beside(&e.R, &e.L)
		}
	case *ast.Between:
		f.beside(&e.X, &e.Lo)
		f.beside(&e.X, &e.Hi)
	case *ast.In:
		for i := range e.List {
			f.beside(&e.X, &e.List[i])
		}
	}
}

// beside takes a literal whose other operand is a column.
func (f *literalFinder) beside(column, x *ast.Expr) {
	if c, ok := (*column).(*ast.ColumnRef); ok && !c.Star {
		f.literal(x)
	}
}

// value looks into what SET assigns: a literal, or a column with a literal added or
// taken away.
func (f *literalFinder) value(x *ast.Expr) {
	if e, ok := (*x).(*ast.BinaryOp); ok {
		if e.Op.Schema == "" && (e.Op.Name == "+" || e.Op.Name == "-") {
			f.beside(&e.L, &e.R)
			f.beside(&e.R, &e.L)
		}
		return
	}
	f.literal(x)
}

func isComparison(op ast.Operator) bool {
	return op.Schema == "" && strings.Trim(op.Name, "<>=") == "" && len(op.Name) <= 2
}
