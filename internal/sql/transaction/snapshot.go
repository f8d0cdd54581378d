package transaction

import (
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// An exported snapshot is a time: a transaction that imports it reads as of then, which is
// possible as long as the transaction that exported it lasts, since that keeps the versions.

// ExportSnapshot returns the name of the snapshot that the open transaction reads.
func (t *Transaction) ExportSnapshot() string { return snapshotName(t.txn.ReadTimestamp()) }

func snapshotName(ts hlc.Timestamp) string {
	return fmt.Sprintf("%016X-%08X-1", ts.WallTime, ts.Logical)
}

// snapshotTime is the time of a snapshot of that name.
func snapshotTime(name string) (ts hlc.Timestamp, ok bool) {
	if _, err := fmt.Sscanf(name, "%X-%X-1", &ts.WallTime, &ts.Logical); err != nil {
		return ts, false
	}
	return ts, ts.WallTime > 0 && name == snapshotName(ts)
}

// ImportSnapshot executes SET TRANSACTION SNAPSHOT in the open transaction.
func (t *Transaction) ImportSnapshot(name string) error {
	ts, ok := snapshotTime(name)
	o := t.txn.Options()
	switch {
	case !ok:
		return pgerr.New(pgerr.InvalidParameterValue, "invalid snapshot identifier: \"%s\"", name)
	case t.db.Clock().Now().Less(ts):
		return pgerr.New(pgerr.UndefinedObject, "snapshot \"%s\" does not exist", name)
	case o.Isolation == kv.ReadCommitted:
		return pgerr.Unsupported("a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	case !t.ReadOnly():
		return pgerr.Unsupported("importing a snapshot in a transaction that may write is not supported").
			WithHint("Use SET TRANSACTION READ ONLY first.")
	}
	o.AsOf, o.ReadOnly = ts, true
	if !t.txn.SetOptions(o) {
		return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	}
	return nil
}
