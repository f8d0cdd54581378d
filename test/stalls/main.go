// Command stalls changes a table while clients of all gateways read and write it, and reports the longest read and the
// longest write beside each change, and when in the course of the change they came. What the machine does by itself
// shows in the same numbers of a while without a change.
//
//	go run ./test/stalls --urls=postgres://root@127.0.0.1:26257/defaultdb,… --rows=1000000
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeout bounds every statement.
const timeout = 10 * time.Minute

// loadRows is how many rows a statement inserts.
const loadRows = 50_000

// test is a run over the changes.
type test struct {
	https   []string // where gateways tell how long tables were locked
	urls    []string
	rows    int
	clients int // readers, and writers, of each gateway
	think   time.Duration
	bound   time.Duration
	quiet   time.Duration
}

func main() {
	t := test{}
	urls := flag.String("urls", "postgres://root@127.0.0.1:26257/defaultdb", "the gateways, separated by commas")
	https := flag.String("http", "", "the HTTP addresses of the gateways, separated by commas: tell how long and how often each change kept others from the table, its waits for them included")
	flag.IntVar(&t.rows, "rows", 150_000, "rows of the table")
	flag.IntVar(&t.clients, "clients", 1, "readers, and writers, of each gateway")
	flag.DurationVar(&t.think, "think", 4*time.Millisecond, "rest of a client between two statements")
	flag.DurationVar(&t.bound, "bound", 100*time.Millisecond, "longest read or write beside a change that is not told as too long")
	flag.DurationVar(&t.quiet, "quiet", 3*time.Second, "how long clients are measured without a change first")
	only := flag.String("only", "", "run the changes whose names contain this")
	flag.Parse()
	t.urls = strings.Split(*urls, ",")
	if *https != "" {
		t.https = strings.Split(*https, ",")
	}
	late, err := t.run(context.Background(), *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stalls:", err)
		os.Exit(2)
	}
	if late > 0 {
		fmt.Fprintf(os.Stderr, "stalls: reads or writes took longer than %s beside %d changes\n", t.bound, late)
		os.Exit(1)
	}
}

// change is a change of the table.
type change struct{ name, do, undo string }

func changes() []change {
	alter := func(name, do, undo string) change {
		return change{name, "ALTER TABLE stalls " + do, "ALTER TABLE stalls " + undo}
	}
	return []change{
		{"CREATE INDEX", "CREATE INDEX stalls_k ON stalls (k)", "DROP INDEX stalls_k"},
		{"CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX stalls_u ON stalls (u)", "DROP INDEX stalls_u"},
		alter("ADD COLUMN, constant", "ADD COLUMN n INT NOT NULL DEFAULT 7", "DROP COLUMN n"),
		alter("ADD COLUMN, random", "ADD COLUMN r FLOAT NOT NULL DEFAULT random()", "DROP COLUMN r"),
		alter("ADD COLUMN, computed", "ADD COLUMN s BIGINT GENERATED ALWAYS AS (u + 1) STORED", "DROP COLUMN s"),
		alter("TYPE, wider", "ALTER k TYPE BIGINT", "ALTER k TYPE INT"),
		alter("TYPE, rewritten", "ALTER k TYPE TEXT", "ALTER k TYPE INT USING k::INT"),
		alter("ADD CHECK", "ADD CONSTRAINT positive CHECK (k >= 0)", "DROP CONSTRAINT positive"),
		alter("ADD CHECK NOT VALID", "ADD CONSTRAINT positive CHECK (k >= 0) NOT VALID", "DROP CONSTRAINT positive"),
		alter("ADD FOREIGN KEY", "ADD CONSTRAINT refers FOREIGN KEY (k) REFERENCES stalls_parents", "DROP CONSTRAINT refers"),
		alter("ADD UNIQUE", "ADD CONSTRAINT once UNIQUE (u)", "DROP CONSTRAINT once"),
		alter("ADD UNIQUE DEFERRABLE", "ADD CONSTRAINT once UNIQUE (u) DEFERRABLE", "DROP CONSTRAINT once"),
		alter("SET NOT NULL", "ALTER note SET NOT NULL", "ALTER note DROP NOT NULL"),
		alter("ALTER PRIMARY KEY", "ALTER PRIMARY KEY USING COLUMNS (id, u)", "ALTER PRIMARY KEY USING COLUMNS (id)"),
		alter("several", "ALTER k TYPE TEXT, ADD COLUMN r FLOAT NOT NULL DEFAULT random(), ADD UNIQUE (u)", "DROP COLUMN r, DROP CONSTRAINT stalls_u_key, ALTER k TYPE INT USING k::INT"),
		alter("RENAME COLUMN", "RENAME COLUMN note TO remark", "RENAME COLUMN remark TO note"),
		alter("SET DEFAULT", "ALTER note SET DEFAULT 'z'", "ALTER note DROP DEFAULT"),
		{"CONFIGURE ZONE", "ALTER TABLE stalls CONFIGURE ZONE USING num_replicas = 3", "ALTER TABLE stalls CONFIGURE ZONE DISCARD"},
	}
}

func (t *test) run(ctx context.Context, only string) (late int, err error) {
	if err := t.load(ctx); err != nil {
		return 0, err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "change\ttook\tread, longest\tat\twrite, longest\tat\treads\twrites\tover the bound\tlocked")
	row := func(name string, took time.Duration, reads, writes times, locked string) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", name, ms(took), ms(reads.longest()), reads.when(took), ms(writes.longest()), writes.when(took),
			len(reads), len(writes), reads.over(t.bound)+writes.over(t.bound), locked)
		_ = out.Flush()
	}
	_, reads, writes, err := t.beside(ctx, func(conn *pgconn.PgConn) error { time.Sleep(t.quiet); return nil })
	if err != nil {
		return 0, err
	}
	row("(nothing)", t.quiet, reads, writes, "")
	for _, c := range changes() {
		if !strings.Contains(c.name, only) {
			continue
		}
		for _, x := range [][2]string{{c.name, c.do}, {"  undone", c.undo}} {
			before := t.locks()
			took, reads, writes, err := t.beside(ctx, func(conn *pgconn.PgConn) error { return exec(ctx, conn, x[1]) })
			if err != nil {
				return late, fmt.Errorf("%s: %w", x[1], err)
			}
			row(x[0], took, reads, writes, t.locks().since(before))
			if reads.over(t.bound)+writes.over(t.bound) > 0 {
				late++
			}
		}
	}
	return late, nil
}

// locks are how often, and for how many seconds, each gateway has locked objects.
type locks [][2]float64

// locks asks the gateways; one that doesn't answer counts as one that has locked nothing.
func (t *test) locks() (out locks) {
	for _, addr := range t.https {
		out = append(out, lockedAt(addr))
	}
	return out
}

func lockedAt(addr string) (out [2]float64) {
	resp, err := http.Get("http://" + addr + "/_status/vars")
	if err != nil {
		return out
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		for i, name := range []string{"lichen_schema_locks_total ", "lichen_schema_lock_seconds_total "} {
			if v, ok := strings.CutPrefix(lines.Text(), name); ok {
				out[i], _ = strconv.ParseFloat(v, 64)
			}
		}
	}
	return out
}

// since tells the most that a gateway has locked since before.
func (l locks) since(before locks) string {
	if len(l) == 0 {
		return ""
	}
	most, times := 0.0, 0.0
	for i := range l {
		if d := l[i][1] - before[i][1]; d >= most {
			most, times = d, l[i][0]-before[i][0]
		}
	}
	return fmt.Sprintf("%.1f ms in %.0f", most*1000, times)
}

// load makes the tables.
func (t *test) load(ctx context.Context) error {
	conn, err := pgconn.Connect(ctx, t.urls[0])
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	statements := []string{
		"DROP TABLE IF EXISTS stalls, stalls_parents", "CREATE TABLE stalls_parents (id INT PRIMARY KEY)",
		"INSERT INTO stalls_parents SELECT g FROM generate_series(0, 99) g",
		"CREATE TABLE stalls (id BIGINT PRIMARY KEY, u BIGINT NOT NULL, k INT NOT NULL, note TEXT)",
	}
	for from := 1; from <= t.rows; from += loadRows {
		statements = append(statements, fmt.Sprintf("INSERT INTO stalls SELECT g, g * 1000, g %% 100, 'some text of row ' || g FROM generate_series(%d, %d) g", from, min(from+loadRows-1, t.rows)))
	}
	for _, sql := range append(statements, "ANALYZE stalls") {
		if err := exec(ctx, conn, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func exec(ctx context.Context, conn *pgconn.PgConn, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := conn.Exec(ctx, sql).ReadAll()
	return err
}

// took is a statement: when it began, from the beginning of the change, and how long it took.
type took struct{ at, took time.Duration }

type times []took

func (t times) longest() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t.worst().took
}

func (t times) worst() took {
	return slices.MaxFunc(t, func(a, b took) int { return int(a.took - b.took) })
}

// when says when the longest one began, as a share of the change.
func (t times) when(change time.Duration) string {
	if len(t) == 0 || change <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(t.worst().at)/float64(change))
}

func (t times) over(bound time.Duration) (n int) {
	for _, x := range t {
		if x.took > bound {
			n++
		}
	}
	return n
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// beside runs f on a connection to one of the gateways, and returns what clients of all of them did meanwhile.
func (t *test) beside(ctx context.Context, f func(*pgconn.PgConn) error) (d time.Duration, reads, writes times, err error) {
	changer, err := pgconn.Connect(ctx, t.urls[rand.IntN(len(t.urls))])
	if err != nil {
		return 0, nil, nil, err
	}
	defer changer.Close(ctx)
	clients, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	begun := time.Now()
	for i, url := range t.urls {
		for j := range 2 * t.clients {
			wg.Go(func() {
				list, cerr := t.client(clients, url, begun, j%2 == 0, i*t.clients+j/2)
				mu.Lock()
				defer mu.Unlock()
				if err = errors.Join(err, cerr); j%2 == 0 {
					writes = append(writes, list...)
				} else {
					reads = append(reads, list...)
				}
			})
		}
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	ferr := f(changer)
	d = time.Since(start)
	time.Sleep(100 * time.Millisecond)
	stop()
	wg.Wait()
	shift := start.Sub(begun)
	for _, list := range []times{reads, writes} {
		for i := range list {
			list[i].at -= shift
		}
	}
	// What came before the change is not its doing.
	before := func(x took) bool { return x.at+x.took < 0 }
	return d, slices.DeleteFunc(reads, before), slices.DeleteFunc(writes, before), errors.Join(ferr, err)
}

// client reads or writes single rows until ctx ends. Conflicts are no errors: the statement is run again.
func (t *test) client(ctx context.Context, url string, begun time.Time, write bool, number int) (list times, err error) {
	conn, err := pgconn.Connect(context.Background(), url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.Background())
	rng := rand.New(rand.NewPCG(uint64(number), 1))
	for n := 0; ctx.Err() == nil; n++ {
		id := 1 + rng.IntN(t.rows)
		sql := fmt.Sprintf("SELECT u FROM stalls WHERE id = %d", id)
		if write {
			sql = fmt.Sprintf("UPDATE stalls SET k = %d WHERE id = %d", n%100, id)
		}
		from := time.Now()
		err := exec(context.Background(), conn, sql)
		var pe *pgconn.PgError
		if err != nil && !(errors.As(err, &pe) && (pe.Code == "40001" || pe.Code == "40P01")) {
			return list, fmt.Errorf("%s: %w", sql, err)
		}
		list = append(list, took{from.Sub(begun), time.Since(from)})
		time.Sleep(t.think)
	}
	return list, nil
}
