package torture

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// compareTime bounds the wait until all replicas could be compared.
const compareTime = 90 * time.Second

// compared is the last line of lichen debug check-replicas.
var compared = regexp.MustCompile(`(\d+) ranges identical \((\d+) of them [^)]*\), (\d+) differing, (\d+) unchecked`)

// compare waits until all ranges have all their replicas and has them compared with
// one another. A difference is a violation.
func (t *test) compare(ctx context.Context, res *Result) {
	if err := t.c.AwaitWhole(ctx); err != nil {
		res.violation("after the faults: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	for {
		out, verdict := t.checkReplicas(ctx)
		switch {
		case verdict == differing:
			res.violation("replicas differ: %s", out)
			return
		case verdict == identical:
			m := compared.FindStringSubmatch(out)
			res.Compared = m[1]
			return
		}
		if err := sleep.For(ctx, 50*pollPace); err != nil {
			res.undecided("the replicas could not all be compared in %s: %s", compareTime, lastLines(out))
			return
		}
	}
}

// comparison is what came of comparing replicas.
type comparison uint8

const (
	incomplete comparison = iota
	identical
	differing
)

// checkReplicas runs the checker once.
func (t *test) checkReplicas(ctx context.Context) (string, comparison) {
	b, err := exec.CommandContext(ctx, t.c.o.Binary, "debug", "check-replicas", "--insecure", "--host="+t.c.Nodes[0].SQL).CombinedOutput()
	out := strings.TrimSpace(string(b))
	if err != nil && out == "" {
		out = err.Error()
	}
	return out, judgeComparison(out)
}

// judgeComparison reads what the checker says: identical only if every replica of every
// range was compared.
func judgeComparison(out string) comparison {
	m := compared.FindStringSubmatch(out)
	switch {
	case m == nil:
		return incomplete
	case m[3] != "0":
		return differing
	case m[1] == "0" || m[2] != "0" || m[4] != "0":
		return incomplete
	}
	return identical
}

// lastLines is the end of a long output.
func lastLines(s string) string {
	const most = 1000
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return s
}

// refusedStart starts a node that must not come up: its process ends by itself, soon,
// and says why.
func (s *stage) refusedStart(ctx context.Context, n *Node, what string, words ...string) error {
	if err := n.Start(); err != nil {
		return err
	}
	return s.ends(ctx, n, what, refusedTime, words...)
}

// ends waits until a process ends by itself, within a bound, and checks what it says.
func (s *stage) ends(ctx context.Context, n *Node, what string, bound time.Duration, words ...string) error {
	begun := time.Now()
	n.expectEnd()
	n.mu.Lock()
	ended := n.ended
	n.mu.Unlock()
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(bound):
		s.res.violation("%s: the process has not ended within %s", what, bound)
		return n.Kill()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	said := strings.TrimSpace(n.said.String())
	if n.err == nil {
		s.res.violation("%s: the process ended without an error", what)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			s.res.violation("%s: the process does not say %q but: %s", what, w, lastLines(said))
		}
	}
	line := said[strings.LastIndex(said, "\n")+1:]
	s.res.note("%s: ended after %.1f s: %s", what, time.Since(begun).Seconds(), oneLine(line))
	fmt.Fprintf(s.o.Progress, "  %s: ended after %.1f s\n", what, time.Since(begun).Seconds())
	return nil
}

// refusedTime bounds how long a node that can't work takes to end.
const refusedTime = 45 * time.Second
