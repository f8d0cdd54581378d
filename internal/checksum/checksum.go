package checksum

import (
	"context"
	"crypto/sha256"
	"hash"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
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

// Checks are the most recently requested checksums of a replica. The command that requests a checksum may
// be applied before or after the call that waits for the result. The zero value is ready for use.
type Checks struct {
	mu     sync.Mutex
	byID   map[apply.CheckID]*Check
	order  []apply.CheckID // oldest first
	quit   chan struct{}   // closed by Stop; nil until a check begins
	closed bool
	wg     sync.WaitGroup
}

// Check is one checksum.
type Check struct {
	of    *Checks
	begun bool // guarded by Checks.mu
	quit  <-chan struct{}
	done  chan struct{}
	sum   Checksum
	err   error
}

// Wait returns the checksum of an id, once it was requested and computed.
func (cs *Checks) Wait(ctx context.Context, id apply.CheckID) (Checksum, error) {
	cs.mu.Lock()
	c := cs.ofLocked(id)
	cs.mu.Unlock()
	select {
	case <-c.done:
		return c.sum, c.err
	case <-ctx.Done():
		return Checksum{}, ctx.Err()
	}
}

func (cs *Checks) ofLocked(id apply.CheckID) *Check {
	if c := cs.byID[id]; c != nil {
		return c
	}
	if cs.byID == nil {
		cs.byID = map[apply.CheckID]*Check{}
	}
	if len(cs.order) == maxChecks {
		delete(cs.byID, cs.order[0])
		cs.order = append(cs.order[:0], cs.order[1:]...)
	}
	c := &Check{of: cs, done: make(chan struct{})}
	cs.byID[id] = c
	cs.order = append(cs.order, id)
	return c
}

// Begin returns the check to compute for a command that was applied, nil if there is nothing to do.
func (cs *Checks) Begin(id apply.CheckID) *Check {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return nil
	}
	c := cs.ofLocked(id)
	if c.begun {
		return nil
	}
	if cs.quit == nil {
		cs.quit = make(chan struct{})
	}
	c.begun, c.quit = true, cs.quit
	cs.wg.Add(1)
	return c
}

// Stop ends the checks under way: they hold iterators.
func (cs *Checks) Stop() {
	cs.mu.Lock()
	if !cs.closed && cs.quit != nil {
		close(cs.quit)
	}
	cs.closed = true
	cs.mu.Unlock()
	cs.wg.Wait()
}

// State is what a checksum covers: the range's state at an index of its log.
type State struct {
	Engine      *storage.Engine
	Index, Term uint64
	Keys        [][]byte // unversioned ones of its metadata
	Spans       []keys.Span
}

// Compute opens iterators on the present state and computes the checksum in the background. slots, if
// not nil, bounds the checksums that a store computes at a time. fatal is called with a panic.
func (c *Check) Compute(st State, slots chan struct{}, fatal func(error)) {
	c.sum.Index, c.sum.Term = st.Index, st.Term
	s := summing{sum: &c.sum, h: sha256.New(), eng: st.Engine, quit: c.quit}
	c.err = s.open(st)
	go func() {
		defer c.of.wg.Done()
		defer close(c.done)
		defer s.close()
		defer must.Report(fatal)
		if c.err == nil {
			c.err = s.run(slots)
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

func (s *summing) open(st State) error {
	for _, key := range st.Keys {
		v, _, err := s.eng.GetUnversioned(key, nil)
		if err != nil {
			return err
		}
		s.add(key, v)
	}
	for _, sp := range st.Spans {
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
			return kvpb.ErrStopping
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
		return kvpb.ErrStopping
	}
}
