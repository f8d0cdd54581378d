package portal

import (
	"context"
	"math"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Cursor is a place in the rows of a portal. Its query runs as it is fetched from, or its
// rows are stored. One that moves backwards keeps the rows that it has read; one that was
// declared WITH HOLD keeps, at the commit, all that are left.
type Cursor struct {
	statement *prepared.Statement
	plan      *prepared.Plan // nil if the rows were stored from the first on
	program   *exec.Program  // nil once all rows are in rows
	env       *operator.Env
	snapshot  kv.Snapshot
	started   bool // the program has been opened

	// key is the primary key of the table's row that the cursor was on last, at keyPos, if
	// the query was planned so that it is known.
	key    types.Row
	keyPos int64

	Options
	held bool // its transaction has committed

	// rows are those from the base-th on, as far as they were read; nil of a cursor
	// that has only gone forwards.
	rows *rowcontainer.Buffer
	base int64
	done bool // the program has no more rows
	// pos is the row that the cursor is on, from 1: 0 before the first, and one more
	// than there are behind the last.
	pos int64
}

// Options are what DECLARE says of a cursor.
type Options struct {
	Hold, Binary bool
	Scroll       ast.Tristate
}

// New returns a cursor whose query is still to be opened.
func New(p *prepared.Statement, o Options) *Cursor { return &Cursor{statement: p, Options: o} }

// Open begins the query of a cursor by a plan. It is run in env, and reads a snapshot.
func (c *Cursor) Open(p *prepared.Plan, env *operator.Env, snapshot kv.Snapshot) (err error) {
	c.plan, c.env, c.snapshot = p, env, snapshot
	if c.program, err = p.Program(); err != nil {
		return err
	}
	if c.Scroll == ast.Yes {
		c.keepRows()
	}
	if p.Prep.Modifies { // whether it may lock rows is told at once
		return c.start()
	}
	return nil
}

// Continued returns a cursor that goes on with what Execute has begun, behind row pos.
func Continued(p *prepared.Statement, r Run, pos int64) *Cursor {
	return &Cursor{
		statement: p, plan: r.Plan, program: r.Program, env: r.Env, snapshot: r.Snapshot, pos: pos, Options: Options{Scroll: ast.No}, started: true,
	}
}

// Stored returns a cursor on rows that are there; nil stands for rows that were sent, of which
// the cursor is behind the last, at pos.
func Stored(p *prepared.Statement, rows *rowcontainer.Buffer, pos int64) *Cursor {
	return &Cursor{statement: p, rows: rows, done: true, pos: pos, Options: Options{Scroll: ast.No}}
}

// Columns describe the rows that are fetched.
func (c *Cursor) Columns() []plan.Column { return c.statement.Columns() }

// Held reports whether the cursor has outlived its transaction.
func (c *Cursor) Held() bool { return c.held }

// Runs reports whether the query goes on as rows are fetched.
func (c *Cursor) Runs() bool { return c.program != nil }

func (c *Cursor) close() {
	c.closeProgram()
	if c.rows != nil {
		c.rows.Close()
		c.rows = nil
	}
}

func (c *Cursor) closeProgram() {
	if c.program != nil {
		c.program.Close()
		c.plan.Release(c.program)
		c.program = nil
	}
}

// run says that the cursor's program goes on for another statement.
func (c *Cursor) run(ctx context.Context) {
	if c.started {
		c.program.Continue(ctx)
	} else {
		c.env.Ctx = ctx
	}
}

// start opens the program if no row was asked for yet: nothing is computed before.
func (c *Cursor) start() error {
	if c.started {
		return nil
	}
	c.started = true
	return c.program.Open(c.env)
}

func (c *Cursor) keepRows() {
	c.rows = rowcontainer.NewBuffer(c.env.Mem, c.env.Temp, c.env.WorkMem, len(c.plan.Prep.Columns))
}

// Scrollable reports whether the cursor may move backwards: it was declared so, or its
// query is so plain that PostgreSQL would let it.
func (c *Cursor) Scrollable() bool {
	switch {
	case c.Scroll == ast.No || c.plan.Prep.Modifies: // the latter locks rows
		return false
	case c.rows != nil:
		return c.base == 0
	}
	return c.Scroll == ast.Yes || repeatable(c.plan.Prep.Root)
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
				same = same && x.Fn.Volatility != call.Volatile
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

// rewindable makes the cursor keep its rows from the first on, unless it does, by running its
// query again.
func (c *Cursor) rewindable() error {
	if !c.Scrollable() {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
			WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	if c.rows != nil {
		return nil
	}
	c.keepRows()
	c.program.Close()
	c.done, c.started = false, true
	return c.program.Open(c.env)
}

// more reads rows until the i-th is there; false if there are not so many.
func (c *Cursor) more(i int64) (bool, error) {
	for i > c.base+int64(c.rows.Len()) {
		if c.done || c.program == nil {
			return false, nil
		}
		if err := c.start(); err != nil {
			return false, err
		}
		b, err := c.program.Next(rowcontainer.BatchRows)
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

// show hands the i-th row, which is there, to emit.
func (c *Cursor) show(i int64, emit func(types.Row) error) error {
	row, err := c.rows.Row(int(i - c.base - 1))
	if err != nil {
		return err
	}
	return emit(row)
}

// forward moves over up to n rows and shows each to emit; the cursor ends behind the
// last row if there were fewer.
func (c *Cursor) forward(n int64, emit func(types.Row) error) error {
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
		if err := c.show(c.pos, emit); err != nil {
			return err
		}
	}
	return nil
}

// stream is forward for a cursor that keeps no rows.
func (c *Cursor) stream(n int64, emit func(types.Row) error) error {
	if plant.On(plant.CursorSkips) && c.pos > 0 {
		if _, err := c.program.Next(1); err != nil {
			return err
		}
	}
	for n > 0 && !c.done {
		if err := c.start(); err != nil {
			return err
		}
		b, err := c.program.Next(int(min(n, rowcontainer.BatchRows)))
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
func (c *Cursor) backward(n int64, emit func(types.Row) error) error {
	if err := c.rewindable(); err != nil {
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
		if err := c.show(c.pos, emit); err != nil {
			return err
		}
	}
	return nil
}

// to moves to row i, or before the first or behind the last, and shows that row.
func (c *Cursor) to(i int64, emit func(types.Row) error) error {
	skip := func(types.Row) error { return nil }
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
	if err := c.rewindable(); err != nil {
		return err
	}
	if c.pos = max(i, 0); i <= 0 {
		return nil
	}
	ok, err := c.more(i)
	if err != nil || !ok {
		return err
	}
	return c.show(i, emit)
}

// stay shows the row that the cursor is on again, which MOVE only counts: it is nil then.
func (c *Cursor) stay(move bool, emit func(types.Row) error) error {
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
	return c.to(c.pos, emit)
}

// fetch goes where FETCH says.
func (c *Cursor) fetch(st *ast.Fetch, emit func(types.Row) error) error {
	n := st.Count
	switch st.Direction {
	case ast.FetchAll:
		return c.forward(math.MaxInt64, emit)
	case ast.FetchBackwardAll:
		if st.Move && c.pos == 0 {
			return nil
		}
		return c.backward(math.MaxInt64, emit)
	case ast.FetchRelative:
		if n == 0 {
			return c.stay(st.Move, emit)
		}
		return c.to(c.pos+n, emit)
	case ast.FetchAbsolute:
		if n >= 0 {
			return c.to(n, emit)
		}
		if err := c.rewindable(); err != nil {
			return err
		}
		if _, err := c.more(math.MaxInt64); err != nil {
			return err
		}
		return c.to(c.base+int64(c.rows.Len())+1+n, emit)
	case ast.FetchBackward:
		if n = -n; n == 0 && !st.Move && !c.Scrollable() {
			return c.rewindable() // its error
		}
	}
	switch {
	case n == 0:
		return c.stay(st.Move, emit)
	case n < 0:
		return c.backward(-n, emit)
	}
	return c.forward(n, emit)
}

// persist reads what is left of a cursor WITH HOLD before its transaction commits.
func (c *Cursor) persist(ctx context.Context, txn *kv.Txn) error {
	present := txn.Use(c.snapshot)
	defer txn.Use(present)
	c.run(ctx)
	if c.rows == nil {
		if c.Scrollable() {
			if err := c.rewindable(); err != nil {
				return err
			}
		} else {
			c.keepRows()
			c.base = c.pos // of a done one, where the end is
		}
	}
	if _, err := c.more(math.MaxInt64); err != nil {
		return err
	}
	c.closeProgram()
	return nil
}

// Move goes where FETCH says and returns how many rows it came by, each of which it shows to emit.
func (c *Cursor) Move(ctx context.Context, txn *kv.Txn, st *ast.Fetch, emit func(types.Row) error) (n int64, err error) {
	if c.program != nil {
		present := txn.Use(c.snapshot)
		defer txn.Use(present)
		c.run(ctx)
	}
	width := len(c.statement.Columns())
	err = c.fetch(st, func(row types.Row) error {
		n++
		if len(row) > width {
			c.key, c.keyPos = rowcontainer.CopyRow(c.key, row[width:]), c.pos
		}
		if row == nil {
			return nil
		}
		return emit(row[:width])
	})
	return n, err
}

// Key returns the primary key of the table's row that the cursor is on; false if it is on none,
// or its query does not tell.
func (c *Cursor) Key() (types.Row, bool) { return c.key, c.pos != 0 && c.keyPos == c.pos }

// Reads reports whether the rows of the cursor are those of a table.
func (c *Cursor) Reads(table uint32) bool {
	if c.plan == nil {
		return false
	}
	t := c.plan.Prep.RowTable
	return t != nil && t.Oid == table && reads(c.plan.Prep.Root, t, false)
}

// reads reports whether a plan yields the rows of t as it finds them. A sort, which
// collects them first, is fine if they are locked when they come out of it.
func reads(n plan.Node, t *catalog.Table, locked bool) bool {
	switch n := n.(type) {
	case *plan.Scan:
		return n.Table.ID == t.ID
	case *plan.With:
		return reads(n.Body, t, locked)
	case *plan.LockRows:
		return reads(n.Input, t, true)
	case *plan.Sort:
		return locked && reads(n.Input, t, locked)
	case *plan.IndexJoin, *plan.Project, *plan.Filter, *plan.Limit:
		return reads(plan.Children(n)[0], t, locked)
	}
	return false
}
