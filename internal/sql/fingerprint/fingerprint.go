package fingerprint

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

// Limits of fingerprints.
const (
	maxFingerprints        = 4096 // per node and generation
	maxSessionFingerprints = 256
)

// Shared is what the texts of one fingerprint share.
type Shared struct {
	// Stmt is the statement with parameters; its AST is nil if the texts can't share one.
	Stmt parser.Statement
	// Params are the types of the parameters.
	Params []*types.T
	off    atomic.Bool
}

// Serves reports whether the statement can be run for its texts.
func (f *Shared) Serves() bool { return f.Stmt.AST != nil && !f.off.Load() }

// TurnOff says that the plan of the statement fails where that of a text does not.
func (f *Shared) TurnOff() { f.off.Store(true) }

// Cache holds the fingerprints of a node: those of the present generation and of the one before, so
// that those in use stay. It is safe for concurrent use.
type Cache struct {
	mu       sync.RWMutex
	now, old map[string]*Shared
}

func (c *Cache) get(key []byte) *Shared {
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

func (c *Cache) put(key string, sh *Shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || len(c.now) >= maxFingerprints {
		c.old, c.now = c.now, map[string]*Shared{}
	}
	c.now[key] = sh
}

// Session is what a session needs to find the fingerprints of its texts.
type Session struct {
	cache    *Cache
	literals []parser.Literal
	key      []byte
	args     []types.Datum
	prepared map[*Shared]*prepared.Statement
}

// Init makes x ready.
func (x *Session) Init(c *Cache) { x.cache = c }

// Find looks for what texts of the same fingerprint share; nil if there is nothing. learn says that
// the text has a fingerprint that nobody knows yet.
func (x *Session) Find(text string) (f *Shared, learn bool) {
	if !x.read(text) {
		return nil, false
	}
	f = x.cache.get(x.key)
	return f, f == nil
}

// Statement returns the statement that texts of f share, and the parameters of the text that Find
// was called with.
func (x *Session) Statement(f *Shared, text string) (*prepared.Statement, []types.Datum) {
	p := x.prepared[f]
	if p == nil {
		if x.prepared == nil || len(x.prepared) >= maxSessionFingerprints {
			x.prepared = map[*Shared]*prepared.Statement{}
		}
		p = &prepared.Statement{Stmt: f.Stmt, Declared: f.Params, Parameterized: true}
		x.prepared[f] = p
	}
	p.Text = text
	x.args = x.args[:0]
	for _, l := range x.literals {
		x.args = append(x.args, types.NewInt(l.Val))
	}
	return p, x.args
}

// A literal appears in the key of a fingerprint as a zero byte, which no text has, and a mark of
// its type and its sign, which decides how a text is parsed.
const (
	markInt4 = '4'
	markInt8 = '8'
	// minus is added to the mark of a literal whose text begins with a minus sign.
	minus = 'a' - '0'
)

// markOf returns the mark of a literal.
func markOf(text string, l parser.Literal) byte {
	mark := byte(markInt4)
	if intType(l.Val) == types.Int8 {
		mark = markInt8
	}
	if text[l.Start] == '-' {
		mark += minus
	}
	return mark
}

// read makes the key of the fingerprint of a text; false if it can have none.
func (x *Session) read(text string) bool {
	var ok bool
	if x.literals, ok = parser.Literals(text, x.literals[:0]); !ok {
		return false
	}
	x.key = x.key[:0]
	at := 0
	for _, l := range x.literals {
		x.key = append(x.key, text[at:l.Start]...)
		x.key = append(x.key, 0, markOf(text, l))
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

// Learn remembers the fingerprint of a text that was run, or that it has none.
func (x *Session) Learn(text string) {
	if !x.read(text) {
		return
	}
	stmts, err := parser.Parse(text)
	if err != nil || len(stmts) != 1 {
		return
	}
	f := &Shared{}
	key := string(x.key)
	if withParams(stmts[0].AST, x.literals) {
		f.Stmt = stmts[0]
		f.Stmt.SQL, f.Stmt.NumParams = key, len(x.literals)
		for _, l := range x.literals {
			f.Params = append(f.Params, intType(l.Val))
		}
	}
	x.cache.put(key, f)
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
