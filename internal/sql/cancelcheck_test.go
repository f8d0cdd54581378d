package sql_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
)

// looker counts how often a statement looks whether it goes on, and how much processor time
// passes between two looks at most.
type checkCounter struct {
	ses     *sql.Session
	checks  int
	last    time.Duration
	longest time.Duration
	timed   bool
}

func newLooker(ses *sql.Session) *checkCounter {
	l := &checkCounter{ses: ses, timed: os.Getenv("LICHEN_CANCEL_CHECKS") != ""}
	ses.OnCancelCheck(l.check)
	return l
}

func (l *checkCounter) check() {
	l.checks++
	if l.timed {
		now := processorTime()
		l.longest = max(l.longest, now-l.last)
		l.last = now
	}
}

// processorTime is that of the process.
func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func (l *checkCounter) run(t *testing.T, text string) int {
	t.Helper()
	l.checks, l.longest, l.last = 0, 0, processorTime()
	if err := l.ses.Query(context.Background(), text, &discard{}); err != nil {
		t.Errorf("%.200s: %v", text, err)
	}
	l.check()
	return l.checks
}

// stepsPerCheck is how many steps, such as rows, elements or bytes, a statement may take
// without looking whether it goes on.
const stepsPerCheck = 32 << 10

// TestCancelChecks runs statements on little and on much: they must look the more often whether they
// go on, so that a cancelled one ends after a bounded number of steps. With LICHEN_CANCEL_CHECKS set
// it tells the longest times between two looks.
func TestCancelChecks(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 4 << 30})
	defer n.close()
	ses := n.session(t)
	defer ses.Close()
	l := newLooker(ses)
	for _, s := range []string{
		"CREATE EXTENSION pg_trgm; CREATE EXTENSION pgcrypto; CREATE EXTENSION \"uuid-ossp\"",
		"CREATE TABLE big (id INT PRIMARY KEY, k INT, s TEXT)",
		"INSERT INTO big SELECT i, i % 1000, md5(i::text) FROM generate_series(1, 100000) i",
	} {
		l.run(t, s)
	}
	only := os.Getenv("LICHEN_CANCEL_CHECKS")
	for _, c := range longStatements() {
		if only != "all" && !strings.Contains(c.name, only) {
			continue
		}
		steps := c.steps
		if steps == 0 {
			steps = 100_000
		}
		few := l.run(t, c.sql(10))
		began := processorTime()
		many := l.run(t, c.sql(steps))
		took := processorTime() - began
		if want := steps / stepsPerCheck; many-few < want {
			t.Errorf("%s: %d looks for %d steps more, %d with few; %v", c.name, many-few, steps, few, took)
		}
		if l.timed {
			fmt.Printf("%6d ms at most of %6d ms, %5d looks: %s\n", l.longest.Milliseconds(), took.Milliseconds(), many, c.name)
		}
	}
}

// longStatement is a statement that takes as many steps as it is told, or a multiple.
type longStatement struct {
	name  string
	sql   func(n int) string
	steps int
}

// times makes a statement of one that holds $n.
func times(text string) func(n int) string {
	return func(n int) string { return strings.ReplaceAll(text, "$n", strconv.Itoa(n)) }
}

// each makes a statement of a piece of text for each number, between what precedes and
// follows.
func each(before, sep, form, after string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			if i > 0 {
				b.WriteString(sep)
			}
			b.WriteString(strings.ReplaceAll(form, "?", strconv.Itoa(i)))
		}
		return b.String() + after
	}
}
