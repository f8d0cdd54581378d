package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Method says which handler a call or a message is for. methods.go has all numbers; those below
// FirstMethod are reserved for rpc itself.
type Method uint16

// FirstMethod is the lowest number of a method of another package.
const FirstMethod Method = 16

// Handler answers calls. It runs on a goroutine of its own; ctx ends when the
// caller gives up or the connection is lost. from is 0 when the caller is not part
// of a cluster yet. req may be used until the handler returns; the answer must not
// be modified afterwards. An error reaches the caller as a RemoteError.
type Handler func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error)

// MessageHandler takes one-way messages: on the reading goroutine (another one for
// those of the node to itself), in order. It must not block; msg is its own to keep.
type MessageHandler func(from kvpb.NodeID, msg []byte)

// Transport is what users need of this package; the simulator implements it too.
type Transport interface {
	// Call sends a request and waits for the answer. Errors are a RemoteError
	// (the handler's own), or match ErrNotSent or ErrUnknownOutcome, and then
	// the context's error too if that is the reason. A call to a node that could
	// not be reached a moment ago fails at once.
	Call(ctx context.Context, to kvpb.NodeID, m Method, req []byte) ([]byte, error)
	// Send queues a one-way message, which may get lost. False: it was dropped
	// at once, because the queue is full, the node can't be reached or has no
	// address. It never blocks.
	Send(to kvpb.NodeID, m Method, msg []byte) bool
	// Handle and HandleMessage set the handler of a method, once.
	Handle(m Method, h Handler)
	HandleMessage(m Method, h MessageHandler)
}

// The protocol of this package, in hello and welcome.
const (
	// ProtocolVersion is what this build speaks.
	ProtocolVersion uint16 = 1
	// MinProtocolVersion is the oldest that this build still understands.
	MinProtocolVersion uint16 = 1
	// ALPN is the protocol's name in TLS handshakes.
	ALPN = "lichen-rpc/1"
)

// Limits and intervals.
const (
	// MaxPayload is the largest request, answer or message.
	MaxPayload = 64 << 20
	// MaxQueueBytes is how much may wait to be written on one connection, besides
	// the batch that is being written. A message beyond it is dropped, a request
	// ends with ErrNotSent, an answer makes its handler wait.
	MaxQueueBytes = 64 << 20
	// MaxQueueMessages is how many messages may wait for one destination.
	MaxQueueMessages = 1 << 16
	// MaxPendingCalls is how many calls of this node may wait for one peer.
	MaxPendingCalls = 1 << 16
	// MaxCallsPerConn is how many calls of one peer are handled at once.
	MaxCallsPerConn = 1 << 14
	// MaxCallsPerNode is how many calls are handled at once.
	MaxCallsPerNode = 1 << 16
	// MaxPartialBytes is how much of unfinished large requests one connection
	// may make this node hold.
	MaxPartialBytes = 4 * MaxPayload
	// MaxInbound is how many connections are accepted at once.
	MaxInbound = 4096
	// PingInterval is how often a connection is measured.
	PingInterval = 500 * time.Millisecond
	// DeadTimeout is how long a connection may bring nothing, not even the
	// answer to a ping, before it is given up.
	DeadTimeout = 1500 * time.Millisecond
	// DialTimeout bounds an attempt to connect, greeting included.
	DialTimeout = 3 * time.Second
	// MinBackoff and MaxBackoff bound the wait after a failed attempt.
	MinBackoff = 20 * time.Millisecond
	MaxBackoff = time.Second
	// maxErrorBytes is where the text of a handler's error is cut.
	maxErrorBytes = 16 << 10
)

// Options say who a node is and how it connects.
type Options struct {
	ClusterID func() string      // "" before the node is part of a cluster
	NodeID    func() kvpb.NodeID // 0 before the node is part of a cluster

	// Life says which process of the node this is: later ones have higher numbers. 0, or nil:
	// it is not distinguished from others.
	Life func() int64
	// OnTwin is called when another process is this node, whose peers no longer listen to this one:
	// it must end. nil: nobody is.
	OnTwin func(error)

	Version         string // the build, named in messages
	ProtocolVersion uint16 // 0: the package's
	MinVersion      uint16 // lowest protocol version understood; 0: the package's

	// Clock gives the time that every batch carries and takes in that of the
	// peers. nil: a clock of its own, for command-line tools.
	Clock *hlc.Clock
	// MaxOffset is how far a peer's physical clock may be off; 0: no check.
	MaxOffset time.Duration
	// Urgent are the methods whose messages have a connection of their own to each
	// peer, and a goroutine that reads it: they wait for no others. They should be few
	// and small.
	Urgent []Method
	// Resolve says where a node is. It must return at once and not call back.
	Resolve func(kvpb.NodeID) (addr string, ok bool)

	ClientTLS, ServerTLS *tls.Config // nil: insecure
	// VerifyPeer, if set, decides after a TLS handshake whether the peer's
	// certificate is that of a node, on both sides. A verified certificate is
	// required in any case.
	VerifyPeer func(tls.ConnectionState) error
	// Dial opens a connection; nil: TCP.
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	Logger *slog.Logger // nil: silent
	// OnFatal is called with a panic of a handler or of the node, which ends the process; nil:
	// nobody is.
	OnFatal func(error)
}

func (o *Options) setDefaults() {
	if o.ClusterID == nil {
		o.ClusterID = func() string { return "" }
	}
	if o.NodeID == nil {
		o.NodeID = func() kvpb.NodeID { return 0 }
	}
	if o.Life == nil {
		o.Life = func() int64 { return 0 }
	}
	if o.ProtocolVersion == 0 {
		o.ProtocolVersion = ProtocolVersion
	}
	if o.MinVersion == 0 {
		o.MinVersion = MinProtocolVersion
	}
	if o.Clock == nil {
		o.Clock = hlc.NewSystem(0)
	}
	if o.Resolve == nil {
		o.Resolve = func(kvpb.NodeID) (string, bool) { return "", false }
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// The two ways in which a call ends without the handler's own result.
var (
	// ErrNotSent: the call surely did not reach the handler and never will.
	ErrNotSent = errors.New("rpc: call not sent")
	// ErrUnknownOutcome: the call was sent, and no answer came before the
	// connection was lost or the caller's context ended.
	ErrUnknownOutcome = errors.New("rpc: outcome of the call unknown")
)

// ErrClosed is the cause of errors after Close.
var ErrClosed = errors.New("rpc: this node is shutting down")

// callError is ErrNotSent or ErrUnknownOutcome with what led to it.
type callError struct{ kind, cause error }

func (e *callError) Error() string   { return e.kind.Error() + ": " + e.cause.Error() }
func (e *callError) Unwrap() []error { return []error{e.kind, e.cause} }

func notSent(cause error) error { return &callError{ErrNotSent, cause} }

func unknownOutcome(cause error) error { return &callError{ErrUnknownOutcome, cause} }

// RemoteError is the error that a handler returned.
type RemoteError struct{ Msg string }

func (e RemoteError) Error() string { return e.Msg }

// As lets errors.As find a RemoteError as a value too; calls return a pointer.
func (e *RemoteError) As(target any) bool {
	t, ok := target.(*RemoteError)
	if ok {
		*t = *e
	}
	return ok
}

// Refusal says why two nodes don't connect.
type Refusal uint8

// The reasons for a refusal.
const (
	RefusedOther    Refusal = iota
	RefusedCluster          // the peer belongs to another cluster, or to none
	RefusedVersion          // no common protocol version
	RefusedNode             // another node lives at the address
	RefusedClock            // clocks too far apart
	RefusedIdentity         // another process is the node that the peer takes itself for
)

// RefusedError is the cause of ErrNotSent when one of the two sides refused the
// connection. The message says what to do.
type RefusedError struct {
	Reason Refusal
	Msg    string
}

func (e *RefusedError) Error() string { return "connection refused: " + e.Msg }

func refuse(r Refusal, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: r, Msg: fmt.Sprintf(format, args...)}
}
