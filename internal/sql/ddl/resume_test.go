package ddl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
)

// errKilled is what happens to a statement whose node dies.
var errKilled = errors.New("killed")

// testJob is a job whose runner dies at a step: before it writes something outside the transaction, before or after it notes
// how far it has come, or before it commits.
type testJob struct {
	t      *testing.T
	steps  int
	dieAt  int    // 0: never
	each   func() // at each step
	noted  []byte
	from   bool // the last statement went on from a checkpoint
	copied bool // which said that all rows were copied
	deaths int
}

func (j *testJob) give(e *statement.Env) {
	e.IngestAlways = true
	e.StartJob = func(context.Context, bool) (statement.Job, error) { return j, nil }
	e.Resume = &statement.Resume{}
	j.from, j.copied = j.noted != nil, false
	if j.noted != nil {
		e.Resume.From = &statement.Checkpoint{}
		if err := json.Unmarshal(j.noted, e.Resume.From); err != nil {
			j.t.Fatal(err)
		}
		j.copied = e.Resume.From.Copied
	}
}

func (j *testJob) step() error {
	j.steps++
	if j.steps == j.dieAt {
		return errKilled
	}
	if j.each != nil {
		j.each()
	}
	return nil
}

// commits is the last step: the tables are locked, and nobody writes.
func (j *testJob) commits() error {
	if j.steps++; j.steps == j.dieAt {
		return errKilled
	}
	return nil
}

func (j *testJob) ID() int64                   { return 1 }
func (j *testJob) Survives() bool              { return true }
func (j *testJob) Lease(context.Context) error { return j.step() }
func (j *testJob) Until() hlc.Timestamp        { return hlc.MaxTimestamp }

func (j *testJob) Protect(context.Context, kvpb.Span, hlc.Timestamp) (bool, error) {
	return true, j.step()
}

func (j *testJob) Note(_ context.Context, c *statement.Checkpoint) error {
	if err := j.step(); err != nil {
		return err
	}
	if j.noted = nil; c != nil {
		b, err := json.Marshal(c)
		if err != nil {
			return err
		}
		j.noted = b
	}
	return j.step()
}

const resumeRows = 1000 // several parts

// resumed runs a statement whose runner dies at a step, again and again, each runner some steps after the one before, until it
// is through. Others write at each step. It returns what the last one says.
func resumed(t *testing.T, c *cluster, change string, dieAt, again int, each func()) (job *testJob, out string) {
	t.Helper()
	job = &testJob{t: t, dieAt: dieAt, each: each}
	for range 10 {
		s := c.session()
		s.job = job
		job.steps = 0
		out = s.exec(change)
		switch {
		case strings.Contains(out, errKilled.Error()):
			job.deaths++
			job.dieAt, again = again, 0
		case strings.Contains(out, statement.ErrBeginAnew.Error()):
			job.noted = nil
		default:
			return job, out
		}
	}
	t.Fatalf("%s does not come to an end: %s", change, out)
	return nil, ""
}

// resumable are changes that other nodes go on with.
var resumable = []string{
	"create index tb on t (b)",
	"create unique index tb on t (b) include (c)",
	"create index tb on t (b desc, c) where b % 2 = 0",
	"alter table t alter c type varchar(100), alter b type bigint, add constraint tb unique (b)",
	"alter table t alter b type text",
	"alter table t add constraint tb unique (b) deferrable",
	"alter table t alter primary key using columns (b, a)",
	"alter table t add check (b > -1000000), alter c set not null",
	"alter table t drop column d, alter b type text",
	"alter table t drop constraint t_pkey, alter c type varchar(100), add primary key (b, a)",
}

// writes are what others do to rows, a step each: rows come, change, go, and swap unique values.
func writes(s *session) func() {
	n := 0
	return func() {
		n++
		a := 1 + n*37%resumeRows
		s.must(fmt.Sprintf("insert into t values (%d, %d, 'new'); update t set b = -b - %d where a = %d; delete from t where a = %d", 10000+n, 100000+n, n, a, 10000+n-3))
		s.must(fmt.Sprintf("delete from t where a = %d; insert into t values (%d, %d, 'back')", a+1, a+1, 500000+n))
		if n%2 == 0 { // values go from row to row
			s.must("begin; update t set b = b + 1000000 where a in (3, 4); update t set b = case a when 3 then 9 + 12 - 9 else 9 end where a in (3, 4); commit")
		} else {
			s.must("begin; update t set b = b + 1000000 where a in (3, 4); update t set b = case a when 3 then 9 else 12 end where a in (3, 4); commit")
		}
	}
}

// killed makes a change whose runner is killed at a step, and returns what it says and the problems of the table's indexes.
func killed(t *testing.T, change string, dieAt int) (job *testJob, out, problems string) {
	t.Helper()
	c := newCluster(t, fs.NewMem())
	defer c.close()
	s := c.session()
	s.must("create table t (a int primary key, b int, c text, d int default 3)")
	s.must(fmt.Sprintf("insert into t select i, i * 3, 'x' || i from generate_series(1, %d) i", resumeRows))
	job, out = resumed(t, c, change, dieAt, dieAt%5, writes(c.session()))
	problems, _ = s.inspect(t, "t")
	if got := s.must("select count(*) > 700 from t where a > 0"); got != "t\n" {
		t.Errorf("%s, killed at step %d: rows are gone", change, dieAt)
	}
	return job, out, problems
}

// Wherever the runner of a job dies, another one goes on with it, and all indexes equal their table in the end, though rows
// change all the time. Of most changes only some steps are tried.
func TestKilledAtEveryStep(t *testing.T) {
	for i, change := range resumable {
		t.Run(change, func(t *testing.T) {
			went, copied, stride := 0, 0, 3
			if i == 1 || strings.Contains(change, "add check") {
				stride = 1
			}
			for dieAt := 1 + i%stride; ; dieAt += stride {
				job, out, problems := killed(t, change, dieAt)
				if strings.Contains(out, "ERROR") || problems != "" {
					t.Fatalf("killed at step %d: %s%s", dieAt, out, problems)
				}
				if job.from {
					went++
				}
				if job.copied {
					copied++
				}
				if job.deaths == 0 {
					break
				}
			}
			if went == 0 || copied == 0 && stride == 1 {
				t.Errorf("%d runners went on from a checkpoint, %d when all rows were copied", went, copied)
			}
		})
	}
}

// What can't go on from a checkpoint begins anew, and is right all the same.
func TestBeginAnew(t *testing.T) {
	for _, x := range []struct{ change, meanwhile string }{
		{"create index tb on t (b)", "alter table t add column d int"},
		{"create index tb on t (b)", "create index other on t (c)"},
		{"alter table t alter b type bigint using b + 0", "alter table t alter b type bigint"},
	} {
		c := newCluster(t, fs.NewMem())
		s := c.session()
		s.must("create table t (a int primary key, b int, c text)")
		s.must(fmt.Sprintf("insert into t select i, i * 3, 'x' || i from generate_series(1, %d) i", resumeRows))
		job := &testJob{t: t, dieAt: 8}
		a := c.session()
		a.job = job
		if got := a.exec(x.change); !strings.Contains(got, errKilled.Error()) || job.noted == nil {
			t.Fatalf("%s: %s", x.change, got)
		}
		s.must(x.meanwhile)
		noted := job.noted
		a.job = &testJob{t: t, noted: noted}
		if got := a.exec(x.change); !strings.Contains(got, statement.ErrBeginAnew.Error()) {
			t.Fatalf("%s after %s: %s", x.change, x.meanwhile, got)
		}
		a.job = &testJob{t: t}
		a.must(x.change)
		if got, _ := s.inspect(t, "t"); got != "" {
			t.Errorf("%s after %s:\n%s", x.change, x.meanwhile, got)
		}
		c.close()
	}
}

// A duplicate that comes while nobody runs the job is found, and is not taken for an entry of the former runner; nor are those
// taken for duplicates.
func TestDuplicateAfterTakeover(t *testing.T) {
	for dieAt := 2; dieAt < 14; dieAt += 3 {
		c := newCluster(t, fs.NewMem())
		s := c.session()
		s.must("create table t (a int primary key, b int, c text)")
		s.must(fmt.Sprintf("insert into t select i, i * 3, 'x' || i from generate_series(1, %d) i", resumeRows))
		job := &testJob{t: t, dieAt: dieAt}
		a := c.session()
		a.job = job
		if got := a.exec("create unique index tb on t (b)"); !strings.Contains(got, errKilled.Error()) {
			break // it was through before
		}
		s.must("insert into t values (-1, 33, 'twice')")
		job.steps, job.dieAt = 0, 0
		if got := a.exec("create unique index tb on t (b)"); !strings.Contains(got, "Key (b)=(33) is duplicated.") {
			t.Errorf("killed at step %d: %s", dieAt, got)
		}
		c.close()
	}
}
