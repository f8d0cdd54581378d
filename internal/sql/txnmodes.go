package sql

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// txnModes are the modes of a transaction as its client has set and is shown them.
// Savepoints return to them, so that a block which became read-only since may write again:
// the transaction below is told only of what can't be taken back.
type txnModes struct {
	readOnly   bool
	deferrable bool // without effect: serializable reads wait for no snapshot
	// uncommitted says that READ UNCOMMITTED was asked for, which is READ COMMITTED.
	uncommitted bool
}

// defaultModes are those of a transaction that says nothing itself.
func (s *Session) defaultModes() txnModes {
	f := &s.vals.Fast
	return txnModes{readOnly: f.DefaultReadOnly, deferrable: f.DefaultDeferrable, uncommitted: f.DefaultUncommitted}
}

// currentModes are those of the open transaction, or of the one that the next statement
// would open.
func (s *Session) currentModes() txnModes {
	if s.txn.open {
		return s.txn.modes
	}
	return s.defaultModes()
}

// readOnly reports whether the open transaction, or the next one, may not write.
func (s *Session) readOnly() bool {
	return s.currentModes().readOnly || s.currentOptions().ReadOnly
}

// onlyReads reports whether the transaction below is to refuse writes, if that of the session
// is read-only: that writes to temporary tables.
func (s *Session) onlyReads(readOnly bool) bool { return readOnly && !s.coll.MayHaveTemp() }

// writableTemp reports whether a table is a temporary one that the open transaction, though it
// is read-only, may write to.
func (s *Session) writableTemp(t *catalog.Table) bool {
	return !s.txn.txn.Options().ReadOnly && s.coll.Temporary(t)
}

// writes returns 25006 if the open transaction may not do what to a relation.
func (s *Session) writes(t *catalog.Table, what string) error {
	if !s.readOnly() || s.writableTemp(t) {
		return nil
	}
	return errReadOnly(what)
}

func errReadOnly(what string) error {
	return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
}

// isolationName is what SHOW transaction_isolation prints.
func (s *Session) isolationName() string {
	if o := s.currentOptions(); o.Isolation != kv.ReadCommitted || !s.currentModes().uncommitted {
		return o.Isolation.String()
	}
	return strings.ToLower(ast.ReadUncommitted.String())
}

var isolations = map[ast.Isolation]kv.Isolation{
	ast.Serializable: kv.Serializable, ast.RepeatableRead: kv.RepeatableRead,
	ast.ReadCommitted: kv.ReadCommitted, ast.ReadUncommitted: kv.ReadCommitted,
}

// setTxnModes applies the modes of BEGIN and SET TRANSACTION to the open transaction.
func (s *Session) setTxnModes(ctx context.Context, m *ast.TxnModes) error {
	o, modes := s.txn.txn.Options(), s.txn.modes
	if m.Isolation != ast.IsolationDefault {
		o.Isolation, modes.uncommitted = isolations[m.Isolation], m.Isolation == ast.ReadUncommitted
	}
	if m.ReadOnly != ast.Unset {
		modes.readOnly = m.ReadOnly == ast.Yes
	}
	if m.Deferrable != ast.Unset {
		modes.deferrable = m.Deferrable == ast.Yes
	}
	if m.AsOf != nil {
		ts, err := s.asOf(ctx, m.AsOf)
		if err != nil {
			return err
		}
		o.AsOf, modes.readOnly = ts, true
	}
	inside := len(s.txn.savepoints) > 0
	if modes.readOnly && !inside || !modes.readOnly {
		o.ReadOnly = s.onlyReads(modes.readOnly) || modes.readOnly && !o.AsOf.IsEmpty()
	}
	if err := s.checkModes(m, o, modes); err != nil {
		return err
	}
	if o != s.txn.txn.Options() && !s.txn.txn.SetOptions(o) {
		o.ReadOnly = s.txn.txn.Options().ReadOnly // the session sees to it
		if o != s.txn.txn.Options() {
			return errModeTooLate("SET TRANSACTION ISOLATION LEVEL must be called before any query")
		}
	}
	s.txn.modes = modes
	return nil
}

// checkModes refuses changes of modes that come too late, or inside of a savepoint.
func (s *Session) checkModes(m *ast.TxnModes, o kv.TxnOptions, modes txnModes) error {
	now := s.txn.modes
	inside, begun := len(s.txn.savepoints) > 0, s.txn.txn.Begun()
	level := o.Isolation != s.txn.txn.Options().Isolation || modes.uncommitted != now.uncommitted
	switch {
	case level && begun:
		return errModeTooLate("SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case level && inside:
		return errModeTooLate("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	case now.readOnly && !modes.readOnly && inside:
		return errModeTooLate("cannot set transaction read-write mode inside a read-only transaction")
	case now.readOnly && !modes.readOnly && begun:
		return errModeTooLate("transaction read-write mode must be set before any query")
	case m.Deferrable != ast.Unset && inside:
		return errModeTooLate("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
	case m.Deferrable != ast.Unset && begun:
		return errModeTooLate("SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	}
	return nil
}

func errModeTooLate(message string) error {
	return pgerr.New(pgerr.ActiveSQLTransaction, "%s", message)
}

// setModeText is SET of a parameter that is a mode of the transaction; it returns what it
// is then.
func (s *Session) setModeText(ctx context.Context, name, value string) (string, error) {
	var m ast.TxnModes
	yes := func(b bool) ast.Tristate {
		if b {
			return ast.Yes
		}
		return ast.No
	}
	switch name {
	case "transaction_isolation":
		for l := range isolations {
			if strings.EqualFold(l.String(), value) {
				m.Isolation = l
			}
		}
	case "transaction_read_only":
		m.ReadOnly = yes(value == "on")
	case "transaction_deferrable":
		m.Deferrable = yes(value == "on")
	}
	s.ensureTxn()
	return value, s.setTxnModes(ctx, &m)
}
