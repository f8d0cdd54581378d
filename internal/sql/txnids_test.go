package sql_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin/sessionfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// A snapshot sees the transactions whose rows its statement sees, and no other.
func TestTransactionSnapshots(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	writer, reader, other := named(t, n, "writer"), named(t, n, "reader"), named(t, n, "other")
	mustExec(t, writer, "CREATE TABLE t (a INT PRIMARY KEY, id xid8 DEFAULT pg_current_xact_id())")
	seen := "SELECT count(*)::text || ' ' || count(*) FILTER (WHERE pg_visible_in_snapshot(id, pg_current_snapshot())) FROM t"
	snapshot := "SELECT pg_current_snapshot()"

	mustExec(t, writer, "INSERT INTO t VALUES (1)")
	if got := value(t, reader, seen); got != "1 1" {
		t.Errorf("after a commit: %s", got)
	}
	mustExec(t, writer, "BEGIN")
	mustExec(t, writer, "INSERT INTO t VALUES (2)")
	id := value(t, writer, "SELECT pg_current_xact_id()")
	mustExec(t, reader, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	mustExec(t, reader, "SELECT * FROM t")
	running := value(t, other, snapshot)
	mustExec(t, other, "INSERT INTO t VALUES (3)")
	mustExec(t, writer, "COMMIT")

	visible := func(snap string) string {
		return value(t, other, "SELECT pg_visible_in_snapshot('"+id+"', '"+snap+"')")
	}
	if got := visible(running); got != "f" {
		t.Errorf("while it went on: %s in %s", got, running)
	}
	if now := value(t, other, snapshot); visible(now) != "t" {
		t.Errorf("after its commit it is not in %s", now)
	}
	// The reader's snapshot is of before both commits, though it asks after them.
	if got := value(t, reader, seen); got != "1 1" {
		t.Errorf("in the old snapshot: %s", got)
	}
	if old := value(t, reader, snapshot); visible(old) != "f" {
		t.Errorf("the old snapshot is %s", old)
	}
	mustExec(t, reader, "COMMIT")

	mustExec(t, writer, "BEGIN")
	lost := value(t, writer, "SELECT pg_current_xact_id()")
	mustExec(t, writer, "ROLLBACK")
	if got := value(t, other, "SELECT pg_xact_status('"+id+"') || ' ' || pg_xact_status('"+lost+"')"); got != "committed aborted" {
		t.Errorf("status: %s", got)
	}
}

// Snapshots know of the transactions of other nodes, and no number is given below one that is
// said to have everything.
func TestTransactionsOfOtherNodes(t *testing.T) {
	n, m := newNode(t, fs.NewMem()), newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n); closeNode(t, m) })
	n.nodes.peer, m.nodes.peer, m.nodes.self = m.sql, n.sql, 2
	here, there := named(t, n, "here"), named(t, m, "there")

	mustExec(t, there, "BEGIN")
	id := value(t, there, "SELECT pg_current_xact_id()")
	snap := value(t, here, "SELECT pg_current_snapshot()")
	if got := value(t, here, "SELECT x FROM pg_snapshot_xip('"+snap+"') x"); got != id {
		t.Errorf("%s goes on at the other node, but the snapshot is %s", id, snap)
	}
	if got := value(t, here, "SELECT pg_xact_status('"+id+"')"); got != "in progress" {
		t.Errorf("status: %s", got)
	}
	mustExec(t, there, "COMMIT")
	if got := value(t, here, "SELECT pg_xact_status('"+id+"')"); got != "committed" {
		t.Errorf("status: %s", got)
	}
	for range 100 {
		snap := value(t, here, "SELECT pg_current_snapshot()")
		if got := value(t, there, "SELECT pg_visible_in_snapshot(pg_current_xact_id(), '"+snap+"')"); got != "f" {
			t.Fatalf("a number was given below the end of %s", snap)
		}
	}

	// A node whose clock is ahead gives numbers that others would not reach for long.
	ahead, _ := strconv.ParseInt(id, 10, 64)
	if _, err := m.sql.Answer(fmt.Appendf(nil, `{"Txns":{"Floor":%d}}`, ahead>>sessionfuncs.UniqueIDNodeBits+1e12)); err != nil {
		t.Fatal(err)
	}
	mustExec(t, there, "BEGIN")
	id = value(t, there, "SELECT pg_current_xact_id()")
	during := value(t, here, "SELECT pg_current_snapshot()")
	if got := value(t, here, "SELECT x FROM pg_snapshot_xip('"+during+"') x"); got != id {
		t.Errorf("%s goes on at the node that is ahead, but the snapshot is %s", id, during)
	}
	mustExec(t, there, "COMMIT")
	after := value(t, here, "SELECT pg_current_snapshot()")
	if got := value(t, here, "SELECT pg_visible_in_snapshot('"+id+"', '"+after+"')"); got != "t" {
		t.Errorf("%s has committed at the node that is ahead, but the snapshot is %s", id, after)
	}
	n.nodes.mute = []kvpb.NodeID{7}
	if err := exec1(here, "SELECT pg_current_snapshot()"); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Errorf("without the answer of a node: %v", err)
	}
}
