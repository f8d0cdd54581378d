package coord

import (
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A check at REPEATABLE READ, and at SERIALIZABLE one of what is locked, reads at the
// present, and leaves the transaction's snapshot and what it has read alone; the commit
// comes later than what it saw.
func TestCheckKeepsSnapshot(t *testing.T) {
	for _, c := range []struct {
		level  kvpb.Isolation
		locked bool
		moves  bool
	}{
		{kvpb.Serializable, false, false}, {kvpb.Serializable, true, true},
		{kvpb.RepeatableRead, false, true}, {kvpb.RepeatableRead, true, true},
	} {
		clock := hlc.NewSystem(0)
		txn := &Txn{env: &Env{Clock: clock}, opts: Options{Isolation: c.level}, state: active}
		txn.newSnapshot(clock.Now())
		before := txn.ReadTimestamp()
		txn.BeginCheck(c.locked)
		saw := txn.ReadTimestamp()
		if moved := before.Less(txn.ReadTimestamp()); moved != c.moves {
			t.Errorf("%v: the check reads at a later time: %v", c.level, moved)
		}
		if remembers := txn.remembersReads(); remembers == c.moves {
			t.Errorf("%v: the check's reads are remembered: %v", c.level, remembers)
		}
		txn.EndCheck()
		if txn.ReadTimestamp() != before || !txn.remembersReads() {
			t.Errorf("%v: the check changed the transaction's snapshot", c.level)
		}
		if c.moves && txn.minTS.Less(saw) {
			t.Errorf("%v: the commit may come before what the check saw", c.level)
		}
	}
}
