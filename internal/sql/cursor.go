package sql

import (
	"context"
	"fmt"
	"math"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxCursors bounds the open cursors of a session.
const maxCursors = 10_000

// cursor is an open cursor: a query that runs as it is fetched from, forwards.
type cursor struct {
	prepared *Prepared
	cached   *cachedPlan
	program  *exec.Program
	env      exec.Env
	snapshot kv.Snapshot
	done     bool
}

func (c *cursor) close() {
	if c.program != nil {
		c.program.Close()
		c.cached.release(c.program)
		c.program = nil
	}
}

// declareCursor is DECLARE name CURSOR FOR query.
func (s *Session) declareCursor(ctx context.Context, x *execution, st *ast.DeclareCursor) error {
	name := string(st.Name)
	switch {
	case st.Hold:
		return pgerr.Unsupported("WITH HOLD cursors are not supported")
	case st.Scroll == ast.Yes:
		return pgerr.Unsupported("SCROLL cursors are not supported")
	case st.Binary:
		return pgerr.Unsupported("BINARY cursors are not supported")
	case s.txn.block == blockNone:
		return pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case s.cursors[name] != nil:
		return pgerr.New(pgerr.DuplicateCursor, "cursor %q already exists", name)
	case len(s.cursors) >= maxCursors:
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many open cursors (limit %d)", maxCursors)
	}
	p := &Prepared{Text: x.prepared.Text, stmt: parser.Statement{AST: st.Query, SQL: ast.Format(st.Query)}}
	s.txn.txn.BeginStatement()
	c, err := s.planFor(ctx, p)
	if err != nil {
		return err
	}
	if c.prep.Modifies {
		return pgerr.Unsupported("DECLARE CURSOR ... FOR UPDATE/SHARE is not supported")
	}
	p.plan, p.cols = c, c.prep.Columns
	cur := &cursor{prepared: p, cached: c}
	if cur.program, err = c.program(); err != nil {
		return err
	}
	s.fillEnv(ctx, &cur.env, nil)
	if s.cursors == nil {
		s.cursors = map[string]*cursor{}
	}
	s.cursors[name] = cur
	cur.snapshot = s.txn.txn.Snapshot()
	return cur.program.Open(&cur.env)
}

// execFetch is FETCH and MOVE, forwards only.
func (s *Session) execFetch(ctx context.Context, x *execution, st *ast.Fetch) (string, error) {
	c := s.cursors[string(st.Cursor)]
	if c == nil {
		return "", pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", string(st.Cursor))
	}
	limit := st.Count
	switch {
	case st.Direction == ast.FetchAll:
		limit = math.MaxInt64
	case st.Direction != ast.FetchForward || limit < 0:
		return "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
			WithHint("Declare it with SCROLL option to enable backward scan.")
	}
	if !st.Move {
		if err := x.announce(c.prepared.cols); err != nil {
			return "", err
		}
	}
	present := s.txn.txn.Use(c.snapshot)
	defer s.txn.txn.Use(present)
	n := int64(0)
	for !c.done && n < limit {
		c.env.Ctx = ctx
		b, err := c.program.Next(int(min(limit-n, exec.BatchRows)))
		if err != nil {
			return "", err
		}
		if b.Len() == 0 {
			c.done = true
		}
		for i := range b.Len() {
			if !st.Move {
				if err := x.res.Row(b.Row(i)); err != nil {
					return "", err
				}
			}
			n++
		}
	}
	if st.Move {
		return fmt.Sprintf("MOVE %d", n), nil
	}
	return fmt.Sprintf("FETCH %d", n), nil
}

func (s *Session) closeCursor(st *ast.CloseCursor) error {
	if st.All {
		s.closeCursors()
		return nil
	}
	c := s.cursors[string(st.Name)]
	if c == nil {
		return pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", string(st.Name))
	}
	c.close()
	delete(s.cursors, string(st.Name))
	return nil
}

func (s *Session) closeCursors() {
	for name, c := range s.cursors {
		c.close()
		delete(s.cursors, name)
	}
}
