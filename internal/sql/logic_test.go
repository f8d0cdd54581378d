package sql_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/store"
)

// node is a store with a SQL layer, without a network.
type node struct {
	disk   fs.FS
	store  *store.Store
	ranges *fakeRanges
	sql    *sql.Server
	nodes  *fakeNodes
	sender *faultySender
}

// faultySender is a way to the ranges on which a commit can be made to fail.
type faultySender struct {
	kvpb.Sender
	beforeCommit atomic.Pointer[error] // of the next one, which does not happen
}

func (s *faultySender) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if err := s.beforeCommit.Swap(nil); err != nil {
		return *err
	}
	return s.Sender.Commit(ctx, req, resp)
}

func newNode(t testing.TB, disk fs.FS) *node {
	t.Helper()
	ranges := newFakeRanges()
	n := newNodeWith(t, disk, ranges)
	n.ranges = ranges
	return n
}

// newNodeWith is newNode with other access to ranges, or none.
func newNodeWith(t testing.TB, disk fs.FS, ranges sql.Ranges) *node {
	t.Helper()
	clock := hlc.NewSystem(0)
	st, err := store.Open(store.Options{Bootstrap: true, FS: disk, Dir: "store", Clock: clock, SegmentBytes: 4 << 20, MemTableBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Start(); err != nil {
		t.Fatal(err)
	}
	sender := &faultySender{Sender: dist.New(st)}
	db := kv.NewDB(sender, clock, uint64(clock.Now().WallTime))
	cat := catalog.NewStore(catalog.Options{DB: db, Waits: st.Waits(), Virtual: pgcatalog.Schemas()})
	if err := cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	nodes := &fakeNodes{store: st, db: db}
	return &node{disk: disk, store: st, nodes: nodes, sender: sender, sql: sql.NewServer(sql.Config{
		DB: db, Nodes: nodes, Ranges: ranges, Catalog: cat, Mem: quota.NewPool("test", 256<<20), Version: "test",
		SpanSize: func(a, b []byte) (int64, error) { n, err := st.Engine().ApproximateSize(a, b); return int64(n), err },
	})}
}

func (n *node) close() error {
	n.sql.Close()
	return n.store.Close()
}

func (n *node) session(t testing.TB) *sql.Session {
	t.Helper()
	s, err := n.sql.NewSession(context.Background(), sql.SessionArgs{User: "root", Database: "defaultdb"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows collects the results of a query as text.
type rows struct {
	fc      *types.FormatContext
	cols    []plan.Column
	lines   []string
	tags    []string
	notices []string
	mark    int
}

func (r *rows) Mark()        { r.mark = len(r.lines) }
func (r *rows) Rewind() bool { r.lines = r.lines[:r.mark]; return true }

func (r *rows) Columns(cols []plan.Column) error { r.cols = cols; return nil }

func (r *rows) Row(row []types.Datum) error {
	var parts []string
	for i, d := range row {
		switch text := ""; {
		case d.IsNull():
			parts = append(parts, "NULL")
		default:
			text = string(types.AppendText(nil, r.cols[i].Type, d, r.fc))
			if text == "" {
				text = "·"
			}
			parts = append(parts, text)
		}
	}
	r.lines = append(r.lines, strings.Join(parts, "  "))
	return nil
}

func (r *rows) Complete(tag string) error { r.tags = append(r.tags, tag); return nil }
func (r *rows) Empty() error              { return nil }
func (r *rows) Notice(severity string, e *pgerr.Error) {
	r.notices = append(r.notices, severity+": "+e.Message)
}
func (r *rows) CopyOut(int, bool) error { return nil }
func (r *rows) CopyData(p []byte) error {
	r.lines = append(r.lines, strings.TrimSuffix(string(p), "\n"))
	return nil
}
func (r *rows) CopyDone() error { return nil }
func (r *rows) CopyIn(int, bool) (sql.CopySource, error) {
	return nil, fmt.Errorf("no input")
}

// TestLogic runs the scripts of testdata/logic. A script is a list of records:
//
//	statement ok            a statement that succeeds
//	statement error CODE    one that fails with that SQLSTATE
//	query [rowsort]         a query, then ---- and its rows, two spaces between columns
//	session NAME            the following records use another session
//	restart                 the node restarts; all sessions are new
//
// LICHEN_REWRITE=1 writes the rows that queries returned into the scripts.
func TestLogic(t *testing.T) {
	files, err := filepath.Glob("testdata/logic/*.slt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".slt"), func(t *testing.T) { runScript(t, f) })
	}
}

type script struct {
	t        *testing.T
	n        *node
	sessions map[string]*sql.Session
	cur      string
	out      strings.Builder
	rewrite  bool
}

func (sc *script) session() *sql.Session {
	s := sc.sessions[sc.cur]
	if s == nil {
		s = sc.n.session(sc.t)
		sc.sessions[sc.cur] = s
	}
	return s
}

func (sc *script) closeAll() {
	for _, s := range sc.sessions {
		s.Close()
	}
	sc.sessions = map[string]*sql.Session{}
}

func runScript(t *testing.T, path string) {
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sc := &script{
		t: t, n: newNode(t, fs.NewMem()), sessions: map[string]*sql.Session{}, cur: "default",
		rewrite: os.Getenv("LICHEN_REWRITE") != "",
	}
	defer func() {
		sc.closeAll()
		if err := sc.n.close(); err != nil {
			t.Error(err)
		}
	}()
	line := 0
	var record []string
	begin := 0
	scan := bufio.NewScanner(strings.NewReader(string(src) + "\n\n"))
	for scan.Scan() {
		line++
		text := scan.Text()
		if strings.TrimSpace(text) != "" {
			if len(record) == 0 {
				begin = line
			}
			record = append(record, text)
			continue
		}
		if len(record) > 0 {
			sc.run(fmt.Sprintf("%s:%d", filepath.Base(path), begin), record)
			sc.out.WriteString("\n")
		}
		record = nil
	}
	if sc.rewrite {
		if err := os.WriteFile(path, []byte(strings.TrimRight(sc.out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var blanks = regexp.MustCompile(`  +`)

func (sc *script) run(at string, record []string) {
	t := sc.t
	comment := 0
	for comment < len(record) && strings.HasPrefix(record[comment], "#") {
		sc.out.WriteString(record[comment] + "\n")
		comment++
	}
	if record = record[comment:]; len(record) == 0 {
		return
	}
	head := strings.Fields(record[0])
	sc.out.WriteString(record[0] + "\n")
	switch head[0] {
	case "session":
		sc.cur = head[1]
		return
	case "restart":
		sc.closeAll()
		if err := sc.n.close(); err != nil {
			t.Fatal(err)
		}
		sc.n = newNode(t, sc.n.disk)
		return
	}
	var stmt, want []string
	into := &stmt
	for _, l := range record[1:] {
		if l == "----" {
			into = &want
			continue
		}
		*into = append(*into, l)
	}
	text := strings.Join(stmt, "\n")
	sc.out.WriteString(text + "\n")
	s := sc.session()
	r := &rows{fc: s.Format()}
	err := s.Query(context.Background(), text, r)
	switch head[0] {
	case "statement":
		code := pgerr.Code("")
		if head[1] == "error" {
			code = pgerr.Code(head[2])
		}
		if got := pgerr.CodeOf(err); got != code {
			t.Errorf("%s: %s: error %v (%s), want %q", at, text, err, got, code)
		}
	case "query":
		if err != nil {
			t.Errorf("%s: %s: %v (%s)", at, text, err, pgerr.CodeOf(err))
			return
		}
		if len(head) > 1 && head[1] == "rowsort" {
			sort.Strings(r.lines)
		}
		sc.out.WriteString("----\n")
		for _, l := range r.lines {
			sc.out.WriteString(l + "\n")
		}
		got := strings.Join(r.lines, "\n")
		if w := strings.Join(want, "\n"); !sc.rewrite && blanks.ReplaceAllString(got, "  ") != blanks.ReplaceAllString(w, "  ") {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", at, text, got, w)
		}
	default:
		t.Fatalf("%s: unknown record %q", at, record[0])
	}
}
