package sql_test

import (
	"runtime"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// awaitJob waits until the newest job is in a state, and returns its id.
func awaitJob(t *testing.T, s *sql.Session, state string) string {
	t.Helper()
	for {
		const newest = "FROM (SELECT * FROM [SHOW JOBS] WHERE job_type = 'SCHEMA CHANGE' ORDER BY created DESC LIMIT 1) j"
		if value(t, s, "SELECT coalesce(max(status), '') "+newest) == state {
			return value(t, s, "SELECT job_id "+newest)
		}
		runtime.Gosched()
	}
}

// A statement that changes many rows is a job: others see it, and pause, resume and cancel it. What it held meanwhile keeps
// nobody from the table, and a cancelled one leaves nothing behind.
func TestJobs(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	admin, user, changer := named(t, n, "admin"), named(t, n, "user"), named(t, n, "changer")
	mustExec(t, admin, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
	mustExec(t, admin, "INSERT INTO t SELECT i, i FROM generate_series(1, 20000) i")

	mustExec(t, user, "BEGIN")
	mustExec(t, user, "UPDATE t SET b = 0 WHERE a = 1")
	changed := run(changer, "ALTER TABLE t ALTER b TYPE TEXT") // which waits for user
	id := awaitJob(t, admin, "running")
	mustExec(t, admin, "PAUSE JOB "+id)
	awaitJob(t, admin, "paused")
	mustExec(t, user, "COMMIT")
	mustExec(t, admin, "UPDATE t SET b = 7 WHERE a = 2")
	if got := awaitJob(t, admin, "paused"); got != id {
		t.Errorf("job %s is there, not %s", got, id)
	}
	mustExec(t, admin, "RESUME JOB "+id)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	awaitJob(t, admin, "succeeded")
	if got := value(t, admin, "SELECT string_agg(b, ',' ORDER BY a) FROM t WHERE a < 4"); got != "0,7,3" {
		t.Errorf("rows changed beside the job: %s", got)
	}
	if err := exec1(admin, "PAUSE JOB "+id); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Errorf("a job that has ended: %v", err)
	}
	if err := exec1(admin, "CANCEL JOB 1"); pgerr.CodeOf(err) != pgerr.UndefinedObject {
		t.Errorf("no job: %v", err)
	}

	mustExec(t, user, "BEGIN")
	mustExec(t, user, "UPDATE t SET b = '0' WHERE a = 1")
	changed = run(changer, "ALTER TABLE t ADD UNIQUE (b, a)")
	mustExec(t, admin, "CANCEL JOB "+awaitJob(t, admin, "running"))
	if err := <-changed; pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Errorf("a job that was cancelled: %v", err)
	}
	awaitJob(t, admin, "canceled")
	mustExec(t, user, "COMMIT")
	if got := value(t, admin, "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass"); got != "1" {
		t.Errorf("%s indexes after a build that was cancelled", got)
	}
	if got := value(t, admin, "SELECT count(*) > 0 FROM [SHOW JOBS] WHERE job_type = 'REMOVAL OF UNUSED DATA'"); got != "t" {
		t.Error("nothing is to be removed")
	}
}
