package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// fedBank is a bank whose changes are read as a feed meanwhile.
type fedBank struct {
	bank
	f *fed
}

// fed is what a feed has delivered.
type fed struct {
	c      *cluster
	prompt bool
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	versions map[check.Version]int // how often
	resolved hlc.Timestamp
	begun    int
	wrong    error
}

func (b fedBank) prepare(c *cluster) {
	b.f.c, c.lag = c, pastLag
	b.f.versions = map[check.Version]int{}
}

// begin reads the feed on one node after another, as each goes on or dies.
func (b fedBank) begin() {
	f := b.f
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.done.Go(func() {
		rng := rand.New(rand.NewPCG(1, 2))
		for ctx.Err() == nil {
			if inc := f.c.nodes[rng.IntN(len(f.c.nodes))].current(); inc != nil && inc.use() {
				f.read(ctx, inc, b.keys().Start, b.keys().End)
				inc.running.Done()
			}
			<-time.After(100 * time.Millisecond)
		}
	})
}

// read reads the feed in one incarnation of a node, for some time.
func (f *fed) read(ctx context.Context, inc *incarnation, start, end []byte) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	defer context.AfterFunc(inc.ended, cancel)()
	f.mu.Lock()
	from := f.resolved
	f.begun++
	f.mu.Unlock()
	resolved := from // in this reading
	read := inc.db.Feed
	if f.prompt {
		read = inc.db.PromptFeed
	}
	_ = read(ctx, start, end, from, func(events []kv.FeedEvent, upTo hlc.Timestamp) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range events {
			v := check.Version{Access: check.Access{Key: string(e.Key), Value: string(e.Value), Absent: e.Deleted}, TS: stamp(e.TS)}
			if f.versions[v] == 0 && e.TS.LessEq(resolved) {
				f.wrong = errors.Join(f.wrong, fmt.Errorf("%v at %v comes after everything up to %v was said to be there", v.Access, v.TS, resolved))
			}
			f.versions[v]++
		}
		if !upTo.IsEmpty() && !resolved.Less(upTo) {
			f.wrong = errors.Join(f.wrong, fmt.Errorf("resolved falls from %v to %v", resolved, upTo))
		}
		resolved = resolved.Max(upTo)
		f.resolved = f.resolved.Max(upTo)
		return nil
	})
}

// ended is called when the history has ended: the feed must come to its end.
func (b fedBank) ended() {
	f := b.f
	last := f.c.nodes[0].current().hlc.Now()
	for range 600 {
		f.mu.Lock()
		there := last.Less(f.resolved)
		f.mu.Unlock()
		if there {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	f.stop()
	f.done.Wait()
	if !last.Less(f.resolved) {
		f.wrong = errors.Join(f.wrong, fmt.Errorf("the feed is resolved up to %v only, %v is over", f.resolved, last))
	}
}

// compare finds the versions that the store has and the feed lacks, or the other way round.
func (f *fed) compare(stored []check.Version) error {
	want := map[check.Version]bool{}
	for _, v := range stored {
		want[v] = true
		if f.versions[v] == 0 {
			return fmt.Errorf("the feed lacks %v at %v", v.Access, v.TS)
		}
	}
	for v := range maps.Keys(f.versions) {
		if !want[v] {
			return fmt.Errorf("the feed has %v at %v, which nobody committed", v.Access, v.TS)
		}
	}
	return f.wrong
}

// TestFeed reads the feed of a bank: every committed version is in it, nothing else, and
// what is said to be resolved is.
func TestFeed(t *testing.T) {
	all, length := seeds(t, 2, 6)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runFeed(t, seed, length, false) })
	}
}

// TestPromptFeed is TestFeed for one that the leaders resolve as they commit.
func TestPromptFeed(t *testing.T) {
	all, length := seeds(t, 2, 6)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runFeed(t, seed, length, true) })
	}
}

func runFeed(t *testing.T, seed uint64, length time.Duration, prompt bool) {
	b := fedBank{bank{accounts: 12}, &fed{prompt: prompt}}
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: everything(), cuts: []string{account(4), account(8)}, points: b.points(),
	}, b)
	again := 0
	for n := range maps.Values(b.f.versions) {
		again += n - 1
	}
	t.Logf("%d versions in the feed, %d of them again; it was begun %d times", len(b.f.versions), again, b.f.begun)
}
