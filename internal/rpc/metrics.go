package rpc

import "sync/atomic"

// Metrics are counters since the node was created.
type Metrics struct {
	BytesSent, BytesReceived       uint64 // on the network, before TLS
	MessagesSent, MessagesReceived uint64
	MessagesDropped                uint64 // queue full, no address, peer unreachable, connection lost
	MessagesUnknown                uint64 // received without a handler
	CallsSent, CallsReceived       uint64
	CallsRefused                   uint64 // received beyond a limit or without a handler
	CallsRunning                   int64  // handlers running now
	Connects                       uint64 // connections made by this node
	Reconnects                     uint64 // of them, to a peer that was connected before
	DialFailures                   uint64
	AcceptFailures                 uint64 // inbound connections that failed in the handshake
	ConnsBroken                    uint64 // ended because of damaged frames or a clock offset
}

type counters struct {
	bytesSent, bytesReceived       atomic.Uint64
	messagesSent, messagesReceived atomic.Uint64
	messagesDropped                atomic.Uint64
	messagesUnknown                atomic.Uint64
	callsSent, callsReceived       atomic.Uint64
	callsRefused                   atomic.Uint64
	connects, reconnects           atomic.Uint64
	dialFailures, acceptFailures   atomic.Uint64
	connsBroken                    atomic.Uint64
}

// Metrics returns the present counters.
func (n *Node) Metrics() Metrics {
	s := &n.stats
	return Metrics{
		BytesSent: s.bytesSent.Load(), BytesReceived: s.bytesReceived.Load(),
		MessagesSent: s.messagesSent.Load(), MessagesReceived: s.messagesReceived.Load(),
		MessagesDropped: s.messagesDropped.Load(), MessagesUnknown: s.messagesUnknown.Load(),
		CallsSent: s.callsSent.Load(), CallsReceived: s.callsReceived.Load(),
		CallsRefused: s.callsRefused.Load(), CallsRunning: n.running.Load(),
		Connects: s.connects.Load(), Reconnects: s.reconnects.Load(),
		DialFailures: s.dialFailures.Load(), AcceptFailures: s.acceptFailures.Load(),
		ConnsBroken: s.connsBroken.Load(),
	}
}
