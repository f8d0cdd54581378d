package replica

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// MaxSettlers bounds the clean-ups of a store that go beyond one command: others wait
	// their turn, unless somebody meets what they remove.
	MaxSettlers = 1
	// A clean-up rests after each command for settleRests times as long as that took, within
	// these bounds: the range's leader and its followers have others to serve.
	settleRests   = 8
	settleRestMin = 10 * time.Millisecond
	settleRestMax = 2 * time.Second
)

// settler is one clean-up on its way: command by command, with no iterator open in between.
type settler struct {
	chunks
	listed [][]byte  // staged keys that are left; nil if they are not listed
	rest   kvpb.Span // else: where what is left lies
	exact  bool      // the locks of listed keys need not be read
	slot   bool      // it has one of the store's
	began  time.Time
	steps  int
}

// fill makes a command: first of the keys that somebody has met, then of the next ones, unless
// this is a long clean-up, in which those who wait come before all others. over says that
// nothing is left behind it.
func (s *settler) fill(ctx context.Context, met [][]byte) (over bool, err error) {
	if _, err := s.these(met, nil); err != nil || len(met) > 0 && s.slot {
		return false, err
	}
	if s.listed != nil {
		n, err := s.these(s.listed, met)
		s.listed = s.listed[n:]
		return len(s.listed) == 0, err
	}
	err = s.r.eachLock(ctx, s.p.id, s.rest, func(key []byte, rec lockRecord) error {
		switch {
		case s.full():
			s.rest.Key = bytes.Clone(key)
			return errPageFull
		case among(met, key):
			return nil
		}
		return s.one(key, rec)
	})
	if err == errPageFull {
		return false, nil
	}
	return err == nil, err
}

func among(sorted [][]byte, key []byte) bool {
	_, ok := slices.BinarySearchFunc(sorted, key, bytes.Compare)
	return ok
}

// these adds listed keys, but for those in the command already, until it is full; n is how
// many it has looked at.
func (s *settler) these(listed, already [][]byte) (n int, err error) {
	d := s.r.Desc()
	for _, key := range listed {
		if s.full() {
			break
		}
		n++
		if !d.ContainsKey(key) || among(already, key) {
			continue
		}
		rec, ok, err := s.lock(key)
		if err == nil && ok && rec.txn == s.p.id {
			err = s.one(key, rec)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// lock returns the durable lock of a listed key.
func (s *settler) lock(key []byte) (rec lockRecord, ok bool, err error) {
	if s.exact {
		return lockRecord{txn: s.p.id, ts: s.p.ts}, true, nil
	}
	return s.r.lockOf(key)
}

func (s *settler) one(key []byte, rec lockRecord) error {
	if err := s.r.settleKey(&s.chunks, key, rec); err != nil {
		return err
	}
	s.b.DeleteRaw(keys.Lock(key))
	s.n++
	return nil
}

// pace lets others go ahead after a command that took so long, as long as nobody waits for
// what is left. After the first one it waits for its turn too.
func (s *settler) pace(ctx context.Context, took time.Duration) error {
	called := s.r.spills.called(s.p)
	if slots := s.r.deps.SettleSlots; !s.slot && slots != nil {
		select {
		case slots <- struct{}{}:
			s.slot = true
		case <-called:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	rest := time.NewTimer(min(max(settleRests*took, settleRestMin), settleRestMax))
	defer rest.Stop()
	select {
	case <-called:
		return nil
	case <-rest.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives up the clean-up's turn.
func (s *settler) leave() {
	if s.slot {
		<-s.r.deps.SettleSlots
	}
	if s.steps > 1 {
		s.r.deps.Logger.Debug("cleaned up after a large transaction", "range", s.r.id, "commands", s.steps, "took", time.Since(s.began))
	}
}

// meet notes that somebody waits for keys of a part to be free of it. event is closed when
// that may be so.
func (sp *spills) meet(p *part, written [][]byte) (event chan struct{}) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, k := range written {
		if len(p.asked) >= settleKeys {
			break
		}
		if p.overlaps(k, nil) {
			p.asked = append(p.asked, bytes.Clone(k))
		}
	}
	p.call()
	return p.event
}

// call ends the rest of who cleans up after the part; spills.mu is held.
func (p *part) call() {
	if p.calling != nil {
		close(p.calling)
		p.calling = nil
	}
}

// called returns what is closed when somebody waits for the part, or is already.
func (sp *spills) called(p *part) <-chan struct{} {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	c := make(chan struct{})
	if p.watchers > 0 || len(p.asked) > 0 {
		close(c)
		return c
	}
	p.calling = c
	return c
}

// takeMet returns the keys for which somebody waits, in order and once each.
func (sp *spills) takeMet(p *part) [][]byte {
	sp.mu.Lock()
	met := p.asked
	p.asked = nil
	sp.mu.Unlock()
	slices.SortFunc(met, bytes.Compare)
	return slices.CompactFunc(met, bytes.Equal)
}

// tell has those who wait for the part look again.
func (sp *spills) tell(p *part) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.all[p.id] == p {
		p.tell()
	}
}
