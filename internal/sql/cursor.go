package sql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

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
	if !s.txn.InAnyBlock() && !st.Hold {
		if _, err := s.planner.For(ctx, p, params); err != nil { // what is wrong with the query comes first
			return err
		}
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	}
	c := portal.New(p, portal.Options{Hold: st.Hold, Binary: st.Binary, Scroll: st.Scroll})
	po := portal.OfCursor(string(st.Name), p, params, c)
	if err := s.portals.Add(po); err != nil {
		return err
	}
	err := s.beginStatement(ctx, p)
	if err == nil {
		err = s.openCursor(ctx, c, p, params)
	}
	if err != nil {
		s.portals.Close(po.Name)
		return err
	}
	po.SetColumns(p.Columns())
	return nil
}

// openCursor begins the query of a cursor.
func (s *Session) openCursor(ctx context.Context, c *portal.Cursor, p *prepared.Statement, params []types.Datum) error {
	s.txn.Ensure()
	pl, err := s.planner.For(ctx, p, params)
	if err != nil {
		return err
	}
	if prep := pl.Prep; p.Columns() == nil && !pl.Once {
		p.Planned(pl, prep.Columns[:len(prep.Columns)-prep.RowKey])
	}
	s.tellQuery(pl.Prep, false, func() string { return p.Stmt.SQL })
	s.noteIndexes(pl, time.Now())
	env := &operator.Env{}
	s.fillEnv(ctx, env, params)
	return c.Open(pl, env, s.txn.KV().Snapshot())
}

// BinaryColumns is implemented by Results that can send the rows of a simple query in
// binary form: BinaryColumns stands in for Columns then.
type BinaryColumns interface {
	BinaryColumns(cols []plan.Column) error
}

// fetch executes FETCH and MOVE.
func (x *execution) fetch(ctx context.Context, st *ast.Fetch) (string, error) {
	s := x.s
	p, err := s.portals.Named(string(st.Cursor))
	if err != nil {
		return "", err
	}
	c, err := s.cursorOf(ctx, p, x.res)
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
	n, err := s.moveCursor(ctx, p, st, emit)
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
func (s *Session) moveCursor(ctx context.Context, p *portal.Portal, st *ast.Fetch, emit func(types.Row) error) (int64, error) {
	c := p.Cursor()
	if c.Runs() {
		s.builtinContext(ctx)
	}
	n, err := c.Move(ctx, s.txn.KV(), st, emit)
	if err != nil && pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		s.portals.Drop(p) // its program can't go on
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
	s := x.s
	if st.All {
		s.portals.CloseNamed()
		return nil
	}
	p, err := s.portals.Named(string(st.Name))
	if err == nil {
		s.portals.Close(p.Name)
	}
	return err
}
