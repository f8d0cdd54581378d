package sql_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// batchRows are rows that can be taken back over several statements, unless they were sent.
type batchRows struct {
	rows
	first   int
	tag     int
	sent    bool
	after   func(tag string) // called when a statement has completed
	batches int
	chunks  []string // of COPY FROM
	asked   int
}

func (r *batchRows) MarkBatch(int) {
	r.first, r.tag, r.batches = len(r.Lines), len(r.Tags), r.batches+1
}
func (r *batchRows) UnmarkBatch() {}
func (r *batchRows) RewindBatch() bool {
	if r.sent {
		return false
	}
	r.Lines, r.Tags = r.Lines[:r.first], r.Tags[:r.tag]
	return true
}

func (r *batchRows) Complete(tag string) error {
	err := r.rows.Complete(tag)
	r.after(tag)
	return err
}

func (r *batchRows) CopyIn(int, bool) (sql.CopySource, error) {
	r.asked++
	return r, nil
}

func (r *batchRows) Next() ([]byte, error) {
	if len(r.chunks) == 0 {
		return nil, io.EOF
	}
	p := []byte(r.chunks[0])
	r.chunks = r.chunks[1:]
	return p, nil
}

func once(fn func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			fn()
		}
	}
}

// Several statements of one simple query, a block among them, are run again after a conflict that
// ends their transaction, while nothing of what they answered was sent and all that they did is
// taken back by a rollback.
func TestBatchRunsAgain(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	a, b := n.session(t), n.session(t)
	defer a.Close()
	defer b.Close()
	mustExec(t, a, "CREATE TABLE t (k INT PRIMARY KEY, v INT)")
	cases := []struct {
		name, text string
		before     string
		sent       bool
		code       pgerr.Code
		rows       string
		tags       []string
	}{
		{name: "rows", text: "SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1", rows: "[10]", tags: []string{"SELECT 1", "UPDATE 1"}},
		{name: "sent", text: "SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1", sent: true, code: pgerr.SerializationFailure},
		{name: "prepared", text: "PREPARE p AS SELECT 1; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; DEALLOCATE p",
			code: pgerr.SerializationFailure},
		{name: "block", text: "BEGIN; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			rows: "[10]", tags: []string{"BEGIN", "SELECT 1", "UPDATE 1", "COMMIT"}},
		{name: "block that is sent", text: "BEGIN; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			sent: true, code: pgerr.SerializationFailure},
		{name: "block in a transaction", text: "SELECT v FROM t WHERE k = 1; BEGIN; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			rows: "[10]", tags: []string{"SELECT 1", "BEGIN", "UPDATE 1", "COMMIT"}},
		{name: "block that goes on", text: "BEGIN; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1",
			rows: "[10]", tags: []string{"BEGIN", "SELECT 1", "UPDATE 1"}},
		{name: "block that fails at COMMIT", text: "BEGIN; SELECT v FROM t WHERE k = 1; UPDATE t SET v = 7 WHERE k = 2; COMMIT",
			rows: "[10]", tags: []string{"BEGIN", "SELECT 1", "UPDATE 1", "COMMIT"}},
		{name: "block from before", before: "BEGIN", text: "SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			code: pgerr.SerializationFailure},
		{name: "chained block", text: "BEGIN; COMMIT AND CHAIN; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			code: pgerr.SerializationFailure},
		{name: "block with a savepoint", text: "BEGIN; SAVEPOINT s; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT",
			code: pgerr.SerializationFailure},
		{name: "after a block", text: "BEGIN; SELECT 5; COMMIT; SELECT v FROM t WHERE k = 1; UPDATE t SET v = v + 1 WHERE k = 1",
			rows: "[5 10]", tags: []string{"BEGIN", "SELECT 1", "COMMIT", "SELECT 1", "UPDATE 1"}},
		{name: "setting", text: "SELECT v FROM t WHERE k = 1; SET search_path = public; UPDATE t SET v = v + 1 WHERE k = 1", code: pgerr.SerializationFailure},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mustExec(t, a, "ROLLBACK")
			mustExec(t, a, "SET default_transaction_isolation = 'serializable'")
			mustExec(t, b, "UPSERT INTO t VALUES (1, 0), (2, 0)")
			change := once(func() { mustExec(t, b, "UPDATE t SET v = 10 WHERE k = 1") })
			if c.before != "" {
				mustExec(t, a, c.before)
			}
			r := &batchRows{rows: rows{Format: a.Format()}, sent: c.sent}
			r.after = func(tag string) {
				if tag == "SELECT 1" && (c.name != "after a block" || len(r.Lines) > 1) {
					change()
				}
				if tag == "UPDATE 1" {
					mustExec(t, b, "SELECT v FROM t WHERE k = 2") // the commit comes after this
				}
			}
			err := a.Query(context.Background(), c.text, r)
			if code := pgerr.CodeOf(err); err != nil && code != c.code || err == nil && c.code != "" {
				t.Fatalf("%v (%s), want %q", err, code, c.code)
			}
			if failed := a.Status() == 'E'; failed != (err != nil && strings.Contains(c.name, "block")) {
				t.Errorf("afterwards the status is %c", a.Status())
			}
			if err == nil && (fmt.Sprint(r.Lines) != c.rows || !slices.Equal(r.Tags, c.tags)) {
				t.Errorf("answered %v, %q; want %s, %q", r.Lines, r.Tags, c.rows, c.tags)
			}
		})
	}
}

// COPY FROM is run again after a conflict with the data that it has read, if that is
// little enough to have been kept; the client is asked once.
func TestCopyRunsAgain(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 16 << 20}) // of which a quarter keeps such data
	defer closeNode(t, n)
	a := n.session(t)
	defer a.Close()
	mustExec(t, a, "CREATE TABLE t (k INT PRIMARY KEY, v TEXT)")
	for _, c := range []struct {
		name string
		pad  int
		code pgerr.Code
	}{{"kept", 10, ""}, {"much", 3 << 19, ""}, {"too much", 5 << 19, pgerr.SerializationFailure}, {"kept again", 3 << 19, ""}} {
		t.Run(c.name, func(t *testing.T) {
			mustExec(t, a, "DELETE FROM t")
			pad := strings.Repeat("x", c.pad)
			r := &batchRows{rows: rows{Format: a.Format()}, after: func(string) {}, chunks: []string{"1\t" + pad + "\n", "2\t" + pad + "\n3\ty\n"}}
			conflict := error(&kvpb.RetryError{Reason: "planted"})
			n.sender.beforeCommit.Store(&conflict)
			err := a.Query(context.Background(), "COPY t FROM STDIN", r)
			if code := pgerr.CodeOf(err); code != c.code {
				t.Fatalf("%v (%s), want %q", err, code, c.code)
			}
			if r.asked != 1 || n.sender.beforeCommit.Load() != nil {
				t.Errorf("the client was asked %d times", r.asked)
			}
			if got := value(t, a, "SELECT count(*) FROM t"); err == nil && got != "3" || err != nil && got != "0" {
				t.Errorf("%s rows after %v", got, err)
			}
		})
	}
}
