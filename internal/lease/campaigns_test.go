package lease

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/scripttest"
)

// TestCampaigns runs the stories of testdata/campaigns: replicas of one store queue for campaigns. A step is
// a call, or the passage of time in steps of 50ms; its result names the replicas that begin or end a
// campaign, and when.
func TestCampaigns(t *testing.T) {
	scripttest.Walk(t, "testdata/campaigns", func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
		s := &campaignScript{t: t, c: NewCampaigns[string](), now: time.Unix(1000, 0), barred: map[string]bool{}}
		return s.op
	})
}

type campaignScript struct {
	t      *testing.T
	c      *Campaigns[string]
	now    time.Time
	barred map[string]bool // replicas without a supporting majority
}

func (s *campaignScript) op(words []string) []string {
	switch words[0] {
	case "enqueue": // enqueue NAME RANK WAIT [COUNT]
		rank, count := 0, 0
		scanInt(s.t, words[2], &rank)
		if len(words) == 5 {
			scanInt(s.t, words[4], &count)
		}
		for _, name := range replicaNames(words[1], count) {
			s.c.Enqueue(s.now, name, rank, s.duration(words[3]))
		}
		return nil
	case "prioritize": // prioritize NAME [COUNT]
		count := 0
		if len(words) == 3 {
			scanInt(s.t, words[2], &count)
		}
		changed := false
		for _, name := range replicaNames(words[1], count) {
			changed = s.c.Prioritize(s.now, name) || changed
		}
		if !changed {
			return []string{"no change"}
		}
		return s.started()
	case "done":
		s.c.Done(words[1])
		return s.started()
	case "electable":
		s.barred[words[1]] = words[2] == "no"
		return nil
	case "pass":
		return s.pass(s.duration(words[1]))
	case "counts":
		queued, running := s.c.Counts()
		return []string{fmt.Sprintf("%d queued, %d campaign, %d of them for nobody", queued, running, s.c.idleNow)}
	}
	s.t.Fatalf("unknown step %q", words)
	return nil
}

// pass ticks until the time has passed, and says what happens when.
func (s *campaignScript) pass(d time.Duration) (out []string) {
	const tick = 50 * time.Millisecond
	for at := tick; at <= d; at += tick {
		s.now = s.now.Add(tick)
		var events []string
		if late := s.c.Tick(s.now); len(late) > 0 {
			slices.Sort(late)
			events = append(events, summary(late)+" too long")
		}
		events = append(events, s.started()...)
		if len(events) > 0 {
			out = append(out, fmt.Sprintf("after %v: %s", at, strings.Join(events, "; ")))
		}
	}
	return out
}

// started starts the campaigns whose turn it is.
func (s *campaignScript) started() []string {
	var all []string
	for {
		name, ok := s.c.Next(s.now, func(name string) bool { return !s.barred[name] })
		if !ok {
			break
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		return nil
	}
	return []string{summary(all) + " campaign"}
}

func (s *campaignScript) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func scanInt(t *testing.T, word string, to *int) {
	if _, err := fmt.Sscan(word, to); err != nil {
		t.Fatalf("%q: %v", word, err)
	}
}

// replicaNames returns a name, or that many numbered ones.
func replicaNames(name string, count int) []string {
	if count == 0 {
		return []string{name}
	}
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("%s%03d", name, i+1)
	}
	return all
}

// summary lists a few names, and counts many.
func summary(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s to %s (%d)", names[0], names[len(names)-1], len(names))
	}
	return strings.Join(names, " ")
}
