package fs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Counter counts the operations it sees and, if wanted, remembers them. A test
// runs once with a Counter and then once per operation, with a fault there.
type Counter struct {
	// Match selects the operations; nil means all that mutate.
	Match func(*Op) bool
	// Trace makes the counter remember the operations.
	Trace bool

	n   atomic.Int64
	mu  sync.Mutex
	ops []string
}

func matches(match func(*Op) bool, op *Op) bool {
	if match == nil {
		return op.Kind.Mutates()
	}
	return match(op)
}

// Hook is the counter's [Hook]. It refuses nothing.
func (c *Counter) Hook(op *Op) error {
	if !matches(c.Match, op) {
		return nil
	}
	n := c.n.Add(1)
	if c.Trace {
		c.mu.Lock()
		c.ops = append(c.ops, fmt.Sprintf("%d %s %s %d+%d", n, op.Kind, op.Path, op.Offset, op.Bytes))
		c.mu.Unlock()
	}
	return nil
}

// Count returns how many operations were seen.
func (c *Counter) Count() int64 { return c.n.Load() }

// Ops returns the operations seen, if Trace was set.
func (c *Counter) Ops() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.ops...)
}

// FailAt refuses the operation number N, counted from 1, and with Forever all
// that follow it.
type FailAt struct {
	N       int64
	Err     error
	Forever bool
	// Short is how many bytes of a refused write happen nevertheless.
	Short int
	// Match selects the operations counted; nil means all that mutate.
	Match func(*Op) bool

	n atomic.Int64
}

// Hook is the fault's [Hook].
func (f *FailAt) Hook(op *Op) error {
	if !matches(f.Match, op) {
		return nil
	}
	n := f.n.Add(1)
	if n == f.N || f.Forever && n > f.N {
		op.Short = f.Short
		return &os.PathError{Op: op.Kind.String(), Path: op.Path, Err: f.Err}
	}
	return nil
}

// Struck reports whether the operation was reached.
func (f *FailAt) Struck() bool { return f.n.Load() >= f.N }

// ErrPowerLoss is what operations return after a [PowerLoss].
var ErrPowerLoss = errors.New("fs: power lost")

// PowerLoss lets N mutating operations happen; from then on none of any kind
// does. A test then takes a CrashClone of the file system below and goes on
// with that.
type PowerLoss struct {
	N int64

	mu    sync.Mutex
	n     int64
	stays bool
	off   atomic.Bool
}

// Hook is the fault's [Hook].
func (p *PowerLoss) Hook(op *Op) error {
	if !p.off.Load() && op.Kind.Mutates() {
		p.mu.Lock()
		if p.n++; p.n > p.N && !p.stays {
			p.off.Store(true)
		}
		p.mu.Unlock()
	}
	if p.off.Load() {
		return &os.PathError{Op: op.Kind.String(), Path: op.Path, Err: ErrPowerLoss}
	}
	return nil
}

// Allow lets n more mutating operations happen.
func (p *PowerLoss) Allow(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.N = p.n + n
}

// Spare leaves the power on for good and returns true, unless it is off already.
func (p *PowerLoss) Spare() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stays = true
	return !p.off.Load()
}

// Strike cuts the power now.
func (p *PowerLoss) Strike() { p.off.Store(true) }

// Struck reports whether the power is off.
func (p *PowerLoss) Struck() bool { return p.off.Load() }

// Quota is a disk with room for so many bytes more. Writes that extend a file
// use it up; then they end short with ENOSPC, and so does whatever makes a new
// file or directory. Removing files gives nothing back; Set does.
type Quota struct {
	mu   sync.Mutex
	left int64
}

// NewQuota returns a quota of n bytes.
func NewQuota(n int64) *Quota { return &Quota{left: n} }

// Set makes room for n bytes from now on; a large n lifts the quota.
func (q *Quota) Set(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = n
}

// Hook is the quota's [Hook].
func (q *Quota) Hook(op *Op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch op.Kind {
	case OpWrite:
		if op.Grow <= q.left {
			q.left -= op.Grow
			return nil
		}
		op.Short = op.Bytes - int(op.Grow-q.left)
		q.left = 0
	case OpCreate, OpLink, OpMkdirAll, OpPreallocate:
		if q.left > 0 {
			return nil
		}
	default:
		return nil
	}
	return &os.PathError{Op: op.Kind.String(), Path: op.Path, Err: syscall.ENOSPC}
}

// Gate stalls operations while it is shut. It starts open.
type Gate struct {
	match   func(*Op) bool
	mu      sync.Mutex
	changed sync.Cond
	shut    bool
	waiting int
}

// NewGate returns a gate for the operations that match selects; nil means all
// that mutate.
func NewGate(match func(*Op) bool) *Gate {
	g := &Gate{match: match}
	g.changed.L = &g.mu
	return g
}

// Hook is the gate's [Hook]. It refuses nothing.
func (g *Gate) Hook(op *Op) error {
	if !matches(g.match, op) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	g.changed.Broadcast()
	for g.shut {
		g.changed.Wait()
	}
	g.waiting--
	return nil
}

// Shut stalls the operations that come from now on.
func (g *Gate) Shut() { g.set(true) }

// Open lets stalled operations go on.
func (g *Gate) Open() { g.set(false) }

func (g *Gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.changed.Broadcast()
}

// Await returns once n operations are stalled at the gate.
func (g *Gate) Await(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.waiting < n {
		g.changed.Wait()
	}
}
