package replica

import (
	"context"
	"crypto/sha256"
	"hash"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
)

const (
	// maxChecks bounds the checksums that a replica computes or retains.
	maxChecks = 8
	// checkChunk is the number of bytes hashed at a time, checkRate the limit per second, which leaves
	// the disk and the CPU to requests.
	checkChunk = 256 << 10
	checkRate  = 64 << 20
)

// Checksum is a hash of a range's replicated state at one index of its log: data, locks, transaction
// records, descriptor and collection threshold. All replicas must agree on it.
type Checksum struct {
	Index, Term uint64
	Sum         [sha256.Size]byte
	Keys, Bytes int64 // versions and their size
}

// checks are the most recently requested checksums. The command that requests a checksum may be applied
// before or after the call that waits for the result.
type checks struct {
	mu     sync.Mutex
	byID   map[apply.CheckID]*check
	order  []apply.CheckID // oldest first
	quit   chan struct{}   // closed by stop; nil until a check begins
	closed bool
	wg     sync.WaitGroup
}

type check struct {
	begun bool // guarded by checks.mu
	done  chan struct{}
	sum   Checksum
	err   error
}

func (cs *checks) of(id apply.CheckID) *check {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.ofLocked(id)
}

func (cs *checks) ofLocked(id apply.CheckID) *check {
	if c := cs.byID[id]; c != nil {
		return c
	}
	if cs.byID == nil {
		cs.byID = map[apply.CheckID]*check{}
	}
	if len(cs.order) == maxChecks {
		delete(cs.byID, cs.order[0])
		cs.order = append(cs.order[:0], cs.order[1:]...)
	}
	c := &check{done: make(chan struct{})}
	cs.byID[id] = c
	cs.order = append(cs.order, id)
	return c
}

// begin returns the check to compute for a command that was applied, nil if there is nothing to do.
func (cs *checks) begin(id apply.CheckID) (c *check, quit <-chan struct{}) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return nil, nil
	}
	if c = cs.ofLocked(id); c.begun {
		return nil, nil
	}
	if cs.quit == nil {
		cs.quit = make(chan struct{})
	}
	c.begun = true
	cs.wg.Add(1)
	return c, cs.quit
}

// stop ends the checks under way: they hold iterators.
func (cs *checks) stop() {
	cs.mu.Lock()
	if !cs.closed && cs.quit != nil {
		close(cs.quit)
	}
	cs.closed = true
	cs.mu.Unlock()
	cs.wg.Wait()
}

// AskChecksums makes all replicas of the range compute a checksum at the same index. This replica must
// lead. Each replica retains the result for its Checksum.
func (r *Replica) AskChecksums(ctx context.Context, id apply.CheckID) error {
	fence, err := r.admitWrite(ctx)
	if err != nil {
		return err
	}
	var b apply.Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.Check(id)
	return r.group.Propose(fence, b.Bytes())
}

// Checksum waits for the checksum that AskChecksums requested under an id.
func (r *Replica) Checksum(ctx context.Context, id apply.CheckID) (Checksum, error) {
	c := r.checks.of(id)
	select {
	case <-c.done:
		return c.sum, c.err
	case <-ctx.Done():
		return Checksum{}, ctx.Err()
	}
}

// beginCheck opens iterators on the present state, after the entry that requests the checksum, and
// computes the checksum in the background. It does nothing while the replica starts: no caller waits
// for a request from before the restart.
func (g *group) beginCheck(id apply.CheckID) {
	if g.Starting() {
		return
	}
	r := g.r
	c, quit := r.checks.begin(id)
	if c == nil {
		return
	}
	c.sum.Index, c.sum.Term = g.applier.State().Index, g.applier.State().Term
	s := summing{sum: &c.sum, h: sha256.New(), eng: r.deps.Engine, quit: quit}
	c.err = s.open(r)
	go func() {
		defer r.checks.wg.Done()
		defer close(c.done)
		defer s.close()
		defer must.Report(r.deps.OnFatal)
		if c.err == nil {
			c.err = s.run(r.deps.CheckSlots)
		}
	}()
}

// summing is the computation of one checksum.
type summing struct {
	sum   *Checksum
	h     hash.Hash
	eng   *storage.Engine
	iters []*storage.Iterator
	quit  <-chan struct{}
	buf   []byte
}

func (s *summing) open(r *Replica) error {
	// The range's replicated metadata.
	for _, key := range [][]byte{keys.RangeDescriptor(uint64(r.id)), keys.RangeGCThreshold(uint64(r.id))} {
		v, _, err := s.eng.GetUnversioned(key, nil)
		if err != nil {
			return err
		}
		s.add(key, v)
	}
	for _, sp := range snapshot.DataSpans(r.Desc()) {
		it, err := s.eng.NewIter(storage.IterOptions{Lower: sp.Start, Upper: sp.End})
		if err != nil {
			return err
		}
		s.iters = append(s.iters, it)
	}
	return nil
}

func (s *summing) close() {
	for _, it := range s.iters {
		_ = it.Close()
	}
}

func (s *summing) add(key, value []byte) {
	s.buf = encoding.AppendLenBytes(s.buf, key)
	s.buf = encoding.AppendLenBytes(s.buf, value)
}

func (s *summing) run(slots chan struct{}) error {
	if slots != nil {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-s.quit:
			return errStopped
		}
	}
	for _, it := range s.iters {
		for ok := it.First(); ok; ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				return s.eng.ReadError(err)
			}
			s.add(it.Key(), v)
			s.sum.Keys++
			s.sum.Bytes += int64(len(it.Key()) + len(v))
			if len(s.buf) >= checkChunk {
				if err := s.flush(); err != nil {
					return err
				}
			}
		}
		if err := it.Error(); err != nil {
			return s.eng.ReadError(err)
		}
	}
	s.h.Write(s.buf)
	s.h.Sum(s.sum.Sum[:0])
	return nil
}

// flush hashes a chunk and waits to keep to checkRate.
func (s *summing) flush() error {
	n := len(s.buf)
	s.h.Write(s.buf)
	s.buf = s.buf[:0]
	wait := time.NewTimer(time.Duration(n) * time.Second / checkRate)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-s.quit:
		return errStopped
	}
}
