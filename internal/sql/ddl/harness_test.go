package ddl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
	"github.com/lichendb/lichen/internal/store"
)

// cluster is a node without a session layer: sessions here do just enough to
// run DDL, and queries to look at its effect.
type cluster struct {
	t     testing.TB
	disk  fs.FS
	store *store.Store
	db    *kv.DB
	cat   *catalog.Store
}

func newCluster(t testing.TB, disk fs.FS) *cluster {
	t.Helper()
	n := clustertest.Open(t, disk)
	c := &cluster{t: t, disk: disk, store: n.Store, db: n.DB}
	c.cat = catalog.NewStore(catalog.Options{DB: c.db, Waits: n.Store.Waits(), Virtual: pgcatalog.Schemas()})
	if err := c.cat.Bootstrap(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) close() {
	if err := c.store.Close(); err != nil {
		c.t.Error(err)
	}
}

// session runs statements one after the other; outside BEGIN each is a
// transaction of its own.
type session struct {
	c      *cluster
	coll   *catalog.Collection
	txn    *kv.Txn
	block  bool
	opts   kv.TxnOptions
	bctx   *call.Context
	pg     *pgcatalog.Catalog
	out    strings.Builder
	points map[string]point
	lockTO time.Duration
	filled int      // how often rows were written into new indexes
	job    *testJob // of the statements; nil: they are none
}

type point struct {
	txn  kv.Savepoint
	coll catalog.Savepoint
}

func (c *cluster) session() *session {
	s := &session{c: c, coll: c.cat.NewCollection(), points: map[string]point{}}
	s.use("defaultdb")
	s.pg = pgcatalog.New(pgcatalog.Host{Coll: s.coll})
	s.bctx = &call.Context{Format: &types.FormatContext{Names: s.pg}, Session: &functions{Catalog: s.pg, s: s}}
	return s
}

func (s *session) use(name string) {
	db, err := s.c.cat.DatabaseByName(context.Background(), name)
	if err != nil {
		s.c.t.Fatal(err)
	}
	s.coll.SetSession(db, s)
}

// SearchPathSetting implements catalog.SearchPathSource.
func (s *session) SearchPathSetting() []string { return []string{"public"} }

// others are the functions of a session that no test calls.
type others struct{ call.Session }

// functions answers the functions about sequences and the catalog.
type functions struct {
	others
	*pgcatalog.Catalog
	s *session
}

func (f *functions) NextVal(oid uint32) (int64, error) {
	t, err := f.s.coll.TableByOid(context.Background(), oid)
	if err != nil {
		return 0, err
	}
	return f.s.c.cat.NextVal(context.Background(), t)
}

func (f *functions) SetVal(oid uint32, v int64, called bool) error {
	t, err := f.s.coll.TableByOid(context.Background(), oid)
	if err != nil {
		return err
	}
	return f.s.c.cat.SetVal(context.Background(), t, v, called)
}

// SearchPath implements call.Session.
func (f *functions) SearchPath(bool) []string { return f.s.coll.SearchPath() }

// CurrentUser implements call.Session.
func (f *functions) CurrentUser() (string, error) { return "root", nil }

// exec runs the statements of a text and returns what they print.
func (s *session) exec(text string) string {
	s.out.Reset()
	stmts, err := parser.Parse(text)
	if err != nil {
		s.print(err)
		return s.out.String()
	}
	for _, st := range stmts {
		if err := s.statement(st.AST); err != nil {
			s.print(err)
			break
		}
	}
	return s.out.String()
}

// must fails the test if a statement fails.
func (s *session) must(text string) string {
	s.c.t.Helper()
	out := s.exec(text)
	if strings.Contains(out, "ERROR") {
		s.c.t.Fatalf("%s: %s", text, out)
	}
	return out
}

func (s *session) print(err error) {
	var pe *pgerr.Error
	var dead *kvpb.DeadlockError
	var lock *kvpb.LockNotAvailableError
	var retry *kvpb.RetryError
	switch {
	case errors.As(err, &pe):
	case errors.As(err, &dead):
		pe = pgerr.New(pgerr.DeadlockDetected, "deadlock detected")
	case errors.As(err, &lock):
		pe = pgerr.New(pgerr.LockNotAvailable, "lock timeout")
	case errors.As(err, &retry):
		pe = pgerr.New(pgerr.SerializationFailure, "%s", retry.Reason)
	default:
		pe = pgerr.From(err)
	}
	fmt.Fprintf(&s.out, "ERROR %s: %s\n", pe.Code, pe.Message)
	if pe.Detail != "" {
		fmt.Fprintf(&s.out, "DETAIL: %s\n", pe.Detail)
	}
	if pe.Hint != "" {
		fmt.Fprintf(&s.out, "HINT: %s\n", pe.Hint)
	}
}

func (s *session) statement(st ast.Statement) error {
	ctx := context.Background()
	switch st := st.(type) {
	case *ast.Begin:
		s.open()
		s.block = true
		return nil
	case *ast.Commit:
		s.block = false
		return s.end(ctx, nil)
	case *ast.Rollback:
		s.block = false
		s.rollback(ctx)
		return nil
	case *ast.Savepoint:
		s.points[st.Name] = point{s.txn.Savepoint(), s.coll.Savepoint()}
		return nil
	case *ast.RollbackTo:
		p := s.points[st.Name]
		s.coll.RollbackTo(p.coll)
		return s.txn.RollbackTo(ctx, p.txn)
	}
	for {
		if !s.block {
			s.open()
		}
		s.txn.BeginStatement()
		s.coll.BeginStatement()
		err := s.run(ctx, st)
		if s.block {
			return err
		}
		if err = s.end(ctx, err); !kv.IsRetryable(err) {
			return err
		}
	}
}

func (s *session) open() {
	s.txn = s.c.db.Begin(s.opts)
	s.txn.LockTimeout = s.lockTO
	s.coll.Begin(s.txn)
}

func (s *session) end(ctx context.Context, err error) error {
	if err == nil {
		if err = s.coll.PreCommit(ctx); err == nil {
			err = s.txn.Commit(ctx)
		}
	}
	if err != nil {
		s.rollback(ctx)
		return err
	}
	s.coll.Committed(ctx)
	return nil
}

func (s *session) rollback(ctx context.Context) {
	s.txn.Rollback(ctx)
	s.coll.RolledBack(ctx)
}

func (s *session) run(ctx context.Context, st ast.Statement) error {
	sel, isSelect := st.(*ast.Select)
	if ddl.Handles(st) && (!isSelect || sel.Into != nil) {
		tag, err := ddl.Exec(ctx, s.env(), st)
		if err == nil && s.job != nil {
			err = s.job.commits()
		}
		if err == nil {
			fmt.Fprintln(&s.out, tag)
		}
		return err
	}
	prep, err := planner.Plan(ctx, st, &planner.Env{Catalog: s.coll, Format: s.bctx.Format})
	if err != nil {
		return err
	}
	if err := optimizer.Optimize(prep, &optimizer.Options{}); err != nil {
		return err
	}
	p, err := exec.Compile(prep)
	if err != nil {
		return err
	}
	_, err = p.Run(s.execEnv(ctx), func(b *rowcontainer.Batch) error {
		for i := range b.Len() {
			s.row(prep.Columns, b.Row(i))
		}
		return nil
	})
	return err
}

func (s *session) row(cols []plan.Column, row []types.Datum) {
	parts := make([]string, len(row))
	for i, d := range row {
		parts[i] = "NULL"
		if !d.IsNull() {
			parts[i] = typeio.FormatDatum(cols[i].Type, d, s.bctx.Format)
		}
	}
	fmt.Fprintln(&s.out, strings.Join(parts, "|"))
}

func (s *session) execEnv(ctx context.Context) *operator.Env {
	return &operator.Env{Ctx: ctx, Txn: s.txn, Builtin: s.bctx, Virtual: s.pg}
}

func (s *session) env() *statement.Env {
	e := &statement.Env{
		Alone: !s.block, Filled: func(*catalog.Table, int64, bool) { s.filled++ },
		Txn: s.txn, Coll: s.coll, User: catalog.RootOid, Exec: s.execEnv(context.Background()), Format: s.bctx.Format,
		Optimize: func(_ context.Context, p *plan.Prepared) error { return optimizer.Optimize(p, &optimizer.Options{}) },
		Notice: func(severity string, n *pgerr.Error) {
			fmt.Fprintf(&s.out, "%s: %s\n", severity, n.Message)
			if n.Detail != "" {
				fmt.Fprintf(&s.out, "DETAIL: %s\n", n.Detail)
			}
		},
	}
	if s.job != nil {
		s.job.give(e)
	}
	return e
}
