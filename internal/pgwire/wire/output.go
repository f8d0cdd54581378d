package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInterrupted says that output waits because Interrupt was called.
var ErrInterrupted = errors.New("output interrupted")

var (
	past  = time.Unix(1, 0)
	never time.Time
)

// Output writes to a connection, and can be interrupted while the other side does not
// read: what was not written then is kept, and goes out before what is written next. It
// lies below TLS, whose connections can't go on after a write that was broken off.
type Output struct {
	net.Conn
	sock syscall.RawConn // nil if it is no socket
	rest []byte          // what an interruption has kept

	mu          sync.Mutex
	interrupted bool
	timeout     time.Duration // how long a write may wait; 0: for ever
}

// NewOutput returns an Output on a connection.
func NewOutput(nc net.Conn) *Output {
	o := &Output{Conn: nc}
	if s, ok := nc.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			o.sock = raw
		}
	}
	return o
}

// Write implements net.Conn. It does not fail when it is interrupted; Flush tells of that.
func (o *Output) Write(p []byte) (int, error) {
	if len(o.rest) > 0 {
		o.rest = append(o.rest, p...)
		if o.isInterrupted() {
			return len(p), nil
		}
		return len(p), ignoreInterruption(o.Flush())
	}
	n, err := o.write(p)
	if errors.Is(err, ErrInterrupted) {
		o.rest = append(o.rest, p[n:]...)
		return len(p), nil
	}
	return n, err
}

// Flush writes what an interruption has kept: ErrInterrupted if one keeps it still.
func (o *Output) Flush() error {
	if len(o.rest) == 0 {
		return nil
	}
	n, err := o.write(o.rest)
	if o.rest = o.rest[:copy(o.rest, o.rest[n:])]; len(o.rest) == 0 {
		o.rest = nil
	}
	return err
}

func ignoreInterruption(err error) error {
	if errors.Is(err, ErrInterrupted) {
		return nil
	}
	return err
}

func (o *Output) write(p []byte) (int, error) {
	o.renew()
	n, err := o.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && o.isInterrupted() {
		return n, ErrInterrupted
	}
	return n, err
}

// renew gives the write that follows its time.
func (o *Output) renew() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timeout > 0 && !o.interrupted {
		_ = o.SetWriteDeadline(o.deadline()) // the write tells of a failure
	}
}

// interrupt makes the present write and all later ones end at once, until resume.
func (o *Output) interrupt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.interrupted = true
	_ = o.SetWriteDeadline(past) // fails on a closed connection only
}

// resume ends an interruption, and reports whether there was one.
func (o *Output) resume() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.interrupted {
		return false
	}
	o.interrupted = false
	_ = o.SetWriteDeadline(o.deadline())
	return true
}

func (o *Output) isInterrupted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.interrupted
}

// setWriteTimeout makes the present write and each later one fail if it takes longer than d.
func (o *Output) setWriteTimeout(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timeout = d
	if !o.interrupted {
		_ = o.SetWriteDeadline(o.deadline())
	}
}

func (o *Output) deadline() time.Time {
	if o.timeout == 0 {
		return never
	}
	return time.Now().Add(o.timeout)
}

// gone reports whether the other side has closed the connection, input that it sent
// before notwithstanding.
func (o *Output) gone() bool {
	if o.sock == nil {
		return false
	}
	gone := false
	err := o.sock.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && gone
}

// CloseWrite ends the output, if the connection can.
func (o *Output) CloseWrite() error {
	if half, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
