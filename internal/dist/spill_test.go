package dist_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A rollback to a savepoint visits all ranges at the same time, and then the one with the transaction's record.
func TestUnspillInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var all ranges
		done := map[string]time.Duration{}
		began := time.Now()
		// Each range takes a second to undo what a transaction has spilled.
		unspill := func(_ context.Context, req, _ any) error {
			span := req.(*kvpb.UnspillRequest).Span
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			done[string(span.Key)+"-"+string(span.EndKey)] = time.Since(began)
			return nil
		}
		var id kvpb.RangeID
		for _, b := range []string{"ac", "cf", "fh", "hp", "pz"} {
			id++
			all = append(all, scriptedRange{kvpb.RangeDescriptor{RangeID: id, StartKey: []byte(b[:1]), EndKey: []byte(b[1:])}, unspill})
		}
		d := dist.New(all, nil)
		defer d.Close()
		req := &kvpb.UnspillRequest{Txn: &kvpb.TxnMeta{}, Anchor: []byte("g"), Span: kvpb.Span{Key: []byte("b"), EndKey: []byte("q")}}
		if err := d.Unspill(context.Background(), req); err != nil {
			t.Fatal(err)
		}
		for span, want := range map[string]time.Duration{
			"b-c": time.Second, "c-f": time.Second, "h-p": time.Second, "p-q": time.Second, "f-h": 2 * time.Second,
		} {
			if done[span] != want {
				t.Errorf("%s was undone after %v, want %v", span, done[span], want)
			}
		}
	})
}
