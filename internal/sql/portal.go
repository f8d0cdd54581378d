package sql

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Portal is a statement that runs, at once or a number of rows at a time: one that was
// bound in the extended protocol, or a cursor. They share their names: Execute reads from
// a cursor, and FETCH from what was bound.
type Portal struct {
	Name string
	// Front is free for the front that serves the session.
	Front any

	prepared *prepared.Statement
	params   []types.Datum
	cols     []plan.Column
	created  time.Time // of a named one
	held     int64     // bytes accounted for a named one
	number   int       // of the session's portals, for savepoints

	x    *execution // set while it is suspended
	sent int64      // rows that Execute has sent
	done bool
	// cursor is set of a cursor, once FETCH has read from the portal, and once the rows
	// of a statement are stored that runs to its end at the first Execute.
	cursor *cursor
	tag    string // of the statement whose rows are stored
}

// Prepared returns the statement that the portal runs.
func (p *Portal) Prepared() *prepared.Statement { return p.prepared }

// Columns describe the rows that the portal returns; nil if it returns none.
func (p *Portal) Columns() []plan.Column { return p.cols }

// Bind makes a portal; "" is the unnamed one, which is replaced. The session
// keeps params until the portal closes.
func (s *Session) Bind(_ context.Context, name string, p *prepared.Statement, params []types.Datum) (*Portal, error) {
	if s.txn.Failed() && (p.Stmt.AST == nil || !endsBlock(p.Stmt.AST)) {
		return nil, errFailedBlock()
	}
	if len(params) != len(p.ParamTypes()) {
		return nil, pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement %q requires %d", len(params), p.Name, len(p.ParamTypes()))
	}
	if err := s.Revalidate(p); err != nil {
		return nil, err
	}
	if name == "" {
		s.closeUnnamedPortal()
		if s.portal == nil {
			s.portal = &Portal{}
		}
		front := s.portal.Front
		*s.portal = Portal{prepared: p, params: params, cols: s.portalColumns(p), Front: front}
		return s.portal, nil
	}
	portal := &Portal{Name: name, prepared: p, params: params, cols: s.portalColumns(p)}
	return portal, s.addPortal(portal)
}

// portalColumns returns the columns of a portal of p: those of FETCH and EXECUTE are known
// no earlier.
func (s *Session) portalColumns(p *prepared.Statement) []plan.Column {
	switch p.Stmt.AST.(type) {
	case *ast.Fetch, *ast.Execute:
		return s.resultColumns(&plan.Prepared{Stmt: p.Stmt.AST})
	}
	return p.Columns()
}

// portalBytes estimates what a portal takes without its parameters.
const portalBytes = 512

// addPortal adds a portal with a name.
func (s *Session) addPortal(p *Portal) error {
	switch {
	case s.portals[p.Name] != nil:
		return pgerr.New(pgerr.DuplicateCursor, "cursor %q already exists", p.Name)
	case len(s.portals) >= maxPortals:
		return pgerr.New(pgerr.ConfigurationLimitExceeded, "too many open portals and cursors (limit %d)", maxPortals)
	}
	if err := s.holdPortal(p); err != nil {
		return err
	}
	s.portalNumber++
	p.number, p.created = s.portalNumber, time.Now()
	s.portals[p.Name] = p
	return nil
}

// Portal returns an open portal.
func (s *Session) Portal(name string) (*Portal, error) {
	p := s.portals[name]
	if name == "" && s.portal != nil && s.portal.prepared != nil {
		p = s.portal
	}
	if p == nil {
		return nil, pgerr.New(pgerr.InvalidCursorName, "portal %q does not exist", name)
	}
	return p, nil
}

// namedPortal returns what a statement calls a cursor.
func (s *Session) namedPortal(name ast.Name) (*Portal, error) {
	if p := s.portals[string(name)]; p != nil {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "cursor %q does not exist", string(name))
}

// ClosePortal closes a portal; an absent one is no error.
func (s *Session) ClosePortal(name string) {
	if name == "" {
		s.closeUnnamedPortal()
		return
	}
	if p := s.portals[name]; p != nil {
		p.close()
		s.forgetPortal(p)
	}
}

func (s *Session) closeUnnamedPortal() {
	if s.portal != nil {
		s.portal.close()
		s.portal.prepared, s.portal.params = nil, nil
		s.extended.params, s.extended.env.Params = nil, nil
	}
}

// dropUnnamed forgets the unnamed statement and portal: a simple query takes their place.
func (s *Session) dropUnnamed() {
	s.closeUnnamedPortal()
	s.statements.Close("")
}

// closePortals closes the portals with names.
func (s *Session) closePortals() {
	for name := range s.portals {
		s.ClosePortal(name)
	}
}

// closeTxnPortals closes what runs in the transaction that ends: all but the cursors
// WITH HOLD of transactions that have committed.
func (s *Session) closeTxnPortals() {
	for name, p := range s.portals {
		if p.cursor == nil || !p.cursor.held {
			s.ClosePortal(name)
		}
	}
	if s.portal != nil && (s.portal.x != nil || s.portal.cursor != nil) {
		s.portal.close()
	}
}

// stopPortals ends what runs in a transaction that has failed. The portals stay until it is
// rolled back.
func (s *Session) stopPortals() {
	for _, p := range s.portals {
		if p.cursor == nil || !p.cursor.held {
			p.close()
		}
	}
}

// closePortalsSince closes the portals that are newer than the one of a number: a
// savepoint before them was returned to.
func (s *Session) closePortalsSince(number int) {
	for name, p := range s.portals {
		if p.number > number {
			s.ClosePortal(name)
		}
	}
}

func (p *Portal) close() {
	if p.x != nil {
		p.x.close()
		p.x = nil
	}
	if p.cursor != nil {
		p.cursor.close()
		p.cursor = nil
	}
	p.done = true
}

// Execute runs a portal, up to maxRows rows if that is not 0; suspended says
// that there are more. last says that the front knows Sync to follow, so that
// the implicit transaction may end here, where it can still be run again.
func (s *Session) Execute(_ context.Context, p *Portal, maxRows int, last bool, res Results) (suspended bool, err error) {
	if p.prepared.Stmt.AST == nil {
		return false, res.Empty()
	}
	if s.txn.Failed() && !endsBlock(p.prepared.Stmt.AST) {
		return false, errFailedBlock()
	}
	ctx := s.begin(p.prepared.Text)
	defer s.end()
	defer func() { s.pipelined.began = time.Time{} }()
	switch {
	case p.cursor != nil:
		suspended, err = s.executeCursor(ctx, p, maxRows, res)
	case p.done && !ast.ReturnsRows(p.prepared.Stmt.AST):
		return false, p.errCannotRun()
	case p.done:
		return false, res.Complete(p.prepared.Stmt.AST.Tag() + " 0")
	case p.x == nil && maxRows > 0 && p.mustStore():
		if err = s.storeRows(ctx, p, last, res); err == nil {
			suspended, err = s.executeCursor(ctx, p, maxRows, res)
		}
	default:
		suspended, err = s.executePlain(ctx, p, maxRows, last, res)
	}
	if err != nil {
		err = s.failWith(ctx, err)
	}
	return suspended, err
}

func (p *Portal) errCannotRun() error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", p.Name)
}

// executePlain begins or continues a statement that sends its rows as it runs.
func (s *Session) executePlain(ctx context.Context, p *Portal, maxRows int, last bool, res Results) (suspended bool, err error) {
	x := p.x
	if x == nil {
		x = s.executionOf(p, maxRows > 0 || p.Name != "")
	}
	x.res, x.maxRows, x.commit = res, maxRows, last
	if p.x == nil {
		err = x.run(ctx)
	} else {
		err = x.resume(ctx)
	}
	p.sent += x.rows
	if err == nil && x.suspended {
		p.x = x
		return true, nil
	}
	p.x, p.done = nil, true
	return false, err
}

// executionOf returns the execution of a portal that begins; kept says that it may be
// suspended.
func (s *Session) executionOf(p *Portal, kept bool) *execution {
	x := &s.extended
	if kept {
		x = new(execution)
	}
	*x = execution{s: s, prepared: p.prepared, params: p.params, cols: p.cols, alone: !s.txn.Open()}
	s.pipelined.note(s, p.prepared.Text, p.prepared.Stmt.AST)
	return x
}

// executeCursor sends what comes next from a portal with a cursor.
func (s *Session) executeCursor(ctx context.Context, p *Portal, maxRows int, res Results) (suspended bool, err error) {
	s.pipelined.fixed = true // where the cursor was is not known again
	want := int64(maxRows)
	if want == 0 {
		want = math.MaxInt64
	}
	n, err := s.moveCursor(ctx, p, &ast.Fetch{Count: want}, res.Row)
	switch {
	case err != nil:
		return false, err
	case n == want:
		return true, nil
	case p.tag != "":
		return false, res.Complete(recount(p.tag, n))
	}
	return false, res.Complete(tagSelect.count(n))
}

// mustStore reports whether a portal whose rows are wanted in portions runs to its end all
// the same: it does more than read.
func (p *Portal) mustStore() bool {
	if _, ok := p.prepared.Stmt.AST.(*ast.Select); ok {
		return p.prepared.Plan() == nil || p.prepared.Plan().Prep.Modifies
	}
	return p.cols != nil
}

// storeRows runs the statement of a portal to its end and keeps its rows for a cursor.
func (s *Session) storeRows(ctx context.Context, p *Portal, last bool, res Results) error {
	x := s.executionOf(p, true)
	rows := &storedRows{Results: res, s: s, width: len(p.cols)}
	rows.begin()
	x.res, x.commit = rows, last
	err := x.run(ctx)
	p.done = true
	if err != nil {
		rows.rows.Close()
		return err
	}
	p.tag = rows.tag
	p.cursor = &cursor{prepared: p.prepared, rows: rows.rows, done: true, scroll: ast.No}
	return nil
}

// storedRows are Results that keep the rows.
type storedRows struct {
	Results
	s     *Session
	width int
	rows  *exec.RowBuffer
	tag   string
}

func (r *storedRows) begin() { r.rows = exec.NewRowBuffer(r.s.srv.cfg.Mem, r.width) }

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

// cursorOf returns the cursor by which FETCH reads from a portal. What Execute has begun,
// it continues.
func (s *Session) cursorOf(ctx context.Context, p *Portal, res Results) (*cursor, error) {
	stmt := p.prepared.Stmt.AST
	switch {
	case p.cursor != nil:
		return p.cursor, nil
	case stmt == nil || !ast.ReturnsRows(stmt):
		return nil, p.errCannotRun()
	case p.x != nil:
		x := p.x
		p.x = nil
		p.cursor = &cursor{
			prepared: p.prepared, cached: x.cached, program: x.program, env: &x.env, snapshot: x.snapshot, pos: p.sent, scroll: ast.No, started: true,
		}
	case p.done:
		p.cursor = &cursor{prepared: p.prepared, done: true, pos: p.sent + 1, scroll: ast.No}
	case p.mustStore():
		if err := s.storeRows(ctx, p, false, res); err != nil {
			return nil, err
		}
	default:
		c := &cursor{prepared: p.prepared, scroll: ast.No}
		if err := s.openCursor(ctx, c, p.params); err != nil {
			return nil, err
		}
		p.cursor = c
	}
	return p.cursor, nil
}

// listedPortals are the portals that pg_cursors shows.
func (s *Session) listedPortals() []*Portal {
	var out []*Portal
	for _, p := range s.portals {
		out = append(out, p)
	}
	if s.portal != nil && s.portal.prepared != nil {
		out = append(out, s.portal)
	}
	return out
}

// recount returns a command tag with another count, if it has one.
func recount(tag string, n int64) string {
	i := strings.LastIndexByte(tag, ' ')
	if _, err := strconv.ParseInt(tag[i+1:], 10, 64); err != nil {
		return tag
	}
	return fmt.Sprintf("%s %d", tag[:i], n)
}

// holdPortal accounts for a portal that gets a name; 53200 if there is no memory for it.
func (s *Session) holdPortal(p *Portal) error {
	size := int64(portalBytes)
	for _, d := range p.params {
		size += int64(unsafe.Sizeof(d)) + int64(len(d.Str()))
	}
	if err := s.portalMem.Grow(size); err != nil {
		e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", err.Error()).
			WithHint("Close portals and cursors that are no longer needed, or raise --max-memory.")
		e.Cause = err
		return e
	}
	p.held = size
	return nil
}

// forgetPortal removes a portal with a name. With the last one goes the memory that was
// reserved ahead.
func (s *Session) forgetPortal(p *Portal) {
	if s.portalMem.Shrink(p.held); s.portalMem.Used() == 0 {
		s.portalMem.Close()
	}
	p.held = 0
	delete(s.portals, p.Name)
}
