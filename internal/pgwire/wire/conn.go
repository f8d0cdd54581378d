package wire

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/quota"
)

// Conn reads and writes messages on a connection.
type Conn struct {
	login bool // see Login
	// nc is set by the owner under mu: other goroutines read it for Wake and Close.
	nc   net.Conn
	mu   sync.Mutex
	raw  syscall.RawConn // nil if nc is no socket: TLS, a pipe
	pool *Buffers
	// output is what nc writes to: nc itself, or what lies below its TLS.
	output *Output

	// in[r:w] are the bytes read and not consumed. in is either *pooled, or a
	// buffer for one long message, or nil.
	in     []byte
	pooled *[readSize]byte
	r, w   int
	wait   waiter

	// out is the output not yet written, from held if that is not nil.
	out  []byte
	held *writeBuf
	// start is where the message being appended begins in out, startRefs in refs.
	start, startRefs int
	// refs are values that are written from where they are, refBytes their length: see Refer.
	refs     []reference
	refBytes int
	// flushes counts how often output was written.
	flushes uint64
	hold    int // see Hold

	// inMem accounts for in if that is not pooled, outMem for room that Reserve made in out.
	inMem, outMem quota.Account
	drop          dropped

	woken atomic.Bool
	stats Stats
}

// Stats counts what went over a connection since the last TakeStats.
type Stats struct {
	Messages, BytesIn, BytesOut uint64
}

// NewConn returns a Conn on nc; first are bytes that were already read from it. An
// interruption ends a *tls.Conn that is not made on an Output.
func NewConn(nc net.Conn, pool *Buffers, first []byte) *Conn {
	c := &Conn{pool: pool}
	c.inMem.Init(pool.Mem)
	c.outMem.Init(pool.Mem)
	if t, ok := nc.(*tls.Conn); !ok {
		c.output = NewOutput(nc)
		nc = c.output
	} else if c.output, ok = t.NetConn().(*Output); !ok {
		c.output = NewOutput(t)
	}
	c.attach(nc)
	if len(first) > 0 {
		c.in = append([]byte(nil), first...)
		c.w = len(first)
		c.stats.BytesIn += uint64(len(first))
	}
	return c
}

func (c *Conn) attach(nc net.Conn) {
	c.mu.Lock()
	c.nc = nc
	c.mu.Unlock()
	c.raw = nil
	var err error
	if o, ok := nc.(*Output); ok {
		switch s := o.Conn.(type) { // no other type: it may have a Read of its own
		case *net.TCPConn:
			_ = s.SetNoDelay(true) // it is the default; a failure costs speed only
			c.raw, err = s.SyscallConn()
		case *net.UnixConn:
			c.raw, err = s.SyscallConn()
		}
	}
	if err != nil {
		c.raw = nil
	}
	c.wait.init(c)
}

// Upgrade goes on with another connection on top of the present one (TLS). No
// input may be buffered.
func (c *Conn) Upgrade(nc net.Conn) { c.attach(nc) }

// Peek returns the next byte of the input and leaves it there.
func (c *Conn) Peek() (byte, error) {
	if err := c.need(1); err != nil {
		return 0, err
	}
	return c.in[c.r], nil
}

// TakeInput takes what is buffered out of the input, for an Upgrade to read it
// first.
func (c *Conn) TakeInput() []byte {
	b := append([]byte(nil), c.in[c.r:c.w]...)
	c.stats.BytesIn -= uint64(len(b)) // they will be counted as what they carry
	c.r, c.w = 0, 0
	c.dropInput()
	return b
}

// NetConn returns the connection underneath.
func (c *Conn) NetConn() net.Conn { return c.nc }

// TakeStats returns the counts since the last call.
func (c *Conn) TakeStats() Stats {
	s := c.stats
	c.stats = Stats{}
	return s
}

// Next returns the next message from the client: its type and its body, which is
// valid until the following call. Output is not flushed by it. A message for which there is
// no memory is a *DroppedError: the next call returns what follows it.
func (c *Conn) Next() (typ byte, body []byte, err error) {
	if c.drop.left > 0 {
		return c.dropRest()
	}
	if c.w-c.r < headerSize {
		if err := c.need(headerSize); err != nil {
			return 0, nil, err
		}
	}
	typ, n, err := c.header()
	if err != nil {
		return typ, nil, err
	}
	if c.w-c.r < n {
		if err := c.need(n); isExceeded(err) {
			c.drop = dropped{typ: typ, left: n, cause: err}
			return c.dropRest()
		} else if err != nil {
			return typ, nil, err
		}
	}
	body = c.in[c.r+headerSize : c.r+n : c.r+n]
	c.r += n
	c.stats.Messages++
	return typ, body, nil
}

const headerSize = 5

// Login says whether the client may send messages of type Password.
func (c *Conn) Login(yes bool) { c.login = yes }

// header checks the header at r and returns the length of the whole message.
func (c *Conn) header() (typ byte, n int, err error) {
	h := c.in[c.r : c.r+headerSize]
	typ = h[0]
	limit := MaxMessage(typ)
	if typ == Password && c.login {
		limit = maxSmall
	}
	if limit == 0 {
		return typ, 0, errType(typ)
	}
	length := binary.BigEndian.Uint32(h[1:])
	if length < 4 || length > uint32(limit) {
		return typ, 0, errLength(typ, int32(length))
	}
	return typ, int(length) + 1, nil
}

// Buffered reports whether input waits to be read.
func (c *Conn) Buffered() bool { return c.r < c.w }

// syncDelay is how long SyncFollows waits. A client that has more to send sends it at
// once; one that waits for an error, or for COPY to begin, may send nothing.
const syncDelay = 5 * time.Millisecond

// SyncFollows reports whether the next message is Sync, as far as that is known soon. The
// body of the message before is not valid afterwards.
func (c *Conn) SyncFollows() bool {
	if c.w-c.r < headerSize && !c.soon(headerSize) {
		return false
	}
	return c.in[c.r] == Sync
}

// soon makes n bytes of input available, if they come within syncDelay. What else keeps
// them away, the next read meets too.
func (c *Conn) soon(n int) bool {
	if c.SetReadDeadline(time.Now().Add(syncDelay)) != nil {
		return false
	}
	err := c.need(n)
	return c.SetReadDeadline(time.Time{}) == nil && err == nil
}

// StartupMessage reads a message of the start-up phase, which has no type: its
// first four bytes and what follows, valid until the next read.
func (c *Conn) StartupMessage() (code uint32, rest []byte, err error) {
	if err := c.need(4); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(c.in[c.r:])
	if n < 8 || n > MaxStartup {
		return 0, nil, errStartupLength()
	}
	if err := c.need(int(n)); err != nil {
		return 0, nil, err
	}
	msg := c.in[c.r+4 : c.r+int(n)]
	c.r += int(n)
	c.stats.Messages++
	return binary.BigEndian.Uint32(msg), msg[4:], nil
}

// Flush writes the output. It returns ErrInterrupted if Interrupt was called before all of
// it was written: the rest goes out with the next Flush behind Resume.
func (c *Conn) Flush() error {
	if len(c.out) > 0 {
		err := c.writeOut()
		c.out = c.out[:0]
		c.dropRefs(0)
		c.flushes++
		c.dropLongOutput()
		if err != nil {
			return err
		}
	}
	return c.output.Flush()
}

// Mark is a point of the output.
type Mark struct {
	flushes uint64
	at      int
}

// Mark returns the present point.
func (c *Conn) Mark() Mark { return Mark{flushes: c.flushes, at: len(c.out)} }

// Rewind takes back the output since a mark; false if some of what was there then, or
// came since, was written.
func (c *Conn) Rewind(m Mark) bool {
	if m.flushes != c.flushes || m.at > len(c.out) {
		return false
	}
	c.out = c.out[:m.at]
	for i := range c.refs {
		if c.refs[i].at > m.at {
			c.dropRefs(i)
			break
		}
	}
	return true
}

// Hold makes FlushIfLong hold back more output than it does otherwise; 0 ends that.
func (c *Conn) Hold(bytes int) { c.hold = bytes }

// Since returns how much output waits that came after a mark.
func (c *Conn) Since(m Mark) int {
	if m.flushes != c.flushes {
		return c.Pending()
	}
	return c.Pending() - m.at
}

// FlushIfLong writes the output if much of it has come together.
func (c *Conn) FlushIfLong() error {
	if !c.isLong(0) {
		return nil
	}
	return c.Flush()
}

// Pending returns how many bytes of output wait to be flushed.
func (c *Conn) Pending() int { return len(c.out) + c.refBytes }

// isLong reports whether output is written once n more bytes have come.
func (c *Conn) isLong(n int) bool { return c.Pending()+n >= max(flushAt, c.hold) }

// SetReadDeadline bounds how long reads wait; zero is for ever.
func (c *Conn) SetReadDeadline(t time.Time) error {
	err := c.nc.SetReadDeadline(t)
	if c.woken.Load() {
		return c.nc.SetReadDeadline(past) // Wake came first
	}
	return err
}

// wokenTimeout is how long a write may wait for the other side to read after Wake.
const wokenTimeout = time.Second

// Wake ends the present and all later waits for input with a timeout error, and those for
// output if they last. Any goroutine may call it.
func (c *Conn) Wake() {
	c.woken.Store(true)
	_ = c.shared().SetReadDeadline(past) // fails on a closed connection only
	c.output.setWriteTimeout(wokenTimeout)
}

// Interrupt ends the present and all later waits for input and output, until Resume: Flush
// returns ErrInterrupted, Next a timeout error. Nothing is lost. Any goroutine may call it.
func (c *Conn) Interrupt() {
	c.output.interrupt()
	_ = c.shared().SetReadDeadline(past) // fails on a closed connection only
}

// Interrupted reports whether there is an interruption.
func (c *Conn) Interrupted() bool { return c.output.isInterrupted() }

// Resume ends an interruption. Only the owner calls it, when Interrupt is no longer called.
func (c *Conn) Resume() {
	if c.output.resume() {
		_ = c.SetReadDeadline(never) // the next read tells of a failure
	}
}

// SetWriteTimeout bounds how long each later write may wait for the client to read.
func (c *Conn) SetWriteTimeout(d time.Duration) { c.output.setWriteTimeout(d) }

// Gone reports whether the client has closed the connection, as far as the system knows.
// Any goroutine may call it.
func (c *Conn) Gone() bool { return c.output.gone() }

// shared returns the connection to goroutines other than the owner.
func (c *Conn) shared() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nc
}

// Woken reports whether Wake was called.
func (c *Conn) Woken() bool { return c.woken.Load() }

// Close closes the connection. Any goroutine may call it; the buffers go to the
// garbage collector.
func (c *Conn) Close() error { return c.shared().Close() }

// Release gives the buffers back; the owner calls it last.
func (c *Conn) Release() {
	c.r, c.w, c.out = 0, 0, nil
	c.dropRefs(0)
	c.dropInput()
	if c.held != nil {
		c.pool.putWrite(c.held)
		c.held = nil
	}
	c.outMem.Close()
}
