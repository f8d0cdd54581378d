package sql

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Bind makes a portal; "" is the unnamed one, which is replaced. The session
// keeps params until the portal closes.
func (s *Session) Bind(_ context.Context, name string, p *prepared.Statement, params []types.Datum) (*portal.Portal, error) {
	if s.ex.txn.Failed() && (p.Stmt.AST == nil || !endsBlock(p.Stmt.AST)) {
		return nil, errFailedBlock()
	}
	if len(params) != len(p.ParamTypes()) {
		return nil, pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(params), p.Name, len(p.ParamTypes()))
	}
	if err := s.Revalidate(p); err != nil {
		return nil, err
	}
	if err := p.Failure(); err != nil {
		return nil, err
	}
	if name == "" {
		s.closeUnnamedPortal()
	}
	return s.ex.portals.Bind(name, p, params, s.portalColumns(p))
}

// portalColumns returns the columns of a portal of p: those of FETCH and EXECUTE are known
// no earlier.
func (s *Session) portalColumns(p *prepared.Statement) []plan.Column {
	switch p.Stmt.AST.(type) {
	case *ast.Fetch, *ast.Execute:
		return s.ex.resultColumns(&plan.Prepared{Stmt: p.Stmt.AST})
	}
	return p.Columns()
}

// Portal returns an open portal.
func (s *Session) Portal(name string) (*portal.Portal, error) { return s.ex.portals.Find(name) }

// ClosePortal closes a portal; an absent one is no error.
func (s *Session) ClosePortal(name string) {
	if name == "" {
		s.closeUnnamedPortal()
		return
	}
	s.ex.portals.Close(name)
}

func (s *Session) closeUnnamedPortal() {
	if s.ex.portals.CloseUnnamed() {
		s.extended.params, s.extended.env.Params = nil, nil
	}
}

// dropUnnamed forgets the unnamed statement and portal: a simple query takes their place.
func (s *Session) dropUnnamed() {
	s.closeUnnamedPortal()
	s.ex.statements.Close("")
}

// Execute runs a portal, up to maxRows rows if that is not 0; suspended says
// that there are more. last says that the connection knows Sync to follow, so that
// the implicit transaction may end here, where it can still be run again.
func (s *Session) Execute(_ context.Context, p *portal.Portal, maxRows int, last bool, res Results) (suspended bool, err error) {
	if p.Statement().Stmt.AST == nil {
		return false, res.Empty()
	}
	if s.ex.txn.Failed() && !endsBlock(p.Statement().Stmt.AST) {
		return false, errFailedBlock()
	}
	ctx := s.ex.begin(p.Statement().Text)
	defer s.ex.end()
	defer func() { s.ex.running.arrived = time.Time{} }()
	switch {
	case p.Cursor() != nil:
		suspended, err = s.executeCursor(ctx, p, maxRows, res)
	case p.Done() && !ast.ReturnsRows(p.Statement().Stmt.AST):
		return false, p.CannotRun()
	case p.Done():
		return false, res.Complete(p.Statement().Stmt.AST.Tag() + " 0")
	case !p.Suspended() && maxRows > 0 && mustStore(p):
		if err = s.executionOf(p, true).store(ctx, p, last, res); err == nil {
			suspended, err = s.executeCursor(ctx, p, maxRows, res)
		}
	default:
		suspended, err = s.executePlain(ctx, p, maxRows, last, res)
	}
	if err != nil {
		err = s.ex.failWith(ctx, err)
	}
	return suspended, err
}

// executePlain begins or continues a statement that sends its rows as it runs.
func (s *Session) executePlain(ctx context.Context, p *portal.Portal, maxRows int, last bool, res Results) (suspended bool, err error) {
	x, begun := p.Resume().(*execution)
	if !begun {
		x = s.executionOf(p, maxRows > 0 || p.Name != "")
	}
	x.res, x.maxRows, x.commit = res, maxRows, last
	if begun {
		err = x.resume(ctx)
	} else {
		err = x.run(ctx)
	}
	if err == nil && x.suspended {
		p.Suspend(x, x.rows)
		return true, nil
	}
	p.End(x.rows)
	return false, err
}

// executionOf returns the execution of a portal that begins; kept says that it may be
// suspended.
func (s *Session) executionOf(p *portal.Portal, kept bool) *execution {
	x := &s.extended
	if kept {
		x = new(execution)
	}
	*x = executionOf(&s.ex, p)
	s.pipelined.note(p.Statement().Text, p.Statement().Stmt.AST)
	return x
}

// executeCursor sends what comes next from a portal with a cursor.
func (s *Session) executeCursor(ctx context.Context, p *portal.Portal, maxRows int, res Results) (suspended bool, err error) {
	s.pipelined.fixed = true // where the cursor was is not known again
	want := int64(maxRows)
	if want == 0 {
		want = math.MaxInt64
	}
	if p.Cursor().Runs() {
		s.ex.eval.start(ctx)
	}
	n, err := s.ex.moveCursor(ctx, p, &ast.Fetch{Count: want}, res.Row)
	switch {
	case err != nil:
		return false, err
	case n == want:
		return true, nil
	case p.Tag() != "":
		return false, res.Complete(recount(p.Tag(), n))
	}
	return false, res.Complete(tagSelect.count(n))
}

// recount returns a command tag with another count, if it has one.
func recount(tag string, n int64) string {
	i := strings.LastIndexByte(tag, ' ')
	if _, err := strconv.ParseInt(tag[i+1:], 10, 64); err != nil {
		return tag
	}
	return fmt.Sprintf("%s %d", tag[:i], n)
}
