package dist_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
)

// scripted is a range that notes what it is asked and answers with nothing.
type scripted struct {
	kvpb.Sender
	desc kvpb.RangeDescriptor
	log  *[]string
}

func (s *scripted) note(what string, start, end []byte) {
	if !s.desc.ContainsKey(start) || len(end) > 0 && bytes.Compare(end, s.desc.EndKey) > 0 {
		what = "OUTSIDE " + what
	}
	*s.log = append(*s.log, what+" "+string(start)+"-"+string(end))
}

func (s *scripted) Scan(_ context.Context, req *kvpb.ScanRequest, resp *kvpb.ScanResponse) error {
	s.note("scan", req.Start, req.End)
	return nil
}

func (s *scripted) Refresh(_ context.Context, req *kvpb.RefreshRequest) error {
	for _, sp := range req.Spans {
		s.note("refresh", sp.Key, sp.EndKey)
	}
	return nil
}

func (s *scripted) Commit(_ context.Context, req *kvpb.CommitRequest, _ *kvpb.CommitResponse) error {
	s.note("commit", req.Writes[0].Key, nil)
	return nil
}

type ranges []*scripted

func (rs ranges) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	for _, r := range rs {
		if r.desc.ContainsKey(key) {
			return r, &r.desc, nil
		}
	}
	return nil, nil, &kvpb.UnavailableError{Reason: "no range"}
}

func three(log *[]string) ranges {
	var rs ranges
	for _, b := range []string{"ah", "hp", "pz"} {
		rs = append(rs, &scripted{desc: kvpb.RangeDescriptor{StartKey: []byte(b[:1]), EndKey: []byte(b[1:])}, log: log})
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
