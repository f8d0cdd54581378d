package wire

import (
	"errors"
	"io"
	"syscall"
)

// waiter reads from a socket such that nothing is held while it waits: the
// buffer is taken from the pool when there is something to read, and given back
// when there is not. On a connection that is no socket the first bytes of a
// message go to small.
type waiter struct {
	c     *Conn
	try   func(fd uintptr) bool
	n     int
	err   error
	small [64]byte
}

func (w *waiter) init(c *Conn) {
	w.c = c
	if w.try == nil {
		w.try = w.tryRead
	}
}

// tryRead is called when the socket may be readable, at first without waiting.
func (w *waiter) tryRead(fd uintptr) bool {
	c := w.c
	c.ensureInput()
	for {
		w.n, w.err = syscall.Read(int(fd), c.in[c.w:])
		switch {
		case errors.Is(w.err, syscall.EINTR):
			continue
		case errors.Is(w.err, syscall.EAGAIN):
			c.release()
			return false
		}
		return true
	}
}

// read reads once, at least one byte, behind w.
func (c *Conn) read() error {
	var n int
	var err error
	switch {
	case c.raw != nil:
		c.wait.n, c.wait.err = 0, nil
		if err = c.raw.Read(c.wait.try); err == nil {
			n, err = c.wait.n, c.wait.err
		}
	case c.in == nil:
		c.release()
		n, err = c.nc.Read(c.wait.small[:])
		c.ensureInput()
		copy(c.in, c.wait.small[:n])
	default:
		n, err = c.nc.Read(c.in[c.w:])
	}
	if n > 0 {
		c.w += n
		c.stats.BytesIn += uint64(n)
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}

// need makes n bytes from r on available.
func (c *Conn) need(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
		if c.pooled == nil {
			c.dropInput() // a long message's: not kept
		}
	}
	for c.w-c.r < n {
		if err := c.grow(n); err != nil {
			return err
		}
		if err := c.read(); err != nil {
			if c.w > c.r && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// grow makes room behind w for a message of n bytes at r, or for as much of a
// long one as is due. It fails if there is no memory for it.
func (c *Conn) grow(n int) error {
	if c.in == nil || c.r+n <= len(c.in) && c.w < len(c.in) {
		return nil
	}
	if c.r > 0 {
		copy(c.in, c.in[c.r:c.w])
		c.r, c.w = 0, c.w-c.r
		if n <= len(c.in) {
			return nil
		}
	}
	if c.w < len(c.in) {
		return nil // fill it first
	}
	size := max(min(n, 2*len(c.in)), readSize)
	before := c.inMem.Used()
	if err := c.inMem.Grow(int64(size)); err != nil {
		return err
	}
	in := make([]byte, size)
	copy(in, c.in[:c.w])
	c.recycleInput()
	c.inMem.Shrink(before)
	c.in = in
	return nil
}

func (c *Conn) ensureInput() {
	if c.in == nil {
		c.pooled = c.pool.getRead()
		c.in = c.pooled[:]
	}
}

// release gives back what an idle connection does not need (W1).
func (c *Conn) release() {
	if c.r == c.w && c.pooled != nil {
		c.r, c.w = 0, 0
		c.dropInput()
	}
	if len(c.out) == 0 && c.held != nil {
		c.held.b = c.out
		c.pool.putWrite(c.held)
		c.held, c.out = nil, nil
	}
}

func (c *Conn) dropInput() {
	c.recycleInput()
	c.inMem.Close()
}

// recycleInput gives up the input buffer, which stays accounted for.
func (c *Conn) recycleInput() {
	if c.pooled != nil {
		c.pool.read.Put(c.pooled)
		c.pooled = nil
	}
	c.in = nil
}
