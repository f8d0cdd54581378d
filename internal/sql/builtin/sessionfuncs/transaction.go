package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// transactions is what a session knows of numbered transactions, if it knows of any.
type transactions interface {
	// AssignedTransactionID returns the number of a transaction that has one already.
	AssignedTransactionID() (int64, bool)
	// Snapshot returns which transactions the current statement sees.
	Snapshot() (types.SnapshotValue, error)
	// TransactionStatus is "in progress", "committed", "aborted", or "" if it is not known.
	TransactionStatus(id uint64) (string, error)
}

// transactionFunc makes a function that asks the session for transactions.
func transactionFunc(f func(s transactions, a []types.Datum) (types.Datum, error)) call.EvalFunc {
	return call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
		t, ok := s.(transactions)
		if !ok {
			return types.Null, pgerr.Unsupported("functions about transactions are not available here")
		}
		return f(t, a)
	})
}

// transactionFunctions declares the functions of xid8 and pg_snapshot, and those of before with
// numbers of 64 bits and txid_snapshot.
func transactionFunctions() []*call.Overload {
	all := []*call.Overload{
		// Nothing here has to be frozen: no number grows old.
		call.Fn("age(xid) int4", zeroAge).Stable(), call.Fn("mxid_age(xid) int4", zeroAge).Stable(),
		call.Fn("pg_xact_commit_timestamp(xid) timestamptz", noCommitTimes).Volatile(),
		noCommitRow("pg_xact_commit_timestamp_origin(xid) record", "timestamp", "roident"),
		noCommitRow("pg_last_committed_xact() record", "xid", "timestamp", "roident"),
	}
	return append(append(all, transactionTwins(xactNames)...), transactionTwins(txidNames)...)
}

func zeroAge(*call.Context, []types.Datum) (types.Datum, error) { return types.NewInt(0), nil }

func noCommitTimes(*call.Context, []types.Datum) (types.Datum, error) {
	return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "could not get commit timestamp data").
		WithHint("Make sure the configuration parameter \"track_commit_timestamp\" is set.")
}

// noCommitRow declares a function of one row that is never there.
func noCommitRow(sig string, names ...string) *call.Overload {
	columnTypes := map[string]*types.T{"xid": types.Xid, "timestamp": types.TimestampTZ, "roident": types.Oid}
	var ts []*types.T
	for _, n := range names {
		ts = append(ts, columnTypes[n])
	}
	return call.SRF(sig, func(*call.Context, []types.Datum) (call.RowIterator, error) {
		_, err := noCommitTimes(nil, nil)
		return nil, err
	}).Columns(names, ts).AtMostOneRow().Volatile()
}

// twinNames are the names of one of the two families of functions, and their types.
type twinNames struct {
	id, snapshot                       string
	current, assigned, currentSnapshot string
	status, visible, xip, xmin, xmax   string
	wrap                               func(uint64) types.Datum
	unwrap                             func(types.Datum) uint64
}

var xactNames = twinNames{
	id: "xid8", snapshot: "pg_snapshot", current: "pg_current_xact_id", assigned: "pg_current_xact_id_if_assigned",
	currentSnapshot: "pg_current_snapshot", status: "pg_xact_status", visible: "pg_visible_in_snapshot",
	xip: "pg_snapshot_xip", xmin: "pg_snapshot_xmin", xmax: "pg_snapshot_xmax",
	wrap: types.NewUint64, unwrap: types.Datum.Uint64,
}

var txidNames = twinNames{
	id: "int8", snapshot: "txid_snapshot", current: "txid_current", assigned: "txid_current_if_assigned",
	currentSnapshot: "txid_current_snapshot", status: "txid_status", visible: "txid_visible_in_snapshot",
	xip: "txid_snapshot_xip", xmin: "txid_snapshot_xmin", xmax: "txid_snapshot_xmax",
	wrap:   func(u uint64) types.Datum { return types.NewInt(int64(u)) },
	unwrap: func(d types.Datum) uint64 { return uint64(d.Int()) },
}

func transactionTwins(n twinNames) []*call.Overload {
	part := func(f func(types.SnapshotValue) uint64) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) { return n.wrap(f(a[0].Snapshot())), nil }
	}
	return []*call.Overload{
		call.Fn(n.current+"() "+n.id, call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return n.wrap(uint64(s.TransactionID())), nil
		})).Stable(),
		call.Fn(n.assigned+"() "+n.id, transactionFunc(func(s transactions, _ []types.Datum) (types.Datum, error) {
			id, ok := s.AssignedTransactionID()
			if !ok {
				return types.Null, nil
			}
			return n.wrap(uint64(id)), nil
		})).Stable(),
		call.Fn(n.currentSnapshot+"() "+n.snapshot, transactionFunc(func(s transactions, _ []types.Datum) (types.Datum, error) {
			v, err := s.Snapshot()
			if err != nil {
				return types.Null, err
			}
			return types.NewSnapshot(v), nil
		})).Stable(),
		call.Fn(n.status+"("+n.id+") text", transactionFunc(func(s transactions, a []types.Datum) (types.Datum, error) {
			status, err := s.TransactionStatus(n.unwrap(a[0]))
			if status == "" {
				return types.Null, err
			}
			return types.NewString(status), err
		})).Volatile(),
		call.Fn(n.visible+"("+n.id+","+n.snapshot+") bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[1].Snapshot().Sees(n.unwrap(a[0]))), nil
		}),
		call.Fn(n.xmin+"("+n.snapshot+") "+n.id, part(func(v types.SnapshotValue) uint64 { return v.Xmin })),
		call.Fn(n.xmax+"("+n.snapshot+") "+n.id, part(func(v types.SnapshotValue) uint64 { return v.Xmax })),
		call.SRF(n.xip+"("+n.snapshot+") setof "+n.id, func(_ *call.Context, a []types.Datum) (call.RowIterator, error) {
			var rows [][]types.Datum
			for _, x := range a[0].Snapshot().Xip {
				rows = append(rows, []types.Datum{n.wrap(x)})
			}
			return call.NewRows(rows), nil
		}),
	}
}
