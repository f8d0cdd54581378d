package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// schemaRounds is how many changes of the table are made, schemaKillOneIn in how many of them a node is killed meanwhile.
	schemaRounds    = 1000
	schemaKillOneIn = 20
	// schemaRows is how many rows stay as they are: more than a change writes in its own transaction.
	schemaRows = 10000
	// schemaWriters is how many clients of each gateway write rows of their own, each below the number of the next.
	schemaWriters = 2
	schemaSpace   = 1_000_000
	// schemaLead bounds the time between the first write and the change, schemaKillWithin that between the change and the kill.
	schemaLead       = 50 * time.Millisecond
	schemaKillWithin = 400 * time.Millisecond
	// schemaThink bounds the pause within a transaction, schemaPace is that between two.
	schemaThink = 5 * time.Millisecond
	schemaPace  = 5 * time.Millisecond
	// schemaTakeover bounds how long other nodes take to go on with the change of one that was killed, and to make it,
	// schemaLook is how often one looks.
	schemaTakeover = 2 * time.Minute
	schemaLook     = 200 * time.Millisecond
	// schemaAgainst is how rarely a row is one that some constraint is against.
	schemaAgainst = 600
)

// createChanging makes the table that changes, and one to which it may refer. Column u has a value of each row's own; k,
// w, f and note have, now and then, one that a constraint is against.
var createChanging = []string{
	"DROP TABLE IF EXISTS torture_changing, torture_parents",
	"CREATE TABLE torture_parents (id INT PRIMARY KEY)",
	"INSERT INTO torture_parents SELECT g FROM generate_series(1, 100) g",
	"CREATE TABLE torture_changing (id BIGINT PRIMARY KEY, u BIGINT NOT NULL, k INT NOT NULL, w INT, f INT, note TEXT)",
	fmt.Sprintf("INSERT INTO torture_changing SELECT g, g * 1000, g %% 100, -g, 1 + g %% 100, 'x' FROM generate_series(1, %d) g", schemaRows),
}

// cleanChanging removes the writers' rows, and so all that a constraint is against.
var cleanChanging = fmt.Sprintf("DELETE FROM torture_changing WHERE id > %d", schemaRows)

// tableChange is a change of the table while others write to it.
type tableChange struct {
	name     string
	do, undo []string
	// refused is the class of the error if rows are against the change, "" if none can be.
	refused string
	// against counts the rows that may not be there once the change was made; "" if INSPECT says all.
	against string
}

func alterChanging(commands ...string) (list []string) {
	for _, c := range commands {
		list = append(list, "ALTER TABLE torture_changing "+c)
	}
	return list
}

func tableChanges() []tableChange {
	return []tableChange{
		{"index", []string{"CREATE INDEX changing_k ON torture_changing (k)"}, []string{"DROP INDEX IF EXISTS changing_k"}, "", ""},
		{"unique index", []string{"CREATE UNIQUE INDEX changing_u ON torture_changing (u)"}, []string{"DROP INDEX IF EXISTS changing_u"}, "", ""},
		{
			"unique index, refused", []string{"CREATE UNIQUE INDEX changing_w ON torture_changing (w)"}, []string{"DROP INDEX IF EXISTS changing_w"},
			"23505", "SELECT count(w) - count(DISTINCT w) FROM torture_changing",
		},
		{
			"deferrable key", alterChanging("ADD CONSTRAINT once UNIQUE (w) DEFERRABLE"), alterChanging("DROP CONSTRAINT IF EXISTS once"),
			"23505", "SELECT count(w) - count(DISTINCT w) FROM torture_changing",
		},
		{"column, constant", alterChanging("ADD COLUMN n INT NOT NULL DEFAULT 7"), alterChanging("DROP COLUMN IF EXISTS n"), "", "SELECT count(*) FROM torture_changing WHERE n IS DISTINCT FROM 7"},
		{"column, random", alterChanging("ADD COLUMN r FLOAT NOT NULL DEFAULT random()"), alterChanging("DROP COLUMN IF EXISTS r"), "", "SELECT count(*) FROM torture_changing WHERE r IS NULL"},
		{
			"column, computed", alterChanging("ADD COLUMN s BIGINT GENERATED ALWAYS AS (u + 1) STORED"), alterChanging("DROP COLUMN IF EXISTS s"),
			"", "SELECT count(*) FROM torture_changing WHERE s IS DISTINCT FROM u + 1",
		},
		{"wider type", alterChanging("ALTER k TYPE BIGINT"), alterChanging("ALTER k TYPE INT"), "", ""},
		{"other type", alterChanging("ALTER k TYPE TEXT"), alterChanging("ALTER k TYPE INT USING k::INT"), "", ""},
		{
			"check", alterChanging("ADD CONSTRAINT positive CHECK (k >= 0)"), alterChanging("DROP CONSTRAINT IF EXISTS positive"),
			"23514", "SELECT count(*) FROM torture_changing WHERE k < 0",
		},
		{
			"check, later valid", alterChanging("ADD CONSTRAINT positive CHECK (k >= 0) NOT VALID", "VALIDATE CONSTRAINT positive"),
			alterChanging("DROP CONSTRAINT IF EXISTS positive"), "23514", "SELECT count(*) FROM torture_changing WHERE k < 0",
		},
		{
			"foreign key", alterChanging("ADD CONSTRAINT refers FOREIGN KEY (f) REFERENCES torture_parents"), alterChanging("DROP CONSTRAINT IF EXISTS refers"),
			"23503", "SELECT count(*) FROM torture_changing WHERE f NOT IN (SELECT id FROM torture_parents)",
		},
		{"not null", alterChanging("ALTER note SET NOT NULL"), alterChanging("ALTER note DROP NOT NULL"), "23502", "SELECT count(*) FROM torture_changing WHERE note IS NULL"},
		{"primary key", alterChanging("ALTER PRIMARY KEY USING COLUMNS (id, u)"), alterChanging("ALTER PRIMARY KEY USING COLUMNS (id)"), "", ""},
		{
			"column dropped beside a type", alterChanging("ADD COLUMN n INT NOT NULL DEFAULT 7", "DROP COLUMN n, ALTER k TYPE TEXT"),
			alterChanging("DROP COLUMN IF EXISTS n", "ALTER k TYPE INT USING k::INT"), "", "",
		},
		{
			"primary key beside a type", alterChanging("DROP CONSTRAINT torture_changing_pkey, ALTER k TYPE TEXT, ADD PRIMARY KEY (id, u)"),
			alterChanging("ALTER PRIMARY KEY USING COLUMNS (id)", "ALTER k TYPE INT USING k::INT"), "", "",
		},
		{
			"several", alterChanging("ALTER k TYPE TEXT, ADD COLUMN r FLOAT NOT NULL DEFAULT random(), ADD UNIQUE (u)"),
			alterChanging("DROP COLUMN IF EXISTS r, DROP CONSTRAINT IF EXISTS torture_changing_u_key, ALTER k TYPE INT USING k::INT"),
			"", "SELECT count(*) FROM torture_changing WHERE r IS NULL",
		},
	}
}

// changing is a table that changes while clients of all gateways write to it.
type changing struct {
	*stage
	changes []tableChange
	// longest are, by the name of a change, the longest statements beside each that no kill disturbed.
	longest map[string][]time.Duration
	made    map[string]int
	// tookOver is how many changes others have gone on with after their node was killed, by what became of them.
	tookOver map[string]int
	// acknowledged is how many changes of rows were acknowledged, each of which was looked for.
	acknowledged int
}

// changeSchemas makes changes while clients of all gateways write to the table, in random interleavings, and compares the
// rows with what was acknowledged, and indexes with their table, after each.
func changeSchemas(ctx context.Context, s *stage) error {
	w := &changing{stage: s, changes: tableChanges(), longest: map[string][]time.Duration{}, made: map[string]int{}, tookOver: map[string]int{}}
	for _, sql := range createChanging {
		if _, err := s.round.anywhere(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	for i := range schemaRounds {
		if i > 0 && s.over() || len(s.res.Violations) > 0 {
			break
		}
		if err := w.change(ctx, i, &w.changes[i%len(w.changes)]); err != nil {
			return err
		}
	}
	s.res.note("%d changes of rows were acknowledged, and looked for", w.acknowledged)
	s.res.note("changes with which other nodes went on: %v", w.tookOver)
	for _, x := range w.changes {
		s.res.note("%s: made %d times; longest statement beside it, p50/p90/max s: %s", x.name, w.made[x.name], spread(w.longest[x.name]))
	}
	_, err := s.round.anywhere(ctx, "DROP TABLE torture_changing, torture_parents")
	return err
}

// change makes one change beside writers, and looks at what is there afterwards.
func (w *changing) change(ctx context.Context, i int, x *tableChange) error {
	w.res.Events++
	writers, stop := w.write(ctx, i)
	changer := w.pick()
	err := sleep.For(ctx, between(w.rng, 0, schemaLead))
	kills := err == nil && w.rng.IntN(schemaKillOneIn) == 0
	var killed *Node
	done := make(chan error, 1)
	go func() { done <- w.do(ctx, changer, x) }()
	if kills {
		if killed = changer; w.rng.IntN(2) == 0 {
			killed = w.pick()
		}
		_ = sleep.For(ctx, between(w.rng, 0, schemaKillWithin))
		if err := killed.Kill(); err != nil {
			return err
		}
	}
	answer := <-done
	_ = sleep.For(ctx, between(w.rng, 0, schemaLead))
	if killed != nil {
		w.awaitJobs(ctx, i, x, killed)
	}
	stop()
	if err != nil {
		return err
	}
	if killed != nil {
		if err := w.restart(ctx, killed); err != nil {
			return err
		}
	} else {
		most := time.Duration(0)
		for _, c := range writers {
			most = max(most, c.longest)
		}
		w.longest[x.name] = append(w.longest[x.name], most)
	}
	made := w.judgeAnswer(i, x, answer, killed == changer, killed != nil)
	w.compareRows(ctx, i, x, writers, made)
	return w.undo(ctx, x)
}

// do makes a change at a gateway, its statements one by one.
func (w *changing) do(ctx context.Context, n *Node, x *tableChange) error {
	for _, sql := range x.do {
		if _, err := n.query(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// awaitJobs waits until no job runs: others go on with that of the node that was killed, beside the writers.
func (w *changing) awaitJobs(ctx context.Context, i int, x *tableChange, killed *Node) {
	n := w.pick()
	for n == killed {
		n = w.pick()
	}
	newest := "SELECT status, node_id FROM lichen_internal.jobs WHERE job_type = 'SCHEMA CHANGE' ORDER BY created DESC LIMIT 1"
	gone := ""
	for began := time.Now(); ; {
		rows, err := n.query(ctx, newest)
		if err == nil && (len(rows) == 0 || rows[0][0] != "running") {
			if len(rows) > 0 && gone != "" && rows[0][1] != gone {
				w.tookOver[rows[0][0]]++
			}
			return
		}
		if err == nil && gone == "" {
			gone = rows[0][1]
		}
		if time.Since(began) > schemaTakeover {
			w.res.violation("change %d, %s: nobody has gone on with it: %v, %v", i+1, x.name, rows, err)
			return
		}
		if sleep.For(ctx, schemaLook) != nil {
			return
		}
	}
}

// judgeAnswer reports whether a change was made. One fails if rows are against it, for a deadlock or a conflict, as its
// gateway was killed, or as that was cut off for so long that another node went on.
func (w *changing) judgeAnswer(i int, x *tableChange, err error, hurt, cut bool) (made bool) {
	switch c := class(err); {
	case err == nil:
		w.made[x.name]++
		return true
	case x.refused != "" && c == x.refused, c == "40001", c == "40P01", hurt, cut && c == "40003":
	default:
		w.res.violation("change %d, %s, failed: %v", i+1, x.name, err)
	}
	return false
}

// undo makes the table what it was.
func (w *changing) undo(ctx context.Context, x *tableChange) error {
	for _, sql := range append([]string{cleanChanging}, x.undo...) {
		if _, err := w.round.anywhere(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// compareRows compares the rows with what the writers were told, and the indexes with the table.
func (w *changing) compareRows(ctx context.Context, i int, x *tableChange, writers []*rowWriter, made bool) {
	n := w.pick()
	ask := func(sql string) [][]string {
		rows, err := n.query(ctx, sql)
		if err != nil {
			w.res.violation("after change %d, %s: %s: %v", i+1, x.name, sql, err)
		}
		return rows
	}
	there := map[int64]int64{}
	for _, row := range ask(fmt.Sprintf("SELECT id, u FROM torture_changing WHERE id > %d", schemaRows)) {
		id, _ := strconv.ParseInt(row[0], 10, 64)
		u, _ := strconv.ParseInt(row[1], 10, 64)
		there[id] = u
	}
	for _, c := range writers {
		w.acknowledged += c.acknowledged
		for id, may := range c.rows {
			u, found := there[id]
			if !found {
				u = noRow
			}
			if !slices.Contains(may, u) {
				w.res.violation("after change %d, %s: row %d has u = %d, and may have %d (%d: no row)", i+1, x.name, id, u, may, noRow)
			}
			delete(there, id)
		}
	}
	if len(there) > 0 {
		w.res.violation("after change %d, %s: %d rows are there that nobody wrote", i+1, x.name, len(there))
	}
	if rows := ask(fmt.Sprintf("SELECT count(*) FROM torture_changing WHERE id <= %d", schemaRows)); len(rows) == 1 && rows[0][0] != fmt.Sprint(schemaRows) {
		w.res.violation("after change %d, %s: %s of %d rows that nobody writes are there", i+1, x.name, rows[0][0], schemaRows)
	}
	for _, row := range ask("INSPECT TABLE torture_changing") {
		w.res.violation("after change %d, %s: %s", i+1, x.name, strings.Join(row, ", "))
	}
	if made && x.against != "" {
		if rows := ask(x.against); len(rows) == 1 && rows[0][0] != "0" {
			w.res.violation("after change %d, %s: %s gives %s", i+1, x.name, x.against, rows[0][0])
		}
	}
}

// write starts the writers of a round; stop ends them and waits for them.
func (w *changing) write(ctx context.Context, round int) (writers []*rowWriter, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i, n := range w.c.Nodes {
		for j := range schemaWriters {
			id := i*schemaWriters + j
			rng := rand.New(rand.NewPCG(w.o.Seed, uint64(round*1000+id)))
			c := &rowWriter{
				client: client{id: id, load: "changing rows", node: n, rng: rng, tell: w.round.note}, wrong: w.round.wrong,
				next: int64(id+1) * schemaSpace, rows: map[int64][]int64{},
			}
			writers = append(writers, c)
			wg.Go(func() {
				defer c.close()
				c.run(ctx)
			})
		}
	}
	return writers, func() {
		cancel()
		wg.Wait()
	}
}

// noRow stands for the value of a row that is not there.
const noRow = -1

// rowWriter writes rows of its own, and reads those of nobody.
type rowWriter struct {
	client
	wrong        func(format string, args ...any)
	next         int64
	rows         map[int64][]int64 // the values that u may have; those of rows whose state is known are one
	known        []int64           // ids of rows that are there
	acknowledged int
	longest      time.Duration // of its statements
}

func (c *rowWriter) run(ctx context.Context) {
	for sleep.For(ctx, schemaPace) == nil {
		if err := c.connect(ctx); err != nil {
			c.failed(ctx, err)
			_ = sleep.For(ctx, registerPace)
			continue
		}
		var err error
		switch c.rng.IntN(4) {
		case 0:
			err = c.look()
		case 1:
			err = c.write(1 + c.rng.IntN(2))
		default:
			err = c.write(0)
		}
		if err != nil {
			c.failed(ctx, err)
		}
	}
}

// timed is exec, and notes how long it took.
func (c *rowWriter) timed(sql string) ([][]string, error) {
	begun := time.Now()
	rows, _, err := c.exec(sql)
	if err == nil {
		c.longest = max(c.longest, time.Since(begun))
	}
	return rows, err
}

// look finds a row that stays as it is, by its key or by a value that an index may hold.
func (c *rowWriter) look() error {
	id := 1 + c.rng.IntN(schemaRows)
	sql := fmt.Sprintf("SELECT u FROM torture_changing WHERE id = %d", id)
	if c.rng.IntN(2) == 0 {
		sql = fmt.Sprintf("SELECT u FROM torture_changing WHERE u = %d", id*1000)
	}
	rows, err := c.timed(sql)
	if err == nil && (len(rows) != 1 || rows[0][0] != fmt.Sprint(id*1000)) {
		c.wrong("%s gives %v", sql, rows)
	}
	return err
}

// rowChange is what a statement does to a row.
type rowChange struct {
	id, u int64 // u is noRow where the row goes
	sql   string
}

// write changes a row, or some in a transaction with so many more statements.
func (c *rowWriter) write(more int) error {
	var done []rowChange
	end := func(o check.Outcome, err error) error {
		for _, x := range done {
			c.settle(x, o)
		}
		return err
	}
	if more > 0 {
		if _, err := c.timed("BEGIN"); err != nil {
			return err
		}
	}
	for i := range 1 + more {
		if i > 0 {
			_ = sleep.For(context.Background(), between(c.rng, 0, schemaThink))
		}
		x := c.plan(done)
		done = append(done, x)
		if _, err := c.timed(x.sql); err != nil {
			if more > 0 || strings.HasPrefix(class(err), "23") {
				return end(check.Failed, err)
			}
			return end(outcome(err), err)
		}
	}
	if more == 0 {
		return end(check.OK, nil)
	}
	_, tag, err := c.exec("COMMIT")
	if err == nil && tag != "COMMIT" {
		return end(check.Failed, fmt.Errorf("COMMIT was answered by %s", tag))
	}
	if strings.HasPrefix(class(err), "23") {
		return end(check.Failed, err)
	}
	return end(outcome(err), err)
}

// plan chooses what to do to a row that no statement before has changed.
func (c *rowWriter) plan(before []rowChange) rowChange {
	kind := c.rng.IntN(10)
	if len(c.known) > 0 && kind < 5 {
		id := c.known[c.rng.IntN(len(c.known))]
		if !slices.ContainsFunc(before, func(x rowChange) bool { return x.id == id }) {
			if kind == 0 {
				return rowChange{id, noRow, fmt.Sprintf("DELETE FROM torture_changing WHERE id = %d", id)}
			}
			u := c.rows[id][0] + 1
			return rowChange{id, u, fmt.Sprintf("UPDATE torture_changing SET u = %d, k = %d WHERE id = %d", u, c.rng.IntN(100), id)}
		}
	}
	c.next++
	k, w, f, note := fmt.Sprint(c.rng.IntN(100)), "NULL", fmt.Sprint(1+c.rng.IntN(100)), "'y'"
	switch c.rng.IntN(schemaAgainst) { // now and then a row that a constraint is against
	case 0, 1:
		k = "-1"
	case 2, 3:
		w = fmt.Sprint(1 + c.rng.IntN(3))
	case 4:
		f = "999"
	case 5:
		note = "NULL"
	}
	u := c.next * 1000
	return rowChange{c.next, u, fmt.Sprintf("INSERT INTO torture_changing (id, u, k, w, f, note) VALUES (%d, %d, %s, %s, %s, %s)", c.next, u, k, w, f, note)}
}

// settle notes what became of a change.
func (c *rowWriter) settle(x rowChange, o check.Outcome) {
	old, was := c.rows[x.id]
	if !was {
		old = []int64{noRow}
	}
	c.known = slices.DeleteFunc(c.known, func(id int64) bool { return id == x.id })
	switch o {
	case check.OK:
		c.rows[x.id] = []int64{x.u}
		c.acknowledged++
	case check.Failed:
		c.rows[x.id] = old
	default:
		c.rows[x.id] = append(slices.Clone(old), x.u)
	}
	if may := c.rows[x.id]; len(may) == 1 && may[0] != noRow {
		c.known = append(c.known, x.id)
	}
}
