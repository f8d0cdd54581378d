package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Query runs the statements of a simple query. Several statements share one
// implicit transaction, as far as they don't begin and end one themselves; the
// first error ends the text.
func (s *Session) Query(ctx context.Context, text string, res Results) error {
	done, learn, sh, err := s.queryByShape(text, res)
	if done {
		return err
	}
	if err = s.queryAsIs(ctx, text, res); err != nil {
		return err
	}
	if learn {
		s.learnShape(text)
	} else if sh != nil {
		sh.off.Store(true)
	}
	return nil
}

// queryAsIs runs the statements of a simple query as they are.
func (s *Session) queryAsIs(ctx context.Context, text string, res Results) error {
	stmts, err := parser.Parse(text)
	if err != nil {
		s.fail(ctx)
		return err
	}
	s.closeUnnamedPortal()
	if len(stmts) == 0 {
		return res.Empty()
	}
	if len(stmts) > 1 {
		return s.runBatch(stmts, text, res)
	}
	stmt, err := rewriteShow(stmts[0])
	if err != nil {
		s.fail(ctx)
		return err
	}
	_, err = s.runSimple(&Prepared{Text: text, stmt: stmt}, true, true, res)
	return err
}

// runSimple runs one statement of a simple query; alone says that it is the only
// one, last that the implicit transaction ends with it. conflict says that the error is
// one that might not come if the transaction began again.
func (s *Session) runSimple(p *Prepared, alone, last bool, res Results) (conflict bool, err error) {
	ctx := s.begin(p.Text)
	defer s.end()
	x := execution{s: s, prepared: p, res: res, describe: true, commit: last, alone: alone}
	if err = x.run(ctx); err != nil {
		conflict = kv.IsRetryable(err)
		err = s.translate(ctx, err)
		s.fail(ctx)
	}
	return conflict, err
}

// Portal is a bound statement that runs in the extended protocol, at once or a
// number of rows at a time.
type Portal struct {
	Name string
	// Front is free for the front that serves the session.
	Front any

	prepared *Prepared
	params   []types.Datum
	x        *execution // set once it has begun
	done     bool
}

// Prepared returns the statement that the portal runs.
func (p *Portal) Prepared() *Prepared { return p.prepared }

// Bind makes a portal; "" is the unnamed one, which is replaced. The session
// keeps params until the portal closes.
func (s *Session) Bind(_ context.Context, name string, p *Prepared, params []types.Datum) (*Portal, error) {
	if s.txn.block == blockFailed && (p.stmt.AST == nil || !endsBlock(p.stmt.AST)) {
		return nil, errFailedBlock()
	}
	if len(params) != len(p.types) {
		return nil, pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement %q requires %d", len(params), p.Name, len(p.types))
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
		*s.portal = Portal{prepared: p, params: params, Front: front}
		return s.portal, nil
	}
	if s.portals[name] != nil {
		return nil, pgerr.New(pgerr.DuplicateCursor, "portal %q already exists", name)
	}
	if len(s.portals) >= maxPortals {
		return nil, pgerr.New(pgerr.ConfigurationLimitExceeded, "too many open portals (limit %d)", maxPortals)
	}
	portal := &Portal{Name: name, prepared: p, params: params}
	s.portals[name] = portal
	return portal, nil
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

// ClosePortal closes a portal; an absent one is no error.
func (s *Session) ClosePortal(name string) {
	if name == "" {
		s.closeUnnamedPortal()
		return
	}
	if p := s.portals[name]; p != nil {
		p.close()
		delete(s.portals, name)
	}
}

func (s *Session) closeUnnamedPortal() {
	if s.portal != nil {
		s.portal.close()
		s.portal.prepared = nil
	}
}

// closeTxnPortals closes what runs in the transaction that ends.
func (s *Session) closeTxnPortals() {
	for name := range s.portals {
		s.ClosePortal(name)
	}
	if s.portal != nil && s.portal.x != nil {
		s.portal.close()
	}
}

func (p *Portal) close() {
	if p.x != nil {
		p.x.close()
		p.x = nil
	}
	p.done = true
}

// Execute runs a portal, up to maxRows rows if that is not 0; suspended says
// that there are more. last says that the front knows Sync to follow, so that
// the implicit transaction may end here, where it can still be run again.
func (s *Session) Execute(_ context.Context, p *Portal, maxRows int, last bool, res Results) (suspended bool, err error) {
	if p.prepared.stmt.AST == nil {
		return false, res.Empty()
	}
	ctx := s.begin(p.prepared.Text)
	defer s.end()
	if p.x == nil && p.done {
		if ast.ReturnsRows(p.prepared.stmt.AST) {
			return false, res.Complete(p.prepared.stmt.AST.Tag() + " 0")
		}
		return false, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal %q cannot be run", p.Name)
	}
	x := p.x
	if x == nil {
		x = &s.extended
		if maxRows > 0 || p.Name != "" {
			x = new(execution)
		}
		*x = execution{s: s, prepared: p.prepared, params: p.params, alone: !s.txn.open}
		s.pipelined.note(s, p.prepared.Text, p.prepared.stmt.AST)
	}
	x.res, x.maxRows, x.commit = res, maxRows, last
	if p.x == nil {
		err = x.run(ctx)
	} else {
		err = x.resume(ctx)
	}
	switch {
	case err != nil:
		p.x, p.done = nil, true
		err = s.translate(ctx, err)
		s.fail(ctx)
	case x.suspended:
		p.x = x
		return true, nil
	default:
		p.x, p.done = nil, true
	}
	return false, err
}

// Fail tells the session that its front met an error within a batch of the
// extended protocol.
func (s *Session) Fail(error) { s.fail(context.Background()) }

// Sync ends a batch of the extended protocol: outside a block it commits what
// the batch did.
func (s *Session) Sync(context.Context) error {
	if s.txn.block != blockNone || !s.txn.open {
		return nil
	}
	ctx := s.begin("COMMIT")
	defer s.end()
	return s.commit(ctx)
}
