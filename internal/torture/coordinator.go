package torture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// maxSettle is how long others may take to find out what became of a commit whose
	// gateway died, or stands still: the gateway must be missed first.
	maxSettle = 10 * time.Second
	// reachTime bounds the way of a commit to the step at which it is held.
	reachTime = 15 * time.Second
	// stepTries is how often a commit is tried whose step is not reached, because its
	// timestamp had to rise, say.
	stepTries = 5
	// stillTime is how long a commit stands still of a gateway that lives.
	stillTime = 5 * time.Second
)

// commitStep is a place in a commit in three ranges at which the gateway holds it.
type commitStep struct {
	name  string
	about string
	// held and passed are how many requests are held there, and how many of their kind
	// were answered by then.
	held, passed int
	// done: all parts are durable, so that the transaction has committed; none: a part
	// is missing, so that it can't.
	done, none bool
}

// commitSteps are the steps of a commit in three ranges, in their order.
var commitSteps = []commitStep{
	{name: "before-parts", about: "before any part is sent", held: 3, none: true},
	{name: "only-record", about: "when only the part with the record is there", held: 2, passed: 1, none: true},
	{name: "no-record", about: "when all parts but the one with the record are there", held: 1, passed: 2, none: true},
	{name: "after-parts", about: "when all parts are there, before the client's answer", held: 3, done: true},
	{name: "before-end", about: "before the record says so", held: 1, done: true},
	{name: "after-end", about: "after the record says so", held: 1, done: true},
	{name: "resolving", about: "when one part is resolved", held: 2, passed: 1, done: true},
	{name: "before-forget", about: "before the record goes", held: 1, done: true},
}

// stepsSchema makes a table whose accounts lie in three ranges.
const stepsSchema = `
CREATE TABLE IF NOT EXISTS torture_steps (k TEXT PRIMARY KEY, v BIGINT NOT NULL);
ALTER TABLE torture_steps SPLIT AT VALUES ('m'), ('t');
ALTER TABLE torture_steps SCATTER;`

// coordinators kills the gateway of a transfer over three ranges at every step of its
// commit, and holds it there for a while.
func coordinators(ctx context.Context, s *stage) error {
	if _, err := s.round.anywhere(ctx, stepsSchema); err != nil {
		return fmt.Errorf("torture_steps: %w", err)
	}
	for _, dies := range []bool{true, false} {
		for i, step := range commitSteps {
			if s.over() && s.res.Events > 0 {
				return nil
			}
			x := &heldTransfer{
				stage: s, step: step, dies: dies, gateway: s.c.Nodes[(s.rng.IntN(len(s.c.Nodes))+i)%len(s.c.Nodes)],
			}
			if err := x.play(ctx); err != nil {
				return fmt.Errorf("%s: %w", x.what(), err)
			}
		}
	}
	return nil
}

// heldTransfer is a transfer over three ranges whose commit is held at a step.
type heldTransfer struct {
	*stage
	step    commitStep
	gateway *Node
	dies    bool // the gateway is killed there; else the commit goes on later
	keys    []string
	answer  chan error // of the transfer; closed after it
}

func (x *heldTransfer) what() string {
	how := "stands still"
	if x.dies {
		how = "dies"
	}
	return fmt.Sprintf("the gateway of a commit, node %d, %s %s", x.gateway.ID, how, x.step.about)
}

// The states of a transfer, as a reader sees them.
const (
	stepsOld = "nothing of it has happened"
	stepsNew = "it has happened"
)

func (x *heldTransfer) play(ctx context.Context) error {
	if err := x.hold(ctx); err != nil {
		return err
	}
	begun := time.Now()
	if x.dies {
		if err := x.gateway.Kill(); err != nil {
			return err
		}
	}
	x.observe(ctx, begun)
	learned := time.Since(begun)
	if !x.dies {
		if err := sleep.For(ctx, stillTime-time.Since(begun)); err != nil {
			return err
		}
		if err := x.gateway.post("/_debug/fault/commit?off=1"); err != nil {
			return err
		}
	}
	answer := <-x.answer
	x.judge(answer, x.observe(ctx, time.Now()))
	wrote := time.Now()
	x.overwrite(ctx)
	fmt.Fprintf(x.o.Progress, "  %s: the client heard %q; others knew after %.2f s, and then wrote there within %.2f s\n",
		x.what(), oneLine(fmt.Sprint(answer)), learned.Seconds(), time.Since(wrote).Seconds())
	if err := x.watch(ctx, begun, time.Second, x.what(), x.gateway); err != nil || !x.dies {
		return err
	}
	return x.restart(ctx, x.gateway)
}

// hold makes accounts, begins the transfer and returns when its commit is held.
func (x *heldTransfer) hold(ctx context.Context) error {
	for range stepTries {
		x.commits++
		mark := fmt.Sprintf("-%d.%d-", x.round.number, x.commits)
		x.keys = []string{"a" + mark, "p" + mark, "x" + mark}
		var rows []string
		for _, k := range x.keys {
			rows = append(rows, "("+quote(k)+", 100)")
		}
		if _, err := x.round.anywhere(ctx, "INSERT INTO torture_steps VALUES "+strings.Join(rows, ", ")); err != nil {
			return err
		}
		if err := x.gateway.post("/_debug/fault/commit?hold=" + x.step.name + "&key=" + url.QueryEscape(mark)); err != nil {
			return err
		}
		x.answer = make(chan error, 1)
		go func() { x.answer <- x.transfer(ctx) }()
		held, err := x.reached(ctx)
		if held || err != nil {
			return err
		}
		if err := x.gateway.post("/_debug/fault/commit?off=1"); err != nil {
			return err
		}
		if err := <-x.answer; err != nil {
			x.res.note("%s: not reached: %s", x.step.name, oneLine(err.Error()))
		}
	}
	return errors.New("no commit has come there")
}

// transfer moves money between the accounts in one transaction.
func (x *heldTransfer) transfer(ctx context.Context) error {
	sql := "BEGIN"
	for i, by := range []int{-10, 4, 6} {
		sql += fmt.Sprintf("; UPDATE torture_steps SET v = v + %d WHERE k = %s", by, quote(x.keys[i]))
	}
	_, err := x.gateway.query(ctx, sql+"; COMMIT")
	return err
}

// reached waits until the commit is held where it should be.
func (x *heldTransfer) reached(ctx context.Context) (bool, error) {
	for begun := time.Now(); time.Since(begun) < reachTime; {
		held, passed, err := x.gateway.heldCommit()
		if err != nil || held == x.step.held && passed == x.step.passed {
			return err == nil, err
		}
		if x.step.done && len(x.answer) > 0 && held == 0 && time.Since(begun) > reachTime/3 {
			return false, nil // it is over
		}
		if err := sleep.For(ctx, pollPace); err != nil {
			return false, err
		}
	}
	return false, nil
}

// heldCommit asks how far the commit has come that is held.
func (n *Node) heldCommit() (held, passed int, err error) {
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Get("http://" + n.HTTP + "/_debug/fault/commit")
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	var at struct{ Held, Passed int }
	err = json.NewDecoder(resp.Body).Decode(&at)
	return at.Held, at.Passed, err
}

// observe reads the accounts through every other gateway, and returns what was seen last.
func (x *heldTransfer) observe(ctx context.Context, begun time.Time) (seen string) {
	for _, n := range x.c.Nodes {
		if n == x.gateway {
			continue
		}
		now, ok := x.read(ctx, n)
		switch took := time.Since(begun); {
		case !ok:
			return now
		case took > maxSettle:
			x.res.violation("%s: a reader at node %d learned after %.1f s what became of it", x.what(), n.ID, took.Seconds())
		case seen == stepsNew && now == stepsOld:
			x.res.violation("%s: node %d says that %s after another said that %s", x.what(), n.ID, now, seen)
		}
		seen = now
	}
	return seen
}

// read looks at the accounts through a node: all have changed or none.
func (x *heldTransfer) read(ctx context.Context, n *Node) (seen string, ok bool) {
	rows, err := n.query(ctx, fmt.Sprintf("SELECT v FROM torture_steps WHERE k IN (%s, %s, %s) ORDER BY k", quote(x.keys[0]), quote(x.keys[1]), quote(x.keys[2])))
	if err != nil {
		x.res.violation("%s: a reader at node %d: %v", x.what(), n.ID, err)
		return "", false
	}
	switch s := fmt.Sprint(rows); s {
	case "[[100] [100] [100]]":
		return stepsOld, true
	case "[[90] [104] [106]]":
		return stepsNew, true
	default:
		x.res.violation("%s: node %d sees %s, a part of a transaction", x.what(), n.ID, s)
		return s, false
	}
}

// judge compares what the client heard with what is there.
func (x *heldTransfer) judge(answer error, seen string) {
	switch o := outcome(answer); {
	case o == check.OK && seen != stepsNew:
		x.res.violation("%s: the client heard that it has happened, and %s", x.what(), seen)
	case o == check.Failed && seen != stepsOld:
		x.res.violation("%s: the client heard %v, and %s", x.what(), answer, seen)
	case x.step.done && seen != stepsNew, x.dies && x.step.none && seen != stepsOld:
		x.res.violation("%s: %s", x.what(), seen)
	}
}

// overwrite changes the accounts through another gateway: no lock is left on them.
func (x *heldTransfer) overwrite(ctx context.Context) {
	begun := time.Now()
	for _, n := range x.c.Nodes {
		if n == x.gateway {
			continue
		}
		sql := fmt.Sprintf("UPDATE torture_steps SET v = v + 1 WHERE k IN (%s, %s, %s)", quote(x.keys[0]), quote(x.keys[1]), quote(x.keys[2]))
		_, err := n.query(ctx, sql)
		switch took := time.Since(begun); {
		case err != nil:
			x.res.violation("%s: a writer at node %d: %v", x.what(), n.ID, err)
		case took > maxSettle:
			x.res.violation("%s: a writer at node %d waited %.1f s", x.what(), n.ID, took.Seconds())
		}
	}
}
