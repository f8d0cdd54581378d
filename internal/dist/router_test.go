package dist_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/sendertest"
)

// scriptedRange is a range whose replica does what the test says.
type scriptedRange struct {
	desc   kvpb.RangeDescriptor
	answer sendertest.Script
}

// ranges is a Locator.
type ranges []scriptedRange

func (rs ranges) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	for i := range rs {
		if rs[i].desc.ContainsKey(key) {
			return rs[i].answer, &rs[i].desc, nil
		}
	}
	return nil, nil, &kvpb.UnavailableError{Reason: "no range"}
}

// three returns three ranges that record the requests and answer without data.
func three(log *[]string) (rs ranges) {
	for _, b := range []string{"ah", "hp", "pz"} {
		d := kvpb.RangeDescriptor{StartKey: []byte(b[:1]), EndKey: []byte(b[1:])}
		note := func(what string, start, end []byte) {
			if !d.ContainsKey(start) || len(end) > 0 && bytes.Compare(end, d.EndKey) > 0 {
				what = "OUTSIDE " + what
			}
			*log = append(*log, what+" "+string(start)+"-"+string(end))
		}
		rs = append(rs, scriptedRange{d, func(_ context.Context, req, _ any) error {
			switch req := req.(type) {
			case *kvpb.ScanRequest:
				note("scan", req.Start, req.End)
			case *kvpb.RefreshRequest:
				for _, sp := range req.Spans {
					note("refresh", sp.Key, sp.EndKey)
				}
			case *kvpb.CommitRequest:
				note("commit", req.Writes[0].Key, nil)
			}
			return nil
		}})
	}
	return rs
}

func scanAll(t *testing.T, d *dist.Router, start, end string, reverse bool) {
	t.Helper()
	lo, hi := []byte(start), []byte(end)
	for range 10 {
		var resp kvpb.ScanResponse
		if err := d.Scan(context.Background(), &kvpb.ScanRequest{Start: lo, End: hi, Reverse: reverse}, &resp); err != nil {
			t.Fatal(err)
		}
		if resp.Resume == nil {
			return
		}
		if reverse {
			hi = resp.Resume
		} else {
			lo = resp.Resume
		}
	}
	t.Fatal("the scan does not end")
}

// Requests are cut at range boundaries (invariant D1).
func TestSplitAtBoundaries(t *testing.T) {
	var log []string
	d := dist.New(three(&log), nil)
	scanAll(t, d, "c", "t", false)
	scanAll(t, d, "c", "t", true)
	req := kvpb.RefreshRequest{Spans: []kvpb.Span{{Key: []byte("b")}, {Key: []byte("g"), EndKey: []byte("q")}, {Key: []byte("x")}}}
	if err := d.Refresh(context.Background(), &req); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"scan c-h", "scan h-p", "scan p-t", "scan p-t", "scan h-p", "scan c-h",
		"refresh b-", "refresh g-h", "refresh h-p", "refresh p-q", "refresh x-",
	}
	for i := range max(len(want), len(log)) {
		if i >= len(log) || i >= len(want) || log[i] != want[i] {
			t.Fatalf("got  %q\nwant %q", log, want)
		}
	}
}
