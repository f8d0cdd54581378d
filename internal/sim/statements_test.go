package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// statementLists is how many lists of a level are in use at a time, statementLength how
	// many appends each takes on average before another one takes its place.
	statementLists  = 3
	statementLength = 20
	// maxStatements bounds the steps of a transaction, statementThink the pause between two.
	maxStatements  = 3
	statementThink = 30 * time.Millisecond
	// specialOneIn is how rarely a client does something else than a transaction on lists:
	// it changes the table, or compares the index with the table.
	specialOneIn = 6
	// changeOp is the kind of the operations that change the table, compareOp of those that
	// compare.
	changeOp, compareOp = "ddl", "compare"
	// versionClient is the client that makes versions of the table, one after the other.
	versionClient = 0
	// preparePause is the pause between two attempts to make the table, or to read it in the end.
	preparePause = 200 * time.Millisecond
)

// createLists makes the table. The default of version counts the versions of the table, so that
// a row tells under which one it was written.
const createLists = "CREATE TABLE lists (k TEXT PRIMARY KEY, v TEXT NOT NULL, version INT NOT NULL DEFAULT 0)"

// tableChanges are changes that leave the lists as they are. Some fail, for an index, a column or a constraint is there or
// is not.
var tableChanges = []string{
	"ALTER TABLE lists ADD CONSTRAINT positive CHECK (version >= 0)", "ALTER TABLE lists ADD CONSTRAINT positive CHECK (version >= 0) NOT VALID",
	"ALTER TABLE lists VALIDATE CONSTRAINT positive", "ALTER TABLE lists DROP CONSTRAINT IF EXISTS positive",
	"ALTER TABLE lists ADD CONSTRAINT once UNIQUE (v, k)", "ALTER TABLE lists DROP CONSTRAINT IF EXISTS once",
	"ALTER TABLE lists ADD CONSTRAINT own FOREIGN KEY (k) REFERENCES lists (k)", "ALTER TABLE lists DROP CONSTRAINT IF EXISTS own",
	"ALTER TABLE lists ALTER version TYPE BIGINT USING version + 0", "ALTER TABLE lists ALTER version TYPE INT",
	"ALTER TABLE lists ADD COLUMN IF NOT EXISTS lot FLOAT NOT NULL DEFAULT random()", "ALTER TABLE lists DROP COLUMN IF EXISTS lot",
	"ALTER TABLE lists ADD COLUMN IF NOT EXISTS size INT GENERATED ALWAYS AS (length(v)) STORED", "ALTER TABLE lists DROP COLUMN IF EXISTS size",
	"ALTER TABLE lists ALTER PRIMARY KEY USING COLUMNS (k)", "ALTER TABLE lists ALTER lot DROP NOT NULL", "ALTER TABLE lists ALTER lot SET NOT NULL",
	"ALTER TABLE lists ADD CONSTRAINT late UNIQUE (v, k) DEFERRABLE", "ALTER TABLE lists DROP CONSTRAINT IF EXISTS late",
	"ALTER TABLE lists ALTER version TYPE BIGINT USING version + 0, ADD COLUMN IF NOT EXISTS lot FLOAT NOT NULL DEFAULT random(), ADD CONSTRAINT once UNIQUE (v, k)",
	"CREATE UNIQUE INDEX IF NOT EXISTS lists_once ON lists (v, version, k)", "DROP INDEX IF EXISTS lists_once",
	"CREATE INDEX IF NOT EXISTS lists_by_value ON lists (v)", "DROP INDEX IF EXISTS lists_by_value",
	"ALTER TABLE lists ADD COLUMN IF NOT EXISTS note INT DEFAULT 7", "ALTER TABLE lists DROP COLUMN IF EXISTS note",
	"ALTER TABLE lists SPLIT AT VALUES ('g'), ('s')", "ALTER TABLE lists UNSPLIT ALL", "ANALYZE lists",
}

// statements runs SQL on sessions of the simulated nodes: transactions at all isolation levels
// append to lists and read them while others change the table. It holds what the history has no
// place for.
type statements struct {
	c       *cluster
	appends [len(listLevels)]atomic.Int64
	changes atomic.Int64 // of the table, that succeeded

	mu sync.Mutex
	// under is the version that each append saw, by its value; made the operations that made
	// versions, by version.
	under map[string]int64
	made  map[int64]int
	// final are the lists in the end, differs what the index holds otherwise then.
	final   map[string][]string
	differs error
}

func newStatements() *statements {
	return &statements{under: map[string]int64{}, made: map[int64]int{}}
}

func (w *statements) keys() keys.Span { return keys.Span{} } // rows are read by SQL

func (w *statements) initial() map[string]string { return nil }

// prepare has the nodes serve SQL.
func (w *statements) prepare(c *cluster) { w.c, c.sql = c, true }

// begin makes the table.
func (w *statements) begin() {
	w.eventually("the table is made", func(s *sql.Session) error {
		if _, err := query(s, "DROP TABLE IF EXISTS lists"); err != nil { // of an attempt whose outcome is unknown
			return err
		}
		_, err := query(s, createLists)
		return err
	})
	w.eventually("the table is split", func(s *sql.Session) error {
		_, err := query(s, "ALTER TABLE lists SPLIT AT VALUES ('g'), ('s')")
		return err
	})
	tables := keys.TableDataSpan()
	for _, r := range w.c.leaders() { // where ranges that have merged are split again
		if k := r.Desc().StartKey; tables.Contains(k) {
			w.c.cutKeys = append(w.c.cutKeys, string(k))
		}
	}
}

// eventually runs fn on a session, again until it succeeds.
func (w *statements) eventually(what string, fn func(*sql.Session) error) {
	last := errors.New("no node serves SQL")
	for began := time.Now(); time.Since(began) < liveWithin; <-time.After(preparePause) {
		for _, inc := range w.c.running() {
			last = w.withSession(inc, check.ReadCommitted, fn)
			if last == nil {
				return
			}
		}
	}
	w.c.t.Fatalf("%s: not within %v: %v", what, liveWithin, last)
}

// errNoSQL is the error of a node that does not serve SQL yet.
var errNoSQL = errors.New("the node does not serve SQL yet")

func (w *statements) withSession(inc *incarnation, level check.Level, fn func(*sql.Session) error) error {
	if !inc.use() {
		return errNoSQL
	}
	defer inc.running.Done()
	ctx, cancel := context.WithTimeout(inc.ended, liveWithin)
	defer cancel()
	s, err := openSession(ctx, inc, level)
	if err != nil {
		return err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, s.Terminate)()
	return fn(s)
}

// openSession opens a session whose transactions are of a level.
func openSession(ctx context.Context, inc *incarnation, level check.Level) (*sql.Session, error) {
	server := inc.sql.Server()
	if server == nil {
		return nil, errNoSQL
	}
	return server.NewSession(ctx, sql.SessionArgs{User: "root", Database: "defaultdb", Params: map[string]string{
		"default_transaction_isolation": strings.ToLower(level.String()),
	}})
}

// query runs a statement and returns its rows as text.
func query(s *sql.Session, text string) ([]string, error) {
	rows := logictest.NewRows(s)
	err := s.Query(context.Background(), text, rows) // Terminate ends it
	return rows.Lines, err
}

func (w *statements) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	level := rng.IntN(len(listLevels))
	ses, err := openSession(ctx, inc, listLevels[level].check)
	if err != nil {
		s.unexpected(err)
		return
	}
	defer ses.Close()
	defer context.AfterFunc(ctx, ses.Terminate)()
	switch {
	case rng.IntN(specialOneIn) > 0:
		w.transact(s, client, inc, ses, level, rng)
	case rng.IntN(2) == 0:
		w.compare(s, client, inc, ses)
	case client == versionClient:
		w.newVersion(s, inc, ses)
	default:
		w.change(s, client, inc, ses, tableChanges[rng.IntN(len(tableChanges))])
	}
}

// transact runs a transaction of some steps; one of a single step needs no block.
func (w *statements) transact(s *simulation, client int, inc *incarnation, ses *sql.Session, level int, rng *rand.Rand) {
	steps := make([]check.ListStep, 1+rng.IntN(maxStatements))
	var appends []check.ListStep
	age := w.appends[level].Load() / (statementLists * statementLength)
	for i := range steps {
		steps[i].Key = statementKey(level, age*statementLists+rng.Int64N(statementLists))
		if rng.IntN(2) == 0 {
			steps[i].Append = fmt.Sprint(w.appends[level].Add(1))
			appends = append(appends, steps[i])
		}
	}
	p := s.h.Begin(check.Op{Client: client, Kind: listKind(listLevels[level].check), Steps: appends})
	p.Op.Steps = nil
	committing, err := w.steps(ses, p, level, steps, rng)
	if err != nil { // all of them, or none, may be there
		p.Op.Steps = appends
	}
	w.done(s, p, inc, committing, err)
}

// steps runs the steps. committing says that an error leaves the outcome open.
func (w *statements) steps(ses *sql.Session, p *check.Pending, level int, steps []check.ListStep, rng *rand.Rand) (committing bool, err error) {
	block := len(steps) > 1
	if block {
		if _, err := query(ses, "BEGIN"); err != nil {
			return false, err
		}
	}
	for i, step := range steps {
		if i > 0 {
			<-time.After(time.Duration(rng.Int64N(int64(statementThink))))
		}
		rows, err := query(ses, stepSQL(step))
		if err != nil {
			return !block, err
		}
		switch {
		case step.Append != "":
			if err := w.saw(level, step, rows); err != nil {
				return false, err
			}
		case len(rows) > 0:
			step.Read = strings.Split(rows[0], ",")
		}
		p.Op.Steps = append(p.Op.Steps, step)
	}
	if block {
		_, err = query(ses, "COMMIT")
	}
	return true, err
}

// saw notes the version under which a value was appended.
func (w *statements) saw(level int, step check.ListStep, rows []string) error {
	if len(rows) != 1 {
		return fmt.Errorf("an append returned %d rows", len(rows))
	}
	v, err := strconv.ParseInt(rows[0], 10, 64)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under[appended(level, step.Append)] = v
	return nil
}

// appended names a value among those of all levels.
func appended(level int, value string) string { return fmt.Sprintf("%d/%s", level, value) }

func statementKey(level int, i int64) string {
	return fmt.Sprintf("%c%d.%04d", "dmw"[i%3], level, i)
}

func stepSQL(s check.ListStep) string {
	if s.Append == "" {
		return fmt.Sprintf("SELECT v FROM lists WHERE k = '%s'", s.Key)
	}
	return fmt.Sprintf("INSERT INTO lists (k, v) VALUES ('%s', '%s') ON CONFLICT (k) DO UPDATE SET v = lists.v || ',%[2]s', version = DEFAULT RETURNING version",
		s.Key, s.Append)
}

// change changes the table.
func (w *statements) change(s *simulation, client int, inc *incarnation, ses *sql.Session, text string) {
	p := s.h.Begin(check.Op{Client: client, Kind: changeOp})
	_, err := query(ses, text)
	if err == nil {
		w.changes.Add(1)
	}
	if alreadySo(err) {
		err = nil
	}
	w.done(s, p, inc, true, err)
	s.story.Addf("%s: %v", text, p.Op.Outcome)
}

// alreadySo reports whether an error of a change says that what it names is there, or is not, or that a key depends on it.
func alreadySo(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && slices.Contains([]pgerr.Code{
		pgerr.DuplicateObject, pgerr.DuplicateTable, pgerr.UndefinedObject, pgerr.UndefinedColumn, pgerr.DependentObjectsStillExist,
	}, e.Code)
}

// newVersion makes the next version of the table. Only one client does, so that versions follow
// one another; one whose outcome is unknown has no effect after a later one.
func (w *statements) newVersion(s *simulation, inc *incarnation, ses *sql.Session) {
	p := s.h.Begin(check.Op{Client: versionClient, Kind: changeOp})
	w.mu.Lock()
	version := int64(len(w.made) + 1)
	w.made[version] = p.Op.ID
	w.mu.Unlock()
	_, err := query(ses, fmt.Sprintf("ALTER TABLE lists ALTER version SET DEFAULT %d", version))
	w.done(s, p, inc, true, err)
	s.story.Addf("version %d: %v", version, p.Op.Outcome)
}

// compare reads the rows by the primary key and, while there is one, by the index: both must say the
// same at one time.
func (w *statements) compare(s *simulation, client int, inc *incarnation, ses *sql.Session) {
	p := s.h.Begin(check.Op{Client: client, Kind: compareOp})
	err := compareIndex(ses)
	var differ *indexDiffers
	if errors.As(err, &differ) {
		s.fail(err)
	}
	w.done(s, p, inc, false, err)
}

// indexDiffers says what an index holds that its table does not, or the other way round.
type indexDiffers struct{ table, index []string }

func (e *indexDiffers) Error() string {
	return fmt.Sprintf("the table holds %q, its index %q", e.table, e.index)
}

// compareIndex returns an indexDiffers if the index differs from the table.
func compareIndex(ses *sql.Session) error {
	var rows [2][]string
	for i, text := range []string{"SELECT k, v FROM lists WHERE version >= 0 ORDER BY k", "SELECT k, v FROM lists ORDER BY v"} {
		if i == 0 {
			if _, err := query(ses, "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
				return err
			}
		}
		var err error
		if rows[i], err = query(ses, text); err != nil {
			return err
		}
		slices.Sort(rows[i])
	}
	if !slices.Equal(rows[0], rows[1]) {
		return &indexDiffers{rows[0], rows[1]}
	}
	if _, err := query(ses, "COMMIT"); err != nil {
		return err
	}
	problems, err := query(ses, "INSPECT TABLE lists")
	if err == nil && len(problems) > 0 {
		err = &indexDiffers{rows[0], problems}
	}
	return err
}

// done ends an operation as its error says.
func (w *statements) done(s *simulation, p *check.Pending, inc *incarnation, committing bool, err error) {
	outcome := check.OK
	if err != nil {
		outcome = check.Failed
		if committing && !rolledBack(err) {
			outcome = check.Unknown
		}
		s.unexpected(err)
	}
	p.Done(outcome, err)
	s.story.Addf("node %d %v", inc.node.id, p.Op)
}

// rolledBack reports whether an error of a commit says that nothing was committed.
func rolledBack(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && (e.Code == pgerr.SerializationFailure || e.Code == pgerr.DeadlockDetected)
}

// expectedClasses are the classes of errors that faults cause: lost connections, rolled back
// transactions, resources that are short, intervention and a node that starts or ends.
var expectedClasses = []string{"08", "40", "53", "55", "57", "58"}

// unexpected has the run fail if an error is none that faults cause.
func (s *simulation) unexpected(err error) {
	var e *pgerr.Error
	if errors.As(err, &e) && !slices.Contains(expectedClasses, string(e.Code[:2])) {
		s.fail(fmt.Errorf("a statement failed for no fault: %s: %w", e.Code, err))
	}
}

// ended reads the lists, and compares the index with the table.
func (w *statements) ended() {
	w.eventually("the index is compared", func(s *sql.Session) error {
		err := compareIndex(s)
		var differ *indexDiffers
		if errors.As(err, &differ) {
			w.differs, err = err, nil
		}
		return err
	})
	w.eventually("the lists are read", func(s *sql.Session) error {
		lines, err := query(s, "SELECT k, v FROM lists")
		if err != nil {
			return err
		}
		w.final = map[string][]string{}
		for _, line := range lines {
			k, v, _ := strings.Cut(line, "  ")
			w.final[k] = strings.Split(v, ",")
		}
		return nil
	})
}

func (w *statements) check(ops []check.Op, _, _ map[string]string) error {
	errs := []error{w.differs}
	for level, l := range listLevels {
		part := check.Only(ops, listKind(l.check))
		errs = append(errs,
			check.Lists{Level: l.check, Final: w.finalOf(level)}.Check(part),
			check.MonotonicReads{}.Check(part), check.MonotonicReads{Everybody: true}.Check(part),
			w.versionsInOrder(level), w.versionsInTime(level, part, ops))
	}
	return errors.Join(errs...)
}

// finalOf returns the lists of a level in the end.
func (w *statements) finalOf(level int) map[string][]string {
	out := map[string][]string{}
	for k, v := range w.final {
		if k[1] == byte('0'+level) {
			out[k] = v
		}
	}
	return out
}

// versionsInOrder answers whether the appends to each list were made under versions in their order:
// who appends waits for those who append before.
func (w *statements) versionsInOrder(level int) error {
	for k, list := range w.finalOf(level) {
		last := int64(0)
		for _, value := range list {
			v, ok := w.under[appended(level, value)]
			if !ok {
				continue // the answer was lost
			}
			if v < last {
				return fmt.Errorf("list %s: %s was appended under version %d of the table, after appends under version %d", k, value, v, last)
			}
			last = v
		}
	}
	return nil
}

// versionsInTime answers whether an append that began after a change of the table had returned was
// made under that version or a later one, and one that had returned before under an earlier one.
func (w *statements) versionsInTime(level int, part, all []check.Op) error {
	for _, op := range part {
		for _, step := range op.Steps {
			v, ok := w.under[appended(level, step.Append)]
			if !ok || op.Outcome != check.OK {
				continue
			}
			for made, id := range w.made {
				switch change := all[id-1]; {
				case change.Outcome == check.OK && change.Return < op.Invoke && v < made:
					return fmt.Errorf("%v was made under version %d of the table after %v had made version %d", op, v, change, made)
				case change.Outcome == check.Failed && v == made, op.Return < change.Invoke && v >= made:
					return fmt.Errorf("%v was made under version %d of the table, which %v did not make before", op, v, change)
				}
			}
		}
	}
	return nil
}

// TestStatements runs SQL on the nodes while faults happen.
func TestStatements(t *testing.T) {
	all, length := seeds(t, 5)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runStatements(t, seed, length) })
	}
}

func runStatements(t *testing.T, seed uint64, length time.Duration) {
	w := newStatements()
	simulated(t, seed, withStatements(seed, length), w)
	t.Logf("statements: %d versions of the table, %d other changes, %d lists", len(w.made), w.changes.Load(), len(w.final))
}

func withStatements(seed uint64, length time.Duration) setting {
	return setting{nodes: sizeOf(seed), length: length, faults: everything(), least: leastOps / 4}
}
