package raftgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestQueue runs testdata/queue. Each line of a "run" block is an event at the queue of a group. The output repeats it
// with its result and the notified proposers. Proposals have names. "next" is a call of the processing goroutine.
func TestQueue(t *testing.T) {
	datadriven.RunTest(t, "testdata/queue", func(t *testing.T, d *datadriven.TestData) string {
		var out string
		synctest.Test(t, func(t *testing.T) { out = newQueueScript().run(t, d.Input) })
		return out
	})
}

type queueScript struct {
	q         *Queue
	byName    map[string]*Proposal
	names     []string
	processes string // who does, "" for nobody
	workers   bool
	leave     bool // the leadership of the own proposal was resigned
	seen      uint64
}

func newQueueScript() *queueScript {
	s := &queueScript{byName: map[string]*Proposal{}}
	s.q = NewQueue(true, func() {
		if s.q.Drain() {
			s.enter("worker")
		}
	})
	return s
}

func (s *queueScript) run(t *testing.T, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		result := append([]string{s.op(t, strings.Fields(line))}, s.woken()...)
		result = slices.DeleteFunc(result, func(s string) bool { return s == "" })
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(line+": "+strings.Join(result, "; "), ": "))
	}
	return out.String()
}

func (s *queueScript) op(t *testing.T, f []string) string {
	switch f[0] {
	case "workers-only":
		s.workers = true
		return ""
	case "resign":
		s.leave = true
		return ""
	case "propose":
		return s.propose(f[1])
	case "look": // whether somebody waits for what is about to be deferred
		s.seen = s.q.Flushes()
		return "nobody waits"
	case "defer":
		p := s.add(f[1])
		if !s.q.Defer(p, s.seen) {
			return "not deferred: " + s.propose(f[1])
		}
		return "deferred"
	case "flush":
		return s.work(s.q.Flush())
	case "deliver":
		work, ok := s.q.Deliver(Input{Do: func() {}})
		if !ok {
			return "refused"
		}
		return s.work(work)
	case "next":
		return s.next()
	case "finish":
		var err error
		if len(f) > 2 {
			err = errors.New(f[2])
		}
		s.q.Finish(s.byName[f[1]], err)
		return ""
	case "withdraw":
		if s.q.Withdraw(s.byName[f[1]]) {
			return "withdrawn"
		}
		return "too late"
	case "stop":
		s.q.Stop(errors.New("stopped"))
		return ""
	case "wait":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			t.Fatal(err)
		}
		before := s.processes
		<-time.After(d)
		synctest.Wait()
		return s.work(s.processes != before)
	}
	t.Fatalf("unknown event %q", f[0])
	return ""
}

func (s *queueScript) add(name string) *Proposal {
	if s.byName[name] == nil {
		s.byName[name] = s.q.Get(Fence{}, []byte(name))
		s.names = append(s.names, name)
	}
	return s.byName[name]
}

func (s *queueScript) propose(name string) string {
	process, err := s.q.Propose(s.add(name))
	switch {
	case err != nil:
		return err.Error()
	case process:
		s.enter(name)
		return name + " processes the group"
	}
	return name + " waits"
}

func (s *queueScript) work(work bool) string {
	if !work {
		return ""
	}
	s.enter("worker")
	return "a worker processes the group"
}

func (s *queueScript) enter(who string) {
	s.processes = who
	s.q.Enter(s.byName[who])
}

func (s *queueScript) next() string {
	who := s.processes
	step, _ := s.q.Next(s.workers, s.leave)
	switch step {
	case Rest:
		s.processes = ""
		return "nobody processes the group"
	case HandedOver:
		return who + " hands over"
	case HandToWorker:
		s.leave = false
		s.enter("worker")
		return who + " leaves, a worker processes the group"
	}
	var batch []string
	for _, p := range s.q.Batch() {
		batch = append(batch, string(p.Command))
	}
	return fmt.Sprintf("%s takes %d inputs and %v", who, len(s.q.Inputs()), batch)
}

// woken returns the notified proposers, and makes one that was handed the role the processing goroutine.
func (s *queueScript) woken() (out []string) {
	for _, n := range s.names {
		p := s.byName[n]
		select {
		case w := <-p.Woken():
			if w == Process {
				s.enter(n)
				out = append(out, n+" processes the group")
			} else if p.Err() != nil {
				out = append(out, fmt.Sprintf("%s: %v", n, p.Err()))
			} else {
				out = append(out, n+": done")
			}
		default:
		}
	}
	return out
}
