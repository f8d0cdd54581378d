package dist_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/kvpb"
)

// spiller is a range that takes a second to undo what a transaction has spilled.
type spiller struct {
	scripted
	mu   *sync.Mutex
	done map[string]time.Duration
	from time.Time
}

func (s *spiller) Unspill(_ context.Context, req *kvpb.UnspillRequest) error {
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[string(req.Span.Key)+"-"+string(req.Span.EndKey)] = time.Since(s.from)
	return nil
}

type spillers []*spiller

func (all spillers) Lookup(key []byte) (kvpb.Sender, *kvpb.RangeDescriptor, error) {
	i := slices.IndexFunc(all, func(s *spiller) bool { return s.desc.ContainsKey(key) })
	return all[i], &all[i].desc, nil
}

// A rollback to a savepoint is undone in all ranges at the same time, and last in the one with the
// transaction's record.
func TestUnspillInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var all spillers
		done := map[string]time.Duration{}
		var id kvpb.RangeID
		for _, b := range []string{"ac", "cf", "fh", "hp", "pz"} {
			id++
			s := &spiller{mu: &mu, done: done, from: time.Now()}
			s.desc = kvpb.RangeDescriptor{RangeID: id, StartKey: []byte(b[:1]), EndKey: []byte(b[1:])}
			all = append(all, s)
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
