// Command cancels starts statements that run long on a node or on PostgreSQL, cancels each
// at several points, and reports how long the answer took. Besides those that it lists, it
// calls everything in the catalog with large values.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeout bounds every wait.
const timeout = 60 * time.Second

// again is the interval between two requests to cancel.
const again = 20 * time.Millisecond

// probe is a run over the statements.
type probe struct {
	url     string
	bound   time.Duration
	tries   int
	server  int // its process, 0 if processor time does not count
	ran     int
	ended   int // before they could be cancelled late
	late    int
	longest time.Duration
	slowest string // the statement of longest
	stacks  string // where the server tells what its goroutines do, "" if nobody wants to know
}

func main() {
	p := probe{}
	flag.StringVar(&p.url, "url", "postgres://root@127.0.0.1:26257/defaultdb", "where to run")
	flag.DurationVar(&p.bound, "bound", 100*time.Millisecond, "how soon a cancelled statement must end")
	flag.IntVar(&p.tries, "tries", 1, "how often a statement must end late, each time, to count as late: more on a busy machine")
	only := flag.String("only", "", "run the statements whose names contain this")
	all := flag.Bool("all", false, "run calls with alike arguments too, such as those with arrays of every type")
	part := flag.String("part", "1/1", "run one part of several, such as 2/3")
	flag.IntVar(&p.server, "server-pid", 0, "process of a server on this machine that does nothing else: what it takes in processor time to end is told where that is less, as on a busy machine")
	flag.StringVar(&p.stacks, "stacks", "", "address of the server's HTTP interface, such as http://127.0.0.1:8080: print what the server does for a statement that is about to be late")
	flag.Parse()
	list, left, err := chosen(*only, *part, *all)
	if err == nil && p.server != 0 {
		_, err = processorTime(p.server)
	}
	if err == nil {
		err = p.run(list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d statements, and %d alike ones that were left out; %d ended within %v by themselves; %d were late; the longest took %d ms: %s\n",
		p.ran, left, p.ended, p.bound, p.late, p.longest.Milliseconds(), p.slowest)
	if p.late > 0 {
		os.Exit(1)
	}
}

// chosen returns the statements to run, and how many were left out because others are alike.
func chosen(only, part string, all bool) (list []statement, left int, err error) {
	var k, parts int
	if _, err := fmt.Sscanf(part, "%d/%d", &k, &parts); err != nil || k < 1 || k > parts {
		return nil, 0, fmt.Errorf("-part is not like 2/3: %q", part)
	}
	seen := map[string]bool{}
	for _, st := range append(statements(), catalog()...) {
		switch {
		case !strings.Contains(st.name, only):
		case st.kind != "" && seen[st.kind] && !all:
			left++
		default:
			seen[st.kind] = true
			list = append(list, st)
		}
	}
	return list[(k-1)*len(list)/parts : k*len(list)/parts], left, nil
}

func (p *probe) run(list []statement) error {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	for _, s := range setup {
		if err := conn.Exec(ctx, s).Close(); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for _, st := range list {
		if err := p.statement(ctx, st); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return nil
}

// longestRun is after how long a statement is cancelled at the latest.
const longestRun = 1200 * time.Millisecond

// statement runs a statement, to see how long it takes, and cancels it then at several points
// of that time.
func (p *probe) statement(ctx context.Context, st statement) error {
	worst, took, err := p.least(ctx, st, longestRun)
	at, note := longestRun, ""
	var pe *pgconn.PgError
	switch errors.As(err, &pe); {
	case pe == nil && err != nil:
		return err
	case pe == nil:
		note = fmt.Sprintf("ends after %v", took.Round(time.Millisecond))
	case pe.Code != "57014":
		note = pe.Code + " " + pe.Message
	}
	p.ran++
	if took < p.bound {
		p.ended++
	}
	const points = 4
	for i := 1; i < points && took >= p.bound; i++ {
		delay := took * time.Duration(i) / points
		late, _, err := p.least(ctx, st, delay)
		if err != nil && !errors.As(err, &pe) {
			return err
		}
		if late > worst {
			worst, at = late, delay
		}
	}
	p.report(st, worst, at, note)
	return nil
}

func (p *probe) report(st statement, worst, at time.Duration, note string) {
	mark := "ok  "
	if worst > p.bound {
		mark = "LATE"
		p.late++
	}
	if worst > p.longest {
		p.longest, p.slowest = worst, st.name
	}
	if len(note) > 100 {
		note = note[:100]
	}
	fmt.Printf("%s %-28s %6d ms (cancelled at %v) %s\n", mark, st.name, worst.Milliseconds(), at.Round(time.Millisecond), note)
}

// least is once, tried again while the statement ends late; it returns the try that ended soonest.
func (p *probe) least(ctx context.Context, st statement, delay time.Duration) (late, took time.Duration, err error) {
	late, took, err = p.once(ctx, st, delay)
	for try := 1; try < p.tries && late > p.bound; try++ {
		l, t, e := p.once(ctx, st, delay)
		if l < late {
			late, took, err = l, t, e
		}
	}
	return late, took, err
}

// once runs a statement and cancels it after a while; late is how long it still ran. The time
// begins when the last of the statement is sent.
func (p *probe) once(ctx context.Context, st statement, delay time.Duration) (late, took time.Duration, err error) {
	sent := new(sending)
	conn, err := p.connect(ctx, sent)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	for _, s := range st.before {
		if err := conn.Exec(ctx, s).Close(); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", s, err)
		}
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	var before time.Duration
	sent.expect(len(st.sql), func() {
		go func() {
			defer close(stopped)
			cancelFrom(ctx, conn, delay, func() {
				before = p.busy()
				if p.stacks != "" {
					go p.watch(done)
				}
			}, done)
		}()
	})
	err = conn.Exec(ctx, st.sql).Close()
	took = time.Since(sent.ended())
	after := p.busy()
	close(done)
	<-stopped
	late = max(0, took-delay)
	if p.server != 0 && late > 0 {
		late = min(late, after-before)
	}
	return late, took, err
}

// busy is the processor time that the server has taken, if it counts.
func (p *probe) busy() time.Duration {
	if p.server == 0 {
		return 0
	}
	d, _ := processorTime(p.server) // main has tried it
	return d
}

// tick is the unit in which Linux tells processor time.
const tick = 10 * time.Millisecond

// processorTime is that of a process.
func processorTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is a name in parentheses, which may hold anything; the 14th and 15th are the times.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is not as expected", pid)
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick, err
}

func (p *probe) connect(ctx context.Context, sent *sending) (*pgconn.PgConn, error) {
	c, err := pgconn.ParseConfig(p.url)
	if err != nil {
		return nil, err
	}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &watchedConn{conn, sent}, err
	}
	return pgconn.ConnectConfig(ctx, c)
}

// sending notes when a statement is sent: its client may take longer for that than the server
// for its work.
type sending struct {
	mu   sync.Mutex
	left int    // bytes of the statement
	then func() // is called when there are none left
	at   time.Time
}

// expect has then called once n bytes are sent.
func (s *sending) expect(n int, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.then = n, then
}

func (s *sending) wrote(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= n; s.left <= 0 && s.then != nil {
		s.at = time.Now()
		s.then()
		s.then = nil
	}
}

// ended returns when the last of the statement was sent.
func (s *sending) ended() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// watchedConn is a connection that tells what it has written.
type watchedConn struct {
	net.Conn
	sent *sending
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.wrote(n)
	return n, err
}

// cancelFrom asks for the end of what a connection runs, after a while and then again and
// again until it is done: the first time, of which it tells first, the statement may not have arrived.
func cancelFrom(ctx context.Context, conn *pgconn.PgConn, delay time.Duration, first func(), done chan struct{}) {
	for timer := time.NewTimer(delay); ; timer.Reset(again) {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		first()
		first = func() {}
		cctx, cancel := context.WithTimeout(ctx, timeout)
		_ = conn.CancelRequest(cctx) // a lost request shows as a late answer
		cancel()
	}
}
