package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/scripttest"
)

// TestDiskHealth runs the stories of testdata/diskhealth. A step begins an operation of some duration, says
// whether the disks of other stores answer, stops the process for a time, or lets time pass with a check every
// diskEvery; its result are the verdicts that differ from the one before.
func TestDiskHealth(t *testing.T) {
	scripttest.Walk(t, "testdata/diskhealth", func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
		s := &healthScript{t: t, now: time.Unix(1000, 0), others: true}
		s.check()
		return s.op
	})
}

type healthScript struct {
	t      *testing.T
	h      diskHealth
	now    time.Time
	others bool      // the disks of other stores answer
	begun  time.Time // of the operation
	ends   time.Time // zero: no operation runs
	late   bool
}

func (s *healthScript) op(words []string) []string {
	switch words[0] {
	case "operation":
		s.begun, s.ends = s.now, s.now.Add(s.duration(words[1]))
	case "others":
		s.others = words[1] == "answer"
	case "pause":
		s.now = s.now.Add(s.duration(words[1]))
		return s.result(0)
	case "pass":
		var out []string
		for at := diskEvery; at <= s.duration(words[1]); at += diskEvery {
			s.now = s.now.Add(diskEvery)
			out = append(out, s.result(at)...)
		}
		return out
	default:
		s.t.Fatalf("unknown step %q", words)
	}
	return nil
}

// result checks the disk and returns what has changed.
func (s *healthScript) result(after time.Duration) []string {
	v := s.check()
	var out []string
	add := func(on bool, what string) {
		if on {
			out = append(out, what)
		}
	}
	add(v.paused, "the process stood still")
	add(v.late && !s.late, "late")
	add(!v.late && s.late, "late no more")
	add(v.stalls, "stalled")
	add(v.resign, fmt.Sprintf("resign %d", v.attempt))
	add(v.recovers, "healthy")
	s.late = v.late
	if len(out) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("after %v: %s", after, strings.Join(out, ", "))}
}

func (s *healthScript) check() diskVerdict {
	var took time.Duration
	switch {
	case s.ends.IsZero():
	case s.now.Before(s.ends):
		took = s.now.Sub(s.begun)
	default: // it has ended since the last check
		took, s.ends = s.ends.Sub(s.begun), time.Time{}
	}
	return s.h.judge(s.now, took, func() bool { return s.others })
}

func (s *healthScript) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}
