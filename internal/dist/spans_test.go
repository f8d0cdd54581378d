package dist

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

func spansOf(pairs ...string) []kvpb.Span {
	var out []kvpb.Span
	for _, p := range pairs {
		s := kvpb.Span{Key: []byte(p[:1])}
		if len(p) > 1 {
			s.EndKey = []byte(p[1:])
		}
		out = append(out, s)
	}
	return out
}

func TestRefreshOverRanges(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		ctx := context.Background()
		if err := d.Refresh(ctx, &kvpb.RefreshRequest{Spans: spansOf("b", "cd")}); err != nil {
			t.Fatal(err)
		}
		w.expect("n1 r1 refresh b- c-d")
		spans := spansOf("x", "b", "gq", "c")
		if err := d.Refresh(ctx, &kvpb.RefreshRequest{Spans: spans}); err != nil {
			t.Fatal(err)
		}
		got := w.took()
		slices.Sort(got)
		want := []string{"n1 r1 refresh b- g-h c-", "n1 r2 refresh h-p", "n1 r3 refresh x- p-q"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if string(spans[2].Key) != "g" {
			t.Error("the caller's spans were changed")
		}
		w.split("n") // unknown to the router
		if err := d.Refresh(ctx, &kvpb.RefreshRequest{Spans: spansOf("gq")}); err != nil {
			t.Fatal(err)
		}
		got = w.took()
		slices.Sort(got)
		want = []string{"n1 r1 refresh g-h", "n1 r2 refresh h-n", "n1 r3 refresh p-q", "n1 r4 refresh n-p"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		changed := &kvpb.RetryError{Reason: "changed"}
		w.fail = func(_ string, _ kvpb.NodeID, id kvpb.RangeID) error {
			if id == 3 {
				return changed
			}
			return nil
		}
		if err := d.Refresh(ctx, &kvpb.RefreshRequest{Spans: spansOf("b", "i", "q")}); !errors.Is(err, changed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReleaseOverRanges(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		w.fail = func(_ string, _ kvpb.NodeID, id kvpb.RangeID) error {
			if id == 2 {
				return errors.New("broken")
			}
			return nil
		}
		keys := [][]byte{[]byte("i"), []byte("q"), []byte("b"), []byte("r")}
		if err := d.Release(context.Background(), &kvpb.ReleaseRequest{Locks: keys}); err == nil {
			t.Error("no error")
		}
		got := w.took() // the others were released all the same
		slices.Sort(got)
		if want := []string{"n1 r1 release b-", "n1 r3 release q- r-"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Invariant D4.
func TestCommitSaysWhereReadsAre(t *testing.T) {
	withRanges(t, func(w *scriptedRanges, d *Router) {
		req := &kvpb.CommitRequest{
			Txn: &kvpb.TxnMeta{}, Writes: []kvpb.Write{{Key: []byte("b")}}, Reads: spansOf("c", "dh"),
		}
		if err := d.Commit(context.Background(), req, &kvpb.CommitResponse{}); err != nil || !req.AllReadsHere {
			t.Errorf("AllReadsHere is %t: %v", req.AllReadsHere, err)
		}
		req.Reads = spansOf("c", "di")
		_ = d.Commit(context.Background(), req, &kvpb.CommitResponse{})
		if req.AllReadsHere {
			t.Error("AllReadsHere with a read in two ranges")
		}
	})
}

// While lookups find no range for a key, as around a split, requests of several ranges wait as those of one do, and a query
// is not divided.
func TestNoRangeForAMoment(t *testing.T) {
	for name, send := range map[string]func(*Router) error{
		"refresh": func(d *Router) error {
			return d.Refresh(context.Background(), &kvpb.RefreshRequest{Txn: &kvpb.TxnMeta{}, Spans: spansOf("b", "i")})
		},
		"the parts of a commit": func(d *Router) error { _, err := d.rangeOf(context.Background(), []byte("b")); return err },
		"release": func(d *Router) error {
			return d.Release(context.Background(), &kvpb.ReleaseRequest{Txn: &kvpb.TxnMeta{}, Locks: [][]byte{[]byte("b"), []byte("i")}})
		},
	} {
		withRanges(t, func(w *scriptedRanges, d *Router) {
			all := w.meta
			w.meta = nil
			time.AfterFunc(100*time.Millisecond, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.meta = all
			})
			if parts, err := d.Divide(context.Background(), &kvpb.TxnMeta{}, spansOf("bi")); parts != nil || err != nil {
				t.Errorf("%v, %v", parts, err)
			}
			if err := send(d); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
