package wire

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// lingerTime and lingerBytes bound Linger.
const (
	lingerTime  = time.Second
	lingerBytes = 64 << 10
)

// Linger keeps a connection after a failed handshake until the client has read the reason. If it were
// closed with unread input, the system would discard what was sent.
func Linger(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, lingerBytes) // it ends in one way or another
}

// Replay is a connection whose First bytes were read already. They are read again.
type Replay struct {
	net.Conn
	First []byte
}

// Read implements net.Conn.
func (r *Replay) Read(p []byte) (int, error) {
	if len(r.First) > 0 {
		n := copy(p, r.First)
		r.First = r.First[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}

// SyscallConn implements syscall.Conn, for a check whether the client has closed the socket.
func (r *Replay) SyscallConn() (syscall.RawConn, error) {
	if s, ok := r.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite closes the sending half, as a TLS connection does at its end.
func (r *Replay) CloseWrite() error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
