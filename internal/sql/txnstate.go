package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// block says whether the session is inside BEGIN … COMMIT.
type block uint8

const (
	blockNone   block = iota
	blockOpen         // after BEGIN
	blockFailed       // after an error in the block: only ROLLBACK goes on
)

// maxSavepoints bounds the savepoints of a transaction.
const maxSavepoints = 10_000

type savepoint struct {
	name     string
	kv       kv.Savepoint
	coll     catalog.Savepoint
	settings int
	pending  pendingMark
	portals  int // number of the newest portal
	advisory int // advisory locks of the transaction
	deferral deferral
	modes    txnModes
}

// txnState is the session's transaction. Outside a block a transaction is
// implicit: it covers one simple query, or what the extended protocol sends up
// to Sync.
type txnState struct {
	txn        *kv.Txn // nil or finished when none is open
	block      block
	open       bool // txn is open, block or implicit
	modes      txnModes
	options    kv.TxnOptions // of a failed block that is not open any more
	savepoints []savepoint
	start      time.Time
	id         int64
}

// Status is the transaction status that ReadyForQuery carries.
func (s *Session) Status() byte {
	switch s.txn.block {
	case blockOpen:
		return 'T'
	case blockFailed:
		return 'E'
	}
	return 'I'
}

// ensureTxn opens a transaction unless one is open.
func (s *Session) ensureTxn() {
	if !s.txn.open {
		s.startTxn(s.txnOptions(), s.defaultModes())
	}
}

func (s *Session) startTxn(o kv.TxnOptions, m txnModes) {
	t := &s.txn
	t.modes = m
	s.turn.text = ""
	if t.txn == nil {
		t.txn = s.srv.cfg.DB.Begin(o)
	} else {
		t.txn.Reset(o)
	}
	t.txn.LockTimeout = s.vals.Fast.LockTimeout
	t.open = true
	t.start = time.Now()
	s.vals.Format.Now = t.start
	s.txnStart.Store(t.start.UnixNano())
	t.savepoints = t.savepoints[:0]
	s.deferral = deferral{}
	s.coll.Begin(t.txn)
}

// beginStatement begins a statement of the transaction that is open. The later ones of a block
// can't begin anew where clocks are uncertain once its client has seen what the first has read:
// so the first one asks other nodes for theirs, and waits for the block's turn.
func (s *Session) beginStatement(ctx context.Context, p *Prepared) error {
	t := &s.txn
	first := t.block == blockOpen && !t.txn.Begun()
	if t.block == blockOpen {
		t.txn.Meet(ctx)
	}
	t.txn.BeginStatement()
	if first {
		return s.takeTurn(ctx, p)
	}
	return nil
}

// commit ends the transaction, block or implicit, for good.
func (s *Session) commit(ctx context.Context) error {
	t := &s.txn
	if !t.open {
		t.block = blockNone
		s.vals.Commit()
		return nil
	}
	err := s.commitOnly(ctx)
	s.blockEnded(err)
	if err != nil {
		s.rollback(ctx)
		return s.translate(ctx, err)
	}
	s.endTxn()
	return nil
}

func (s *Session) rollback(ctx context.Context) {
	t := &s.txn
	if t.open {
		t.txn.Rollback(ctx)
		s.coll.RolledBack(ctx)
	}
	s.vals.Rollback()
	s.pending.rollbackTo(pendingMark{})
	s.contents = contentsInTxn{}
	s.endTxn()
}

func (s *Session) endTxn() {
	s.endID(txnAborted, hlc.Timestamp{}) // unless it was committed
	s.txn.open, s.txn.block = false, blockNone
	s.vals.Format.Now = time.Time{} // what is read before the next one begins is read now
	s.txnStart.Store(0)
	s.closeTxnPortals()
	s.advisory.EndTxn()
}

// undo gives up what a failed block has done: nobody is to wait for its locks until the
// client ends it.
func (s *Session) undo(ctx context.Context) {
	t := &s.txn
	t.options = t.txn.Options()
	t.txn.Rollback(ctx)
	s.endID(txnAborted, hlc.Timestamp{})
	s.coll.RolledBack(ctx)
	s.vals.Rollback()
	s.pending.rollbackTo(pendingMark{})
	s.stopPortals()
	s.contents = contentsInTxn{}
	s.advisory.EndTxn()
	t.open = false
}

// fail notes an error: an open block fails, and what it did is undone unless it can go on
// from a savepoint; so is an implicit transaction.
func (s *Session) fail(ctx context.Context) {
	switch s.txn.block {
	case blockOpen:
		s.txn.block = blockFailed
		if len(s.txn.savepoints) == 0 {
			s.undo(ctx)
		}
	case blockNone:
		s.rollback(ctx)
	}
}

// execTxnControl executes BEGIN, COMMIT, ROLLBACK and savepoints. implicit says
// that the statement shares its implicit transaction with others of one query.
func (s *Session) execTxnControl(ctx context.Context, stmt ast.Statement, res Results) (tag string, err error) {
	switch st := stmt.(type) {
	case *ast.Begin:
		return s.execBegin(ctx, st, res)
	case *ast.Commit:
		return s.execCommit(ctx, st, res)
	case *ast.Rollback:
		return s.execRollback(ctx, st, res)
	case *ast.Savepoint:
		return "SAVEPOINT", s.execSavepoint(string(st.Name))
	case *ast.Release:
		i, err := s.findSavepoint("RELEASE SAVEPOINT", string(st.Name))
		if err == nil {
			s.txn.modes = s.txn.savepoints[i].modes // as in PostgreSQL
			s.txn.savepoints = s.txn.savepoints[:i]
		}
		return "RELEASE", err
	case *ast.RollbackTo:
		return "ROLLBACK", s.execRollbackTo(ctx, string(st.Name))
	}
	return "", pgerr.Unsupported("%s is not supported", stmt.Tag())
}

func (s *Session) execBegin(ctx context.Context, st *ast.Begin, res Results) (string, error) {
	tag := "BEGIN"
	if st.Start {
		tag = "START TRANSACTION"
	}
	if s.txn.block != blockNone {
		res.Notice("WARNING", pgerr.New(pgerr.ActiveSQLTransaction, "there is already a transaction in progress"))
		return tag, nil
	}
	s.ensureTxn() // what ran before in the same query joins the block, as in PostgreSQL
	s.txn.block = blockOpen
	if err := s.setTxnModes(ctx, &st.Modes); err != nil {
		return "", err
	}
	return tag, nil
}

func (s *Session) execCommit(ctx context.Context, st *ast.Commit, res Results) (string, error) {
	o, m := s.chainOptions(), s.txn.modes
	if s.txn.block == blockFailed {
		s.rollback(ctx)
		return "ROLLBACK", s.chain(st.Chain, o, m)
	}
	if s.txn.block == blockNone {
		if st.Chain {
			return "", pgerr.New(pgerr.NoActiveSQLTransaction, "COMMIT AND CHAIN can only be used in transaction blocks")
		}
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "there is no transaction in progress"))
	}
	if err := s.commit(ctx); err != nil {
		return "", err
	}
	return "COMMIT", s.chain(st.Chain, o, m)
}

func (s *Session) execRollback(ctx context.Context, st *ast.Rollback, res Results) (string, error) {
	if s.txn.block == blockNone {
		if st.Chain {
			return "", pgerr.New(pgerr.NoActiveSQLTransaction, "ROLLBACK AND CHAIN can only be used in transaction blocks")
		}
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "there is no transaction in progress"))
	}
	o, m := s.chainOptions(), s.txn.modes
	s.rollback(ctx)
	return "ROLLBACK", s.chain(st.Chain, o, m)
}

func (s *Session) chainOptions() kv.TxnOptions {
	switch {
	case s.txn.txn != nil && s.txn.open:
		return s.txn.txn.Options()
	case s.txn.block == blockFailed:
		return s.txn.options
	}
	return s.txnOptions()
}

func (s *Session) chain(chain bool, o kv.TxnOptions, m txnModes) error {
	if chain {
		s.startTxn(o, m)
		s.txn.block = blockOpen
	}
	return nil
}

func (s *Session) execSavepoint(name string) error {
	if s.txn.block == blockNone {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "SAVEPOINT can only be used in transaction blocks")
	}
	if len(s.txn.savepoints) >= maxSavepoints {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many savepoints (limit %d)", maxSavepoints)
	}
	s.txn.savepoints = append(s.txn.savepoints, savepoint{
		name: name, kv: s.txn.txn.Savepoint(), coll: s.coll.Savepoint(), settings: s.vals.Mark(),
		pending:  s.pending.mark(),
		deferral: s.deferral.mark(), portals: s.portalNumber, advisory: s.advisory.Mark(), modes: s.txn.modes,
	})
	return nil
}

// findSavepoint returns the position of the newest savepoint of that name.
func (s *Session) findSavepoint(cmd, name string) (int, error) {
	if s.txn.block == blockNone {
		return 0, pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", cmd)
	}
	for i := len(s.txn.savepoints) - 1; i >= 0; i-- {
		if s.txn.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepointSpecification, "savepoint %q does not exist", name)
}

func (s *Session) execRollbackTo(ctx context.Context, name string) error {
	i, err := s.findSavepoint("ROLLBACK TO SAVEPOINT", name)
	if err != nil {
		return err
	}
	sp := s.txn.savepoints[i]
	if err := s.txn.txn.RollbackTo(ctx, sp.kv); err != nil {
		return s.translate(ctx, err)
	}
	s.coll.RollbackTo(sp.coll)
	s.vals.RollbackTo(sp.settings)
	s.txn.modes = sp.modes
	s.pending.rollbackTo(sp.pending)
	s.contents.analysed = nil
	s.deferral = sp.deferral.mark()
	s.closePortalsSince(sp.portals)
	s.advisory.RollbackTo(ctx, sp.advisory)
	s.txn.savepoints = s.txn.savepoints[:i+1]
	s.txn.block = blockOpen
	return nil
}
