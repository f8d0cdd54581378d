package coord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv/coord/writebuffer"
	"github.com/lichendb/lichen/internal/kvpb"
)

// slowSpills takes a second for each request of a spill.
type slowSpills struct {
	kvpb.Sender
	mu      sync.Mutex
	most    int
	under   int
	written map[string]int
	first   []byte // key of the first request that was answered
	fail    error

	unspilled, unspilledUnder int // rollbacks, and the requests of the spill that were under way then
}

func (s *slowSpills) Spill(_ context.Context, req *kvpb.SpillRequest) error {
	s.mu.Lock()
	s.under++
	s.most = max(s.most, s.under)
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	if s.first == nil {
		s.first = bytes.Clone(req.Anchor)
		if s.most > 1 {
			return fmt.Errorf("others did not wait for the range of the record")
		}
	} else if s.fail != nil {
		return s.fail
	}
	for i := range req.Writes {
		s.written[string(req.Writes[i].Key)]++
	}
	return nil
}

// A spill's first request comes before all others, which are sent at the same time; each
// write is sent once, and an error of any is the spill's.
func TestSpillInParallel(t *testing.T) {
	for _, fail := range []error{nil, &kvpb.RetryError{Reason: "no"}} {
		synctest.Test(t, func(t *testing.T) {
			const rows = 640 // of about 225 bytes
			s := &slowSpills{written: map[string]int{}, fail: fail}
			env := NewEnv(s, hlc.NewSystem(0), 1)
			env.SpillBytes = 16 << 10 // a ninth of it all
			txn := New(env)
			txn.Reset(Options{})
			txn.BeginStatement()
			began := time.Now()
			var err error
			for i := range rows {
				if err = txn.Put(fmt.Appendf(nil, "k%04d", i*37%rows), make([]byte, 100)); err != nil {
					break
				}
			}
			if err != fail {
				t.Fatalf("the spill returned %v", err)
			}
			if s.most != spillParallel {
				t.Errorf("%d requests at a time", s.most)
			}
			if fail != nil {
				return
			}
			if err := txn.SpillRest(context.Background()); err != nil {
				t.Fatal(err)
			}
			for k, n := range s.written {
				if n != 1 {
					t.Errorf("%s was sent %d times", k, n)
				}
			}
			if len(s.written) != rows {
				t.Errorf("%d rows were sent", len(s.written))
			}
			t.Logf("%v, %d at a time", time.Since(began), s.most)
		})
	}
}

// tornSpills stores the first request of a spill and fails others.
type tornSpills struct {
	kvpb.Sender
	stored  int
	undone  []uint64 // from which positions
	refused error
}

func (s *tornSpills) Spill(_ context.Context, req *kvpb.SpillRequest) error {
	if s.stored > 0 {
		return s.refused
	}
	s.stored = len(req.Writes)
	return nil
}

func (s *tornSpills) Unspill(_ context.Context, req *kvpb.UnspillRequest) error {
	s.undone = append(s.undone, req.From)
	return nil
}

func (s *tornSpills) Refresh(context.Context, *kvpb.RefreshRequest) error { return nil }

// A spill that failed half-way is undone by a rollback to a savepoint, though the buffer still has
// all of its writes. The transaction ends if the buffer has writes from before the savepoint too:
// nobody knows which of those are stored.
func TestTornSpill(t *testing.T) {
	for _, before := range []int{0, 1} {
		s := &tornSpills{refused: errors.New("no room")}
		env := NewEnv(s, hlc.NewSystem(0), 1)
		env.SpillBytes = 16 << 10
		txn := New(env)
		txn.Reset(Options{})
		txn.BeginStatement()
		for i := range before {
			if err := txn.Put(fmt.Appendf(nil, "a%d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		sp := txn.Savepoint()
		txn.BeginStatement()
		var err error
		for i := 0; err == nil && i < 1000; i++ {
			err = txn.Put(fmt.Appendf(nil, "k%04d", i), make([]byte, 100))
		}
		if !errors.Is(err, s.refused) || s.stored == 0 {
			t.Fatalf("%d writes were stored: %v", s.stored, err)
		}
		err = txn.RollbackTo(t.Context(), sp)
		if before == 0 && (err != nil || len(s.undone) != 1 || s.undone[0] != 0) {
			t.Errorf("undone from %v: %v", s.undone, err)
		}
		if before > 0 && kvpb.Classify(err) != kvpb.ClassRetry {
			t.Errorf("with writes from before: %v", err)
		}
	}
}

// A spill ends the row locks of what it has stored, in whatever order they were taken, and no others.
func TestDropSpilledLocks(t *testing.T) {
	const keys = 300
	var buf writebuffer.Buffer
	for i := 0; i < keys; i += 3 {
		buf.Put(fmt.Appendf(nil, "k%03d", i), nil, i%2 == 0, int32(i))
	}
	orders := map[string]func(i int) int{
		"ascending":  func(i int) int { return i },
		"descending": func(i int) int { return keys - 1 - i },
		"mixed":      func(i int) int { return i * 7 % keys },
		"twice":      func(i int) int { return i / 2 * 3 % keys },
	}
	for name, order := range orders {
		var txn Txn
		var want []string
		for i := range keys {
			key := fmt.Sprintf("k%03d", order(i))
			txn.locks = append(txn.locks, lockedKey{key: []byte(key)})
			if order(i)%3 != 0 {
				want = append(want, key)
			}
		}
		txn.dropSpilledLocks(&buf)
		var got []string
		for _, l := range txn.locks {
			got = append(got, string(l.key))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are left, want %v", name, got, want)
		}
	}
}
