package rangefeed

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestScripts runs the stories in testdata. "command" is one applied command, a change per line, at
// a timestamp; "resolve" is what is closed, with the lowest lock if there is one; "take" is a
// request of the reader; "owed" is what a prompt feed has to resolve; "initial" is a state of the engine, a version or lock per line.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		b := &Buffer{}
		var c Commits
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				var key, end string
				d.ScanArgs(t, "span", &key, &end)
				b = &Buffer{Span: kvpb.Span{Key: []byte(key), EndKey: []byte(end)}, From: wall(t, d, "from")}
				return ""
			case "command":
				return command(t, b, &c, d)
			case "resolve":
				b.Resolve(wall(t, d, "closed"), wall(t, d, "locked"))
				return fmt.Sprintf("resolved up to %s", show(b.resolved))
			case "take":
				return take(b)
			case "owed":
				if ts := b.Owed(); !ts.IsEmpty() {
					return fmt.Sprintf("to resolve: %s\n", show(ts))
				}
				return "nothing to resolve\n"
			case "initial":
				return initial(t, d)
			}
			t.Fatalf("unknown step %q", d.Cmd)
			return ""
		})
	})
}

func wall(t *testing.T, d *datadriven.TestData, arg string) (ts hlc.Timestamp) {
	if d.HasArg(arg) {
		d.ScanArgs(t, arg, &ts.WallTime)
	}
	return ts
}

func show(ts hlc.Timestamp) string {
	if ts.Logical != 0 {
		return fmt.Sprintf("just below %d", ts.WallTime+1)
	}
	return strconv.FormatInt(ts.WallTime, 10)
}

// command applies a command, and shows what it commits.
func command(t *testing.T, b *Buffer, c *Commits, d *datadriven.TestData) string {
	kinds := map[string]apply.ChangeKind{
		"put": apply.Wrote, "delete": apply.Deleted, "drop": apply.Dropped, "lock": apply.Locked, "unlock": apply.Unlocked,
	}
	ts := wall(t, d, "ts")
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		change := apply.Change{Kind: kinds[f[0]], Key: []byte(f[1]), TS: ts}
		if len(f) > 2 {
			n, err := strconv.Atoi(f[2])
			if err != nil {
				t.Fatal(err)
			}
			change.Value = make([]byte, n)
		}
		c.Add(change)
	}
	events := c.End(nil)
	var out strings.Builder
	for i := range events {
		fmt.Fprintf(&out, "%s\n", showEvent(&events[i].FeedEvent, events[i].Stored))
	}
	if b.Deliver(events) {
		fmt.Fprintf(&out, "the reader is notified\n")
	}
	if b.Full() {
		fmt.Fprintf(&out, "too much waits: the feed ends\n")
	}
	return out.String()
}

func showEvent(e *kvpb.FeedEvent, stored bool) string {
	out := fmt.Sprintf("%s@%d", e.Key, e.TS.WallTime)
	if e.Deleted {
		out += " deleted"
	}
	if stored {
		out += " from the engine"
	}
	return out
}

func take(b *Buffer) string {
	var resp kvpb.FeedResponse
	if !b.Take(&resp) {
		return "nothing"
	}
	var out strings.Builder
	for i := range resp.Events {
		fmt.Fprintf(&out, "%s\n", showEvent(&resp.Events[i], false))
	}
	if !resp.Resolved.IsEmpty() {
		fmt.Fprintf(&out, "resolved %s\n", show(resp.Resolved))
	}
	return out.String()
}

// initial shows which versions of a state the reader receives.
func initial(t *testing.T, d *datadriven.TestData) string {
	s := Initial{From: wall(t, d, "from")}
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ts := hlc.Timestamp{WallTime: n}
		if f[0] == "lock" {
			s.Lock([]byte(f[1]), ts)
			continue
		}
		fmt.Fprintf(&out, "%s@%d: %v\n", f[1], n, s.Committed([]byte(f[1]), ts))
	}
	return out.String()
}
