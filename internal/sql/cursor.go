package sql

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cursor is a place in the rows of a portal. Its query runs as it is fetched from, or its
// rows are stored. One that moves backwards keeps the rows that it has read; one that was
// declared WITH HOLD keeps, at the commit, all that are left.
type cursor struct {
	prepared *prepared.Statement
	cached   *prepared.Plan // nil if the rows were stored from the first on
	program  *exec.Program  // nil once all rows are in rows
	env      *exec.Env
	snapshot kv.Snapshot
	started  bool // the program has been opened

	// key is the primary key of the table's row that the cursor was on last, at keyPos, if
	// the query was planned so that it is known.
	key    exec.Row
	keyPos int64

	hold, binary bool
	scroll       ast.Tristate
	held         bool // its transaction has committed

	// rows are those from the base-th on, as far as they were read; nil of a cursor
	// that has only gone forwards.
	rows *exec.RowBuffer
	base int64
	done bool // the program has no more rows
	// pos is the row that the cursor is on, from 1: 0 before the first, and one more
	// than there are behind the last.
	pos int64
}

func (c *cursor) close() {
	c.closeProgram()
	if c.rows != nil {
		c.rows.Close()
		c.rows = nil
	}
}

func (c *cursor) closeProgram() {
	if c.program != nil {
		c.program.Close()
		c.cached.Release(c.program)
		c.program = nil
	}
}

// declareCursor executes DECLARE name CURSOR FOR query.
func (x *execution) declareCursor(ctx context.Context, st *ast.DeclareCursor) error {
	s := x.s
	if err := checkLocking(st); err != nil {
		return err
	}
	s.txn.Ensure()
	p := &prepared.Statement{Text: x.prepared.Stmt.SQL, Declared: x.prepared.ParamTypes(), NoParams: true, RowKeys: true}
	p.Stmt = parser.Statement{AST: st.Query, SQL: "DECLARE CURSOR FOR " + ast.Format(st.Query)} // no plan that others share
	params := slices.Clone(x.params)                                                            // the portal of DECLARE closes first
	if !s.txn.InBlock() && !st.Hold {
		if _, err := s.planner.For(ctx, p, params); err != nil { // what is wrong with the query comes first
			return err
		}
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	}
	c := &cursor{prepared: p, hold: st.Hold, binary: st.Binary, scroll: st.Scroll}
	portal := &Portal{Name: string(st.Name), prepared: p, params: params, cursor: c}
	if err := s.addPortal(portal); err != nil {
		return err
	}
	err := s.beginStatement(ctx, p)
	if err == nil {
		err = s.openCursor(ctx, c, params)
	}
	if err != nil {
		s.ClosePortal(portal.Name)
		return err
	}
	portal.cols = p.Columns()
	return nil
}

// openCursor begins the query of a cursor.
func (s *Session) openCursor(ctx context.Context, c *cursor, params []types.Datum) (err error) {
	s.txn.Ensure()
	if c.cached, err = s.planner.For(ctx, c.prepared, params); err != nil {
		return err
	}
	if p, prep := c.prepared, c.cached.Prep; p.Columns() == nil && !c.cached.Once {
		p.Planned(c.cached, prep.Columns[:len(prep.Columns)-prep.RowKey])
	}
	if c.program, err = c.cached.Program(); err != nil {
		return err
	}
	c.env = &exec.Env{}
	s.fillEnv(ctx, c.env, params)
	c.snapshot = s.txn.KV().Snapshot()
	if c.scroll == ast.Yes {
		c.keepRows(s)
	}
	if c.cached.Prep.Modifies { // whether it may lock rows is told at once
		return c.start()
	}
	return nil
}

// run says that the cursor's program goes on for another statement.
func (c *cursor) run(ctx context.Context) {
	if c.started {
		c.program.Continue(ctx)
	} else {
		c.env.Ctx = ctx
	}
}

// start opens the program if no row was asked for yet: nothing is computed before.
func (c *cursor) start() error {
	if c.started {
		return nil
	}
	c.started = true
	return c.program.Open(c.env)
}

func (c *cursor) keepRows(s *Session) {
	c.rows = exec.NewRowBuffer(s.srv.cfg.Mem, len(c.cached.Prep.Columns))
}

// scrollable reports whether the cursor may move backwards: it was declared so, or its
// query is so plain that PostgreSQL would let it.
func (c *cursor) scrollable() bool {
	switch {
	case c.scroll == ast.No || c.cached.Prep.Modifies: // the latter locks rows
		return false
	case c.rows != nil:
		return c.base == 0
	}
	return c.scroll == ast.Yes || repeatable(c.cached.Prep.Root)
}

// repeatable reports whether a query that is run again in the same snapshot returns the
// same rows in the same order.
func repeatable(n plan.Node) bool {
	switch n.(type) {
	case *plan.Scan, *plan.IndexJoin, *plan.Values, *plan.Filter, *plan.Project, *plan.Sort, *plan.Limit:
	default:
		return false
	}
	same := true
	plan.VisitExprs(n, func(e *plan.Expr) {
		plan.WalkExpr(*e, func(x plan.Expr) bool {
			switch x := x.(type) {
			case *plan.Call:
				same = same && x.Fn.Volatility != builtin.Volatile
			case *plan.Subquery:
				same = false
			}
			return same
		})
	})
	for _, c := range plan.Children(n) {
		same = same && repeatable(c)
	}
	return same
}

// turn makes the cursor one that keeps its rows from the first on, if it is not yet,
// by running its query again.
func (c *cursor) turn(s *Session) error {
	if !c.scrollable() {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
			WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	if c.rows != nil {
		return nil
	}
	c.keepRows(s)
	c.program.Close()
	c.done, c.started = false, true
	return c.program.Open(c.env)
}

// more reads rows until the i-th is there; false if there are not so many.
func (c *cursor) more(i int64) (bool, error) {
	for i > c.base+int64(c.rows.Len()) {
		if c.done || c.program == nil {
			return false, nil
		}
		if err := c.start(); err != nil {
			return false, err
		}
		b, err := c.program.Next(exec.BatchRows)
		if err != nil {
			return false, err
		}
		c.done = b.Len() == 0
		if err := c.rows.Add(b); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *cursor) row(i int64) exec.Row { return c.rows.Row(int(i - c.base - 1)) }

// forward moves over up to n rows and shows each to emit; the cursor ends behind the
// last row if there were fewer.
func (c *cursor) forward(n int64, emit func(exec.Row) error) error {
	if c.rows == nil {
		return c.stream(n, emit)
	}
	for ; n > 0; n-- {
		ok, err := c.more(c.pos + 1)
		if err != nil {
			return err
		}
		if !ok {
			c.pos = c.base + int64(c.rows.Len()) + 1
			return nil
		}
		c.pos++
		if err := emit(c.row(c.pos)); err != nil {
			return err
		}
	}
	return nil
}

// stream is forward for a cursor that keeps no rows.
func (c *cursor) stream(n int64, emit func(exec.Row) error) error {
	if plant.On(plant.CursorSkips) && c.pos > 0 {
		if _, err := c.program.Next(1); err != nil {
			return err
		}
	}
	for n > 0 && !c.done {
		if err := c.start(); err != nil {
			return err
		}
		b, err := c.program.Next(int(min(n, exec.BatchRows)))
		if err != nil {
			return err
		}
		if c.done = b.Len() == 0; c.done {
			c.pos++ // behind the last
		}
		for i := range b.Len() {
			c.pos++
			if err := emit(b.Row(i)); err != nil {
				return err
			}
		}
		n -= int64(b.Len())
	}
	return nil
}

// backward moves back over up to n rows.
func (c *cursor) backward(s *Session, n int64, emit func(exec.Row) error) error {
	if err := c.turn(s); err != nil {
		return err
	}
	for ; n > 0 && c.pos > 0; n-- {
		c.pos--
		if c.pos == 0 {
			return nil
		}
		if _, err := c.more(c.pos); err != nil { // it ran again
			return err
		}
		if err := emit(c.row(c.pos)); err != nil {
			return err
		}
	}
	return nil
}

// to moves to row i, or before the first or behind the last, and shows that row.
func (c *cursor) to(s *Session, i int64, emit func(exec.Row) error) error {
	skip := func(exec.Row) error { return nil }
	if i > c.pos {
		if err := c.forward(i-c.pos-1, skip); err != nil {
			return err
		}
		if i > c.pos+1 {
			return nil // it is behind the last
		}
		return c.forward(1, emit)
	}
	if i <= 0 && c.pos == 0 {
		return nil
	}
	if err := c.turn(s); err != nil {
		return err
	}
	if c.pos = max(i, 0); i <= 0 {
		return nil
	}
	ok, err := c.more(i)
	if err != nil || !ok {
		return err
	}
	return emit(c.row(i))
}

// stay shows the row that the cursor is on again, which MOVE only counts: it is nil then.
func (c *cursor) stay(s *Session, move bool, emit func(exec.Row) error) error {
	on := c.pos > 0 && !c.done
	if c.rows != nil {
		on = c.pos > 0 && c.pos <= c.base+int64(c.rows.Len())
	}
	switch {
	case !on:
		return nil
	case move:
		return emit(nil)
	}
	return c.to(s, c.pos, emit)
}

// fetch goes where FETCH says.
func (c *cursor) fetch(s *Session, st *ast.Fetch, emit func(exec.Row) error) error {
	n := st.Count
	switch st.Direction {
	case ast.FetchAll:
		return c.forward(math.MaxInt64, emit)
	case ast.FetchBackwardAll:
		if st.Move && c.pos == 0 {
			return nil
		}
		return c.backward(s, math.MaxInt64, emit)
	case ast.FetchRelative:
		if n == 0 {
			return c.stay(s, st.Move, emit)
		}
		return c.to(s, c.pos+n, emit)
	case ast.FetchAbsolute:
		if n >= 0 {
			return c.to(s, n, emit)
		}
		if err := c.turn(s); err != nil {
			return err
		}
		if _, err := c.more(math.MaxInt64); err != nil {
			return err
		}
		return c.to(s, c.base+int64(c.rows.Len())+1+n, emit)
	case ast.FetchBackward:
		if n = -n; n == 0 && !st.Move && !c.scrollable() {
			return c.turn(s) // its error
		}
	}
	switch {
	case n == 0:
		return c.stay(s, st.Move, emit)
	case n < 0:
		return c.backward(s, -n, emit)
	}
	return c.forward(n, emit)
}

// BinaryColumns is implemented by Results that can send the rows of a simple query in
// binary form: BinaryColumns stands in for Columns then.
type BinaryColumns interface {
	BinaryColumns(cols []plan.Column) error
}

// fetch executes FETCH and MOVE.
func (x *execution) fetch(ctx context.Context, st *ast.Fetch) (string, error) {
	s := x.s
	p, err := s.namedPortal(st.Cursor)
	if err != nil {
		return "", err
	}
	c, err := s.cursorOf(ctx, p, x.res)
	if err != nil {
		return "", err
	}
	emit := func(exec.Row) error { return nil }
	if !st.Move {
		if err := x.announceCursor(c); err != nil {
			return "", err
		}
		emit = func(row exec.Row) error { return x.res.Row(row) }
	}
	n, err := s.moveCursor(ctx, p, st, emit)
	if err != nil {
		return "", err
	}
	if st.Move {
		return fmt.Sprintf("MOVE %d", n), nil
	}
	return fmt.Sprintf("FETCH %d", n), nil
}

// moveCursor goes where FETCH says and returns how many rows it came by, each of which it
// shows to emit.
func (s *Session) moveCursor(ctx context.Context, p *Portal, st *ast.Fetch, emit func(exec.Row) error) (n int64, err error) {
	c := p.cursor
	if c.program != nil {
		present := s.txn.KV().Use(c.snapshot)
		defer s.txn.KV().Use(present)
		s.builtinContext(ctx)
		c.run(ctx)
	}
	width := len(c.prepared.Columns())
	err = c.fetch(s, st, func(row exec.Row) error {
		n++
		if len(row) > width {
			c.key, c.keyPos = exec.CopyRow(c.key, row[width:]), c.pos
		}
		if row == nil {
			return nil
		}
		return emit(row[:width])
	})
	if err != nil && pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		p.close() // its program can't go on
		s.forgetPortal(p)
	}
	return n, err
}

// announceCursor announces the columns of a cursor, in a simple query in the format of
// its declaration.
func (x *execution) announceCursor(c *cursor) error {
	if !x.describe {
		return x.checkColumns(c.prepared.Columns())
	}
	if !c.binary {
		return x.announce(c.prepared.Columns())
	}
	res, ok := x.res.(BinaryColumns)
	if !ok {
		return pgerr.Unsupported("BINARY cursors are not supported here")
	}
	x.described = true
	return res.BinaryColumns(c.prepared.Columns())
}

// checkColumns refuses to send rows that are not those that the portal was described with.
func (x *execution) checkColumns(cols []plan.Column) error {
	if prepared.SameColumns(cols, x.cols) {
		return nil
	}
	return prepared.ErrResultChanged()
}

// closeCursor executes CLOSE.
func (x *execution) closeCursor(st *ast.CloseCursor) error {
	s := x.s
	if st.All {
		s.closePortals()
		return nil
	}
	p, err := s.namedPortal(st.Name)
	if err == nil {
		s.ClosePortal(p.Name)
	}
	return err
}

// holdCursors reads what is left of the cursors WITH HOLD before their transaction
// commits.
func (s *Session) holdCursors(ctx context.Context) error {
	for _, p := range s.portals {
		if c := p.cursor; c != nil && c.hold && !c.held {
			if err := c.persist(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cursor) persist(ctx context.Context, s *Session) error {
	present := s.txn.KV().Use(c.snapshot)
	defer s.txn.KV().Use(present)
	c.run(ctx)
	if c.rows == nil {
		if c.scrollable() {
			if err := c.turn(s); err != nil {
				return err
			}
		} else {
			c.keepRows(s)
			c.base = c.pos // of a done one, where the end is
		}
	}
	if _, err := c.more(math.MaxInt64); err != nil {
		return err
	}
	c.closeProgram()
	return nil
}

// cursorsHeld notes that the transaction has committed.
func (s *Session) cursorsHeld() {
	for _, p := range s.portals {
		if c := p.cursor; c != nil {
			c.held = c.held || c.hold
		}
	}
}
