package transaction

import (
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Modes are the modes of a transaction as its client has set and is shown them. Savepoints return
// to them, so that a block which became read-only since may write again: the transaction below is
// notified only of what can't be taken back.
type Modes struct {
	ReadOnly   bool
	Deferrable bool // without effect: serializable reads wait for no snapshot
	// Uncommitted says that READ UNCOMMITTED was asked for, which is READ COMMITTED.
	Uncommitted bool
}

// Modes returns the modes of the open transaction, or of the one that the next statement would
// open.
func (t *Transaction) Modes() Modes {
	if t.open {
		return t.modes
	}
	_, m := t.callbacks.Defaults()
	return m
}

// options are those of the open transaction, or of the one that the next statement would open.
func (t *Transaction) options() kv.TxnOptions {
	if t.open {
		return t.txn.Options()
	}
	o, _ := t.callbacks.Defaults()
	return o
}

// ReadOnly reports whether the open transaction, or the next one, may not write.
func (t *Transaction) ReadOnly() bool {
	if t.open {
		return t.modes.ReadOnly || t.txn.Options().ReadOnly
	}
	o, m := t.callbacks.Defaults()
	return m.ReadOnly || o.ReadOnly
}

// refuseWrites reports whether the transaction below is to refuse writes if this one is
// read-only: unless there are temporary tables.
func (t *Transaction) refuseWrites(readOnly bool) bool { return readOnly && !t.callbacks.MayHaveTemp() }

// Isolation returns what SHOW transaction_isolation prints.
func (t *Transaction) Isolation() string {
	if o := t.options(); o.Isolation != kv.ReadCommitted || !t.Modes().Uncommitted {
		return o.Isolation.String()
	}
	return strings.ToLower(ast.ReadUncommitted.String())
}

var isolations = map[ast.Isolation]kv.Isolation{
	ast.Serializable: kv.Serializable, ast.RepeatableRead: kv.RepeatableRead,
	ast.ReadCommitted: kv.ReadCommitted, ast.ReadUncommitted: kv.ReadCommitted,
}

// IsolationNamed returns the isolation level of a name, in any case.
func IsolationNamed(name string) ast.Isolation {
	for l := range isolations {
		if strings.EqualFold(l.String(), name) {
			return l
		}
	}
	return ast.IsolationDefault
}

// ReadAsOf makes the open transaction, or a new one, read the past; 0A000 if it has begun
// otherwise.
func (t *Transaction) ReadAsOf(ts hlc.Timestamp) error {
	if !t.open {
		o, m := t.callbacks.Defaults()
		o.AsOf, o.ReadOnly, m.ReadOnly = ts, true, true
		t.Start(o, m)
		return nil
	}
	o := t.txn.Options()
	o.AsOf, o.ReadOnly = ts, true
	if o != t.txn.Options() && !t.txn.SetOptions(o) {
		return pgerr.Unsupported("AS OF SYSTEM TIME must be set for the whole transaction").
			WithHint("Use BEGIN AS OF SYSTEM TIME, or put it on the first statement.")
	}
	return nil
}

// SetModes applies the modes of BEGIN and SET TRANSACTION to the open transaction; asOf is the
// value of AS OF SYSTEM TIME, if m has one. 25001 if they come too late.
func (t *Transaction) SetModes(m *ast.TxnModes, asOf hlc.Timestamp) error {
	o, modes := t.txn.Options(), t.modes
	if m.Isolation != ast.IsolationDefault {
		o.Isolation, modes.Uncommitted = isolations[m.Isolation], m.Isolation == ast.ReadUncommitted
	}
	if m.ReadOnly != ast.Unset {
		modes.ReadOnly = m.ReadOnly == ast.Yes
	}
	if m.Deferrable != ast.Unset {
		modes.Deferrable = m.Deferrable == ast.Yes
	}
	if m.AsOf != nil {
		o.AsOf, modes.ReadOnly = asOf, true
	}
	inside := len(t.savepoints) > 0
	if modes.ReadOnly && !inside || !modes.ReadOnly {
		o.ReadOnly = t.refuseWrites(modes.ReadOnly) || modes.ReadOnly && !o.AsOf.IsEmpty()
	}
	if err := t.checkModes(m, o, modes); err != nil {
		return err
	}
	if o != t.txn.Options() && !t.txn.SetOptions(o) {
		o.ReadOnly = t.txn.Options().ReadOnly // the session sees to it
		if o != t.txn.Options() {
			return errTooLate("SET TRANSACTION ISOLATION LEVEL must be called before any query")
		}
	}
	t.modes = modes
	return nil
}

// checkModes refuses changes of modes that come too late, or inside of a savepoint.
func (t *Transaction) checkModes(m *ast.TxnModes, o kv.TxnOptions, modes Modes) error {
	now := t.modes
	inside, begun := len(t.savepoints) > 0, t.txn.Begun()
	level := o.Isolation != t.txn.Options().Isolation || modes.Uncommitted != now.Uncommitted
	switch {
	case level && begun:
		return errTooLate("SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case level && inside:
		return errTooLate("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	case now.ReadOnly && !modes.ReadOnly && inside:
		return errTooLate("cannot set transaction read-write mode inside a read-only transaction")
	case now.ReadOnly && !modes.ReadOnly && begun:
		return errTooLate("transaction read-write mode must be set before any query")
	case m.Deferrable != ast.Unset && inside:
		return errTooLate("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
	case m.Deferrable != ast.Unset && begun:
		return errTooLate("SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	}
	return nil
}

func errTooLate(message string) error {
	return pgerr.New(pgerr.ActiveSQLTransaction, "%s", message)
}
