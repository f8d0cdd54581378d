package sql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// declareCursor executes DECLARE name CURSOR FOR query.
func (x *execution) declareCursor(ctx context.Context, st *ast.DeclareCursor) error {
	ex := x.ex
	if err := checkLocking(st); err != nil {
		return err
	}
	ex.txn.Ensure()
	p := &prepared.Statement{Text: x.prepared.Stmt.SQL, Declared: x.prepared.ParamTypes(), NoParams: true, RowKeys: true}
	p.Stmt = parser.Statement{AST: st.Query, SQL: "DECLARE CURSOR FOR " + ast.Format(st.Query)} // no plan that others share
	params := slices.Clone(x.params)                                                            // the portal of DECLARE closes first
	if !ex.txn.InAnyBlock() && !st.Hold {
		if _, err := ex.planner.For(ctx, p, params); err != nil { // what is wrong with the query comes first
			return err
		}
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	}
	c := portal.New(p, portal.Options{Hold: st.Hold, Binary: st.Binary, Scroll: st.Scroll})
	po := portal.OfCursor(string(st.Name), p, params, c)
	if err := ex.portals.Add(po); err != nil {
		return err
	}
	err := ex.beginStatement(ctx, p)
	if err == nil {
		err = ex.openCursor(ctx, c, p, params)
	}
	if err != nil {
		ex.portals.Close(po.Name)
		return err
	}
	po.SetColumns(p.Columns())
	return nil
}

// openCursor begins the query of a cursor.
func (ex *executor) openCursor(ctx context.Context, c *portal.Cursor, p *prepared.Statement, params []types.Datum) error {
	ex.txn.Ensure()
	pl, err := ex.planner.For(ctx, p, params)
	if err != nil {
		return err
	}
	if prep := pl.Prep; p.Columns() == nil && !pl.Once {
		p.Planned(pl, prep.Columns[:len(prep.Columns)-prep.RowKey])
	}
	ex.auditor.tellQuery(pl.Prep, false, func() string { return p.Stmt.SQL })
	ex.recorder.noteIndexes(pl, time.Now())
	env := &operator.Env{}
	ex.eval.fill(ctx, env, params)
	return c.Open(pl, env, ex.txn.KV().Snapshot())
}

// BinaryColumns is implemented by Results that can send the rows of a simple query in
// binary form: BinaryColumns stands in for Columns then.
type BinaryColumns interface {
	BinaryColumns(cols []plan.Column) error
}

// fetch executes FETCH and MOVE.
func (x *execution) fetch(ctx context.Context, st *ast.Fetch) (string, error) {
	ex := x.ex
	p, err := ex.portals.Named(string(st.Cursor))
	if err != nil {
		return "", err
	}
	c, err := x.cursorOf(ctx, p)
	if err != nil {
		return "", err
	}
	emit := func(types.Row) error { return nil }
	if !st.Move {
		if err := x.announceCursor(c); err != nil {
			return "", err
		}
		emit = func(row types.Row) error { return x.res.Row(row) }
	}
	if x.within == nil && c.Runs() {
		ex.eval.start(ctx)
	}
	n, err := ex.moveCursor(ctx, p, st, emit)
	if err != nil {
		return "", err
	}
	if st.Move {
		return fmt.Sprintf("MOVE %d", n), nil
	}
	return fmt.Sprintf("FETCH %d", n), nil
}

// moveCursor goes where FETCH says and returns how many rows it came by, each of which it shows
// to emit.
func (ex *executor) moveCursor(ctx context.Context, p *portal.Portal, st *ast.Fetch, emit func(types.Row) error) (int64, error) {
	n, err := p.Cursor().Move(ctx, ex.txn.KV(), st, emit)
	if err != nil && pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		ex.portals.Drop(p) // its program can't go on
	}
	return n, err
}

// announceCursor announces the columns of a cursor, in a simple query in the format of
// its declaration.
func (x *execution) announceCursor(c *portal.Cursor) error {
	if !x.describe {
		return x.checkColumns(c.Columns())
	}
	if !c.Binary {
		return x.announce(c.Columns())
	}
	res, ok := x.res.(BinaryColumns)
	if !ok {
		return pgerr.Unsupported("BINARY cursors are not supported here")
	}
	x.described = true
	return res.BinaryColumns(c.Columns())
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
	ex := x.ex
	if st.All {
		ex.portals.CloseNamed()
		return nil
	}
	p, err := ex.portals.Named(string(st.Name))
	if err == nil {
		err = p.MayClose()
	}
	if err == nil {
		ex.portals.Close(p.Name)
	}
	return err
}

// executionOf returns the execution of a portal that begins.
func executionOf(ex *executor, p *portal.Portal) execution {
	return execution{ex: ex, prepared: p.Statement(), params: p.Params(), cols: p.Columns(), alone: !ex.txn.Open()}
}

// store runs the execution of a portal to its end and keeps its rows for a cursor.
func (x *execution) store(ctx context.Context, p *portal.Portal, last bool, res Results) error {
	rows := &storedRows{Results: res, eval: &x.ex.eval, width: len(p.Columns())}
	rows.begin()
	x.res, x.commit = rows, last
	if err := x.run(ctx); err != nil {
		p.End(0)
		rows.rows.Close()
		return err
	}
	p.Store(rows.rows, rows.tag)
	return nil
}

// storedRows are Results that keep the rows.
type storedRows struct {
	Results
	eval  *evaluator
	width int
	rows  *rowcontainer.Buffer
	tag   string
}

func (r *storedRows) begin() {
	r.rows = rowcontainer.NewBuffer(r.eval.srv.cfg.Mem, r.eval.srv.cfg.Temp, r.eval.workMem(), r.width)
}

// Row implements Results.
func (r *storedRows) Row(row []types.Datum) error { return r.rows.AddRow(row) }

// Complete implements Results.
func (r *storedRows) Complete(tag string) error { r.tag = tag; return nil }

// Rewind implements Results.
func (r *storedRows) Rewind() bool {
	r.rows.Close()
	r.begin()
	return r.Results.Rewind()
}

// cursorOf returns the cursor by which FETCH reads from a portal. What Execute has begun, it
// continues.
func (x *execution) cursorOf(ctx context.Context, p *portal.Portal) (*portal.Cursor, error) {
	ex := x.ex
	stmt := p.Statement().Stmt.AST
	switch {
	case p.Cursor() != nil:
	case stmt == nil || !ast.ReturnsRows(stmt):
		return nil, p.CannotRun()
	case p.Suspended() || p.Done():
		p.ContinueByCursor()
	case mustStore(p):
		stored := executionOf(ex, p)
		if err := stored.store(ctx, p, false, x.res); err != nil {
			return nil, err
		}
	default:
		c := portal.New(p.Statement(), portal.Options{Scroll: ast.No})
		if err := ex.openCursor(ctx, c, p.Statement(), p.Params()); err != nil {
			return nil, err
		}
		p.SetCursor(c)
	}
	return p.Cursor(), nil
}

// mustStore reports whether a portal whose rows are wanted in portions runs to its end all the
// same: it does more than read.
func mustStore(p *portal.Portal) bool {
	st := p.Statement()
	if _, ok := st.Stmt.AST.(*ast.Select); ok {
		return st.Plan() == nil || st.Plan().Prep.Modifies
	}
	return p.Columns() != nil
}
