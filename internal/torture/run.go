package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// warmUp is how long the load runs before anything happens to the cluster, coolDown
	// how long afterwards.
	warmUp   = 2 * time.Second
	coolDown = 2 * time.Second
	// judgeBudget bounds the search of the judge of one register.
	judgeBudget = 60 * time.Second
	// finalTries bounds the attempts to read what is there in the end.
	finalTries = 50
	// mixedTime is how long faults are mixed if nobody says otherwise, judgeTime what is
	// kept of a scenario's time for its end and the judges.
	mixedTime = 2 * time.Minute
	judgeTime = 15 * time.Second
	// fewNodes is the number of nodes below which each has as many clients as three.
	fewNodes = 3
)

// Options say what to do to a cluster.
type Options struct {
	Cluster   ClusterOptions
	Scenarios []string
	// Duration bounds the run: each scenario gets an equal share of what is left, and
	// begins no fault after that. 0: each scenario takes as long as it takes.
	Duration time.Duration
	Seed     uint64
	// Clients is how many connections of the load of single rows each node has.
	Clients  int
	Progress io.Writer
}

// Run starts a cluster and plays the scenarios one after the other. The report tells
// what came of each; the error, that the test itself could not go on.
func Run(ctx context.Context, o Options) (*Report, error) {
	var play []*Scenario
	for _, name := range o.Scenarios {
		s, err := scenario(name)
		if err != nil {
			return nil, err
		}
		if least := s.Least(); o.Cluster.Nodes < least {
			return nil, fmt.Errorf("scenario %s needs %d nodes", name, least)
		}
		play = append(play, s)
	}
	begun := time.Now()
	c, err := StartCluster(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	defer c.Destroy()
	rep := &Report{}
	t := &test{o: o, c: c, rng: rand.New(rand.NewPCG(o.Seed, 1))}
	if _, err := c.Nodes[0].query(ctx, schema(true)); err != nil {
		return rep, fmt.Errorf("schema: %w", err)
	}
	for i, s := range play {
		res, err := t.play(ctx, s, t.until(s, begun, len(play)-i))
		if res != nil {
			rep.Results = append(rep.Results, res)
			fmt.Fprintln(o.Progress, res.line())
		}
		if err != nil {
			return rep, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return rep, nil
}

type test struct {
	o     Options
	c     *Cluster
	rng   *rand.Rand
	round int
	// commits counts those that were held on their way.
	commits int
}

// until says when a scenario that begins now should end if so many are left.
func (t *test) until(s *Scenario, begun time.Time, left int) time.Time {
	now := time.Now()
	if t.o.Duration == 0 {
		if s.Name == MixedName {
			return now.Add(mixedTime)
		}
		return time.Time{}
	}
	share := (t.o.Duration - now.Sub(begun)) / time.Duration(left)
	return now.Add(max(share-judgeTime, time.Second))
}

// round is one scenario's load and what its clients saw.
type round struct {
	t       *test
	number  int
	history *check.History
	initial map[string]int64 // balances
	waits   []*waits
	appends [len(levels)]atomic.Int64 // to lists, by level

	mu      sync.Mutex
	has     map[[2]int64]bool
	errors  map[string]int // by class
	samples map[string]string
	wrongs  []string // what no answer should say
}

// play plays a scenario under load and judges what the clients saw.
func (t *test) play(ctx context.Context, s *Scenario, until time.Time) (*Result, error) {
	t.round++
	r := &round{
		t: t, number: t.round, history: check.NewHistory(), has: map[[2]int64]bool{}, errors: map[string]int{},
		samples: map[string]string{},
	}
	res := &Result{Scenario: s.Name, Began: time.Now()}
	var err error
	if r.initial, err = r.balances(ctx); err != nil {
		return nil, fmt.Errorf("balances: %w", err)
	}
	fmt.Fprintf(t.o.Progress, "%s: %s\n", s.Name, s.About)
	stop := r.start(ctx, s.balanced)
	err = sleep.For(ctx, warmUp)
	if err == nil {
		err = s.play(ctx, &stage{test: t, round: r, res: res, until: until})
	}
	t.c.Links.Heal()
	if err == nil {
		err = sleep.For(ctx, coolDown)
	}
	stop()
	t.c.mu.Lock()
	for _, d := range t.c.deaths {
		res.violation("%s", d)
	}
	t.c.deaths = nil
	t.c.mu.Unlock()
	if err == nil {
		err = t.mend(ctx)
	}
	if err != nil {
		r.count(res)
		return res, err
	}
	r.judge(ctx, res)
	if t.c.o.Binary != "" {
		t.compare(ctx, res)
	}
	r.count(res)
	res.mustJudge()
	if len(res.Violations) > 0 {
		r.keep(res)
	}
	if s.allowed != nil {
		for class, n := range res.Errors {
			if !slices.Contains(s.allowed, class) {
				res.violation("%d errors of class %s: %s", n, class, res.Samples[class])
			}
		}
	}
	return res, nil
}

// mend waits until every node serves.
func (t *test) mend(ctx context.Context) error {
	for _, n := range t.c.Nodes {
		if !n.Running() {
			if err := n.Start(); err != nil {
				return err
			}
		}
		if err := n.AwaitSQL(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep writes down what the clients saw, for whoever looks into a violation.
func (r *round) keep(res *Result) {
	name := filepath.Join(r.t.o.Cluster.Dir, fmt.Sprintf("%s-%d-history.jsonl", res.Scenario, r.number))
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(check.Write(f, r.history.Ops()), f.Close())
	}
	if err != nil {
		res.note("%s: %v", name, err)
		return
	}
	res.note("the history is in %s", name)
}

// start starts the clients: on each node some of the load of single rows, two of
// registers, one of the bank and one of lists for each isolation level.
func (r *round) start(ctx context.Context, balanced bool) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	id := 0
	run := func(n *Node, name string, load func(context.Context, *client)) {
		id++
		c := &client{id: id, load: name, node: n, rng: rand.New(rand.NewPCG(r.t.o.Seed, uint64(r.number*1000+id))), tell: r.note}
		if balanced {
			c.balancer = r.t.ready
		}
		wg.Go(func() {
			defer c.close()
			load(ctx, c)
		})
	}
	nodes := r.t.c.Nodes
	for i := range max(len(nodes), fewNodes) {
		n := nodes[i%len(nodes)]
		run(n, "registers", r.registers)
		run(n, "registers", r.registers)
		run(n, "bank", r.bank)
		for _, l := range levels {
			run(n, "lists at "+l.String(), r.lists(l))
		}
		for range r.t.o.Clients {
			w := &waits{node: n}
			r.waits = append(r.waits, w)
			run(n, "single rows", func(ctx context.Context, c *client) { r.wide(ctx, c, w) })
		}
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// ready picks a node that says that it is ready, as a load balancer does.
func (t *test) ready(rng *rand.Rand) *Node {
	c := http.Client{Timeout: time.Second}
	for {
		for _, i := range rng.Perm(len(t.c.Nodes)) {
			n := t.c.Nodes[i]
			resp, err := c.Get("http://" + n.HTTP + "/health?ready=1")
			if err != nil {
				continue
			}
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return n
			}
		}
		time.Sleep(pollPace)
	}
}

// note counts an error of a client.
func (r *round) note(c string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[c]++
	if r.samples[c] == "" {
		r.samples[c] = err.Error()
	}
}

// wrong notes an answer that no correct database gives.
func (r *round) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrongs = append(r.wrongs, fmt.Sprintf(format, args...))
}

// acked notes an insert that was acknowledged.
func (r *round) acked(client int, seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.has[[2]int64{int64(r.number*1000 + client), seq}] = true
}

// anywhere runs a query on whichever node answers.
func (r *round) anywhere(ctx context.Context, sql string) (rows [][]string, err error) {
	for range finalTries {
		for _, n := range r.t.c.Nodes {
			if rows, err = n.query(ctx, sql); err == nil {
				return rows, nil
			}
		}
		if perr := sleep.For(ctx, 10*pollPace); perr != nil {
			return nil, err
		}
	}
	return nil, err
}

func (r *round) balances(ctx context.Context) (map[string]int64, error) {
	rows, err := r.anywhere(ctx, "SELECT id, balance FROM torture_bank")
	out := map[string]int64{}
	for _, row := range rows {
		v, perr := strconv.ParseInt(row[1], 10, 64)
		err = errors.Join(err, perr)
		out[row[0]] = v
	}
	return out, err
}

// judge checks everything that the clients saw against what is there.
func (r *round) judge(ctx context.Context, res *Result) {
	if err := r.finalReads(ctx); err != nil {
		res.violation("reading the registers in the end: %v", err)
	}
	ops := r.history.Ops()
	res.Operations += len(ops)
	for _, op := range ops {
		if op.Outcome == check.Unknown {
			res.Unknown++
		}
	}
	r.verdict(res, check.Linearizable{Budget: judgeBudget}.Check(check.Only(ops, "register")))
	final, err := r.balances(ctx)
	if err != nil {
		res.violation("balances in the end: %v", err)
		return
	}
	r.verdict(res, check.Bank{Initial: r.initial}.Check(check.Only(ops, check.BankTransfer, check.BankSnapshot), final))
	r.judgeLedger(ctx, res)
	r.judgeLists(ctx, res, ops)
}

func (r *round) verdict(res *Result, err error) {
	var undecided *check.Undecided
	switch {
	case err == nil:
	case errors.As(err, &undecided):
		res.undecided("%v", err)
	default:
		res.violation("%v", err)
	}
}

// finalReads reads every register through every node: a lost write shows there at
// last.
func (r *round) finalReads(ctx context.Context) error {
	for _, n := range r.t.c.Nodes {
		c := &client{id: 1_000_000 + int(n.ID), node: n, tell: func(string, error) {}}
		if err := c.connect(ctx); err != nil {
			return err
		}
		for i := range registersPerRound {
			key := r.key(i)
			p := r.history.Begin(check.Op{Client: c.id, Kind: "register"})
			rows, _, err := c.exec("SELECT v FROM torture_registers WHERE k = " + quote(key))
			if err != nil {
				c.close()
				return err
			}
			seen := check.Access{Key: key, Absent: len(rows) == 0}
			if !seen.Absent {
				seen.Value = rows[0][0]
			}
			p.Op.Reads = []check.Access{seen}
			p.Done(check.OK, nil)
		}
		c.close()
	}
	return nil
}

// judgeLedger checks that every acknowledged insert is there.
func (r *round) judgeLedger(ctx context.Context, res *Result) {
	from := r.number * 1000
	rows, err := r.anywhere(ctx, fmt.Sprintf("SELECT client, seq FROM torture_ledger WHERE client >= %d AND client < %d", from, from+1000))
	if err != nil {
		res.violation("reading the ledger in the end: %v", err)
		return
	}
	there := map[[2]int64]bool{}
	for _, row := range rows {
		client, cerr := strconv.ParseInt(row[0], 10, 64)
		seq, serr := strconv.ParseInt(row[1], 10, 64)
		if err := errors.Join(cerr, serr); err != nil {
			res.violation("ledger: %v", err)
			return
		}
		there[[2]int64{client, seq}] = true
	}
	res.Acknowledged = len(r.has)
	lost := 0
	for k := range r.has {
		if !there[k] {
			if lost++; lost == 1 {
				res.violation("the insert of (%d, %d) was acknowledged and is lost", k[0], k[1])
			}
		}
	}
	if lost > 1 {
		res.violation("%d acknowledged inserts are lost", lost)
	}
}

func (r *round) count(res *Result) {
	for _, w := range r.waits {
		w.mu.Lock()
		res.Writes += w.writes
		res.Reads += w.reads
		w.mu.Unlock()
	}
	res.Took, res.Load = time.Since(res.Began), loadAverage()
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Violations = append(res.Violations, r.wrongs...)
	res.Errors, res.Samples = maps.Clone(r.errors), maps.Clone(r.samples)
}
