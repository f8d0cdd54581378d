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

// Method identifies the handler of a call or a message. methods.go has all numbers; those below
// FirstMethod are reserved for rpc itself.
type Method uint16

// FirstMethod is the lowest method number of other packages.
const FirstMethod Method = 16

// Handler answers calls. It runs on a goroutine of its own; ctx ends when the caller gives up or
// the connection is lost. from is 0 if the caller is not part of a cluster yet. The handler may use
// req until it returns; the answer must not change afterwards. The caller receives an error as a
// RemoteError.
type Handler func(ctx context.Context, from kvpb.NodeID, req []byte) ([]byte, error)

// MessageHandler receives one-way messages in order, on the goroutine that reads the connection. It
// must not block, and may keep msg.
type MessageHandler func(from kvpb.NodeID, msg []byte)

// Transport is the interface to this package; the simulator implements it too.
type Transport interface {
	// Call sends a request and waits for the answer. Its error is a RemoteError (the handler's
	// own), or matches ErrNotSent or ErrUnknownOutcome, and the context's error if that was the
	// cause. A call to a node that could not be reached a moment ago fails at once.
	Call(ctx context.Context, to kvpb.NodeID, m Method, req []byte) ([]byte, error)
	// Send queues a one-way message, which may be lost. It returns false if the message was dropped
	// because the queue is full, or the node can't be reached or has no address. It never blocks.
	Send(to kvpb.NodeID, m Method, msg []byte) bool
	// Handle and HandleMessage set the handler of a method. Each method has one.
	Handle(m Method, h Handler)
	HandleMessage(m Method, h MessageHandler)
}

// The protocol versions, exchanged in hello and welcome.
const (
	// ProtocolVersion is the version of this build.
	ProtocolVersion uint16 = 1
	// MinProtocolVersion is the oldest version that this build accepts.
	MinProtocolVersion uint16 = 1
	// ALPN identifies the protocol in TLS handshakes.
	ALPN = "lichen-rpc/1"
)

// Limits and intervals.
const (
	// MaxPayload bounds a request, an answer or a message.
	MaxPayload = 64 << 20
	// MaxQueueBytes bounds the bytes queued on one connection, besides the batch that is being
	// written. Beyond it a message is dropped, a request ends with ErrNotSent, and an answer makes
	// its handler wait.
	MaxQueueBytes = 64 << 20
	// MaxQueueMessages bounds the messages queued for one destination.
	MaxQueueMessages = 1 << 16
	// MaxPendingCalls bounds the calls of this node to one peer that wait for an answer.
	MaxPendingCalls = 1 << 16
	// MaxCallsPerConn bounds the calls of one peer that are handled at once.
	MaxCallsPerConn = 1 << 14
	// MaxCallsPerNode bounds the calls that are handled at once.
	MaxCallsPerNode = 1 << 16
	// MaxPartialBytes bounds the bytes of incomplete large requests of one connection.
	MaxPartialBytes = 4 * MaxPayload
	// MaxInbound bounds the inbound connections.
	MaxInbound = 4096
	// PingInterval is the interval of pings on a connection.
	PingInterval = 500 * time.Millisecond
	// DeadTimeout is the silence, without even a pong, after which a connection is closed.
	DeadTimeout = 1500 * time.Millisecond
	// DialTimeout bounds an attempt to connect, handshake included.
	DialTimeout = 3 * time.Second
	// MinBackoff and MaxBackoff bound the pause after a failed attempt.
	MinBackoff = 20 * time.Millisecond
	MaxBackoff = time.Second
	// maxErrorBytes is the length to which the text of a handler's error is cut.
	maxErrorBytes = 16 << 10
)

// Options configure a Node.
type Options struct {
	ClusterID func() string      // "" before the node is part of a cluster
	NodeID    func() kvpb.NodeID // 0 before the node is part of a cluster

	// Incarnation returns the number of this process, which rises with each start of the node. If it is
	// nil or returns 0, the process is not distinguished from others.
	Incarnation func() int64
	// OnTwin is called when peers have accepted another process of this node: this process must
	// end. It may be nil.
	OnTwin func(error)

	Version         string // the build, shown in errors
	ProtocolVersion uint16 // 0: the package's
	MinVersion      uint16 // lowest protocol version understood; 0: the package's

	// Clock is the hybrid clock: every batch sends its time, and received times update it. nil: a
	// clock of its own, for command-line tools.
	Clock *hlc.Clock
	// MaxOffset bounds the offset of a peer's physical clock; 0: no check.
	MaxOffset time.Duration
	// Urgent are the methods whose messages have a connection of their own to each peer, with its
	// own reader, and so do not queue behind others. They should be few and small.
	Urgent []Method
	// Resolve returns the address of a node. It must not block or call the Node.
	Resolve func(kvpb.NodeID) (addr string, ok bool)

	ClientTLS, ServerTLS *tls.Config // nil: insecure
	// VerifyPeer, if set, decides on both sides after a TLS handshake whether the peer's
	// certificate is that of a node. Without it any verified certificate will do.
	VerifyPeer func(tls.ConnectionState) error
	// Dial opens a connection; nil: TCP.
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	Logger *slog.Logger // nil: silent
	// OnFatal is called with a panic of a handler or of the node, which ends the process. It may be
	// nil.
	OnFatal func(error)
}

func (o *Options) setDefaults() {
	if o.ClusterID == nil {
		o.ClusterID = func() string { return "" }
	}
	if o.NodeID == nil {
		o.NodeID = func() kvpb.NodeID { return 0 }
	}
	if o.Incarnation == nil {
		o.Incarnation = func() int64 { return 0 }
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

// The two errors of a call without a result of the handler.
var (
	// ErrNotSent: the call did not reach the handler and never will.
	ErrNotSent = errors.New("rpc: call not sent")
	// ErrUnknownOutcome: the call was sent, and no answer came before the
	// connection was lost or the caller's context ended.
	ErrUnknownOutcome = errors.New("rpc: outcome of the call unknown")
)

// ErrClosed is the cause of errors after Close.
var ErrClosed = errors.New("rpc: this node is shutting down")

// callError is ErrNotSent or ErrUnknownOutcome with its cause.
type callError struct{ kind, cause error }

func (e *callError) Error() string   { return e.kind.Error() + ": " + e.cause.Error() }
func (e *callError) Unwrap() []error { return []error{e.kind, e.cause} }

func notSent(cause error) error { return &callError{ErrNotSent, cause} }

func unknownOutcome(cause error) error { return &callError{ErrUnknownOutcome, cause} }

// RemoteError is the error that a handler returned.
type RemoteError struct{ Msg string }

func (e RemoteError) Error() string { return e.Msg }

// As lets errors.As match a RemoteError value too; calls return a pointer.
func (e *RemoteError) As(target any) bool {
	t, ok := target.(*RemoteError)
	if ok {
		*t = *e
	}
	return ok
}

// Refusal is the reason for which a node rejects a connection.
type Refusal uint8

// The refusals.
const (
	RefusedOther    Refusal = iota
	RefusedCluster          // the peer belongs to another cluster, or to none
	RefusedVersion          // no common protocol version
	RefusedNode             // the address is that of another node
	RefusedClock            // the clocks are too far apart
	RefusedIdentity         // another process has the peer's identity
)

// RefusedError is the cause of ErrNotSent when one side rejected the connection. Its message
// suggests a remedy.
type RefusedError struct {
	Reason Refusal
	Msg    string
}

func (e *RefusedError) Error() string { return "connection refused: " + e.Msg }

func refuse(r Refusal, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: r, Msg: fmt.Sprintf(format, args...)}
}
