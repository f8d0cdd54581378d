package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/fingerprint"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/prepared"
)

// Query runs the statements of a simple query. Several statements share one
// implicit transaction, as far as they don't begin and end one themselves; the
// first error ends the text.
func (s *Session) Query(ctx context.Context, text string, res Results) error {
	s.ex.running.arrived = time.Time{}
	done, learn, shared, err := s.queryByFingerprint(text, res)
	if done {
		return err
	}
	if err = s.queryAsIs(ctx, text, res); err != nil {
		return err
	}
	if learn {
		s.fingerprints.Learn(text)
	} else if shared != nil {
		shared.TurnOff()
	}
	return nil
}

// queryByFingerprint runs a simple query by the fingerprint of its text. It answers false if it
// has not, and then whether the fingerprint is to be learned if the query succeeds.
func (s *Session) queryByFingerprint(text string, res Results) (done, learn bool, shared *fingerprint.Shared, err error) {
	if o := s.ex.stringOptions(); o.Escapes || o.RefuseQuotes {
		return false, false, nil, nil // fingerprints are read by the standard
	}
	shared, learn = s.fingerprints.Find(text)
	if learn || shared == nil || !shared.Serves() {
		return false, learn, nil, nil
	}
	s.dropUnnamed()
	p, params := s.fingerprints.Statement(shared, text)
	ctx := s.ex.begin(text)
	defer s.ex.end()
	x := execution{ex: &s.ex, prepared: p, params: params, res: res, describe: true, commit: true, alone: true}
	if err = x.run(ctx); err == nil {
		return true, false, shared, nil
	}
	if x.unplanned {
		return false, false, shared, nil
	}
	return true, false, shared, s.ex.failWith(ctx, err)
}

// queryAsIs runs the statements of a simple query as they are.
func (s *Session) queryAsIs(ctx context.Context, text string, res Results) error {
	s.dropUnnamed()
	stmts, warnings, err := s.ex.parse(text)
	warn(res, warnings)
	if err != nil {
		s.ex.txn.Fail(ctx)
		return err
	}
	if len(stmts) == 0 {
		return res.Empty()
	}
	if len(stmts) > 1 {
		return s.runBatch(stmts, text, res)
	}
	stmt, err := rewriteShow(stmts[0])
	if err != nil {
		s.ex.txn.Fail(ctx)
		return err
	}
	_, err = s.runSimple(&prepared.Statement{Text: text, Stmt: stmt, NoParams: true}, true, true, res)
	return err
}

// stringOptions say how string constants are read under the session's settings.
func (ex *executor) stringOptions() parser.Options {
	f := &ex.vals.Fast
	safe := f.Encoding == nil || !f.Encoding.ClientOnly()
	return parser.Options{
		Escapes:      ex.vals.Format.Escapes,
		Warn:         !f.NoEscapeWarning,
		RefuseQuotes: f.BackslashQuote == "off" || f.BackslashQuote == "safe_encoding" && !safe,
	}
}

// warn sends the warnings of the parser.
func warn(n Noticer, warnings []*pgerr.Error) {
	for _, w := range warnings {
		severity := "WARNING"
		if w.Code == pgerr.NameTooLong {
			severity = "NOTICE"
		}
		n.Notice(severity, w)
	}
}

// runSimple runs one statement of a simple query; alone says that it is the only
// one, last that the implicit transaction ends with it. conflict says that the error is
// one that might not come if the transaction began again.
func (s *Session) runSimple(p *prepared.Statement, alone, last bool, res Results) (conflict bool, err error) {
	ctx := s.ex.begin(p.Text)
	defer s.ex.end()
	x := execution{ex: &s.ex, prepared: p, res: res, describe: true, commit: last, alone: alone}
	if err = x.run(ctx); err != nil {
		conflict = kv.IsRetryable(err)
		err = s.ex.failWith(ctx, err)
	}
	if s.ex.opened && !s.ex.txn.Open() { // cursors of routines end with their transaction
		s.ex.opened = false
		s.ex.portals.TxnEnded()
	}
	return conflict, err
}

// Fail records that the session's connection met an error within a batch of the
// extended protocol.
func (s *Session) Fail(error) { s.ex.txn.Fail(context.Background()) }

// Sync ends a batch of the extended protocol: outside a block it commits what
// the batch did.
func (s *Session) Sync(context.Context) error {
	if s.ex.txn.InBlock() {
		return nil
	}
	s.ex.running.arrived = time.Time{}
	defer s.closeUnnamedPortal()
	if !s.ex.txn.Open() {
		s.ex.portals.TxnEnded() // the commit came with the last statement
		return nil
	}
	ctx := s.ex.begin("COMMIT")
	defer s.ex.end()
	return s.ex.commit(ctx)
}
