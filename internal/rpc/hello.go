package rpc

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/kvpb"
)

// class is the purpose of a connection.
type class uint8

const (
	classMessages class = 1 // one-way, in order
	classCalls    class = 2 // multiplexed
	classUrgent   class = 3 // one-way, in order, few and small: Options.Urgent
)

func (c class) String() string {
	switch c {
	case classMessages:
		return "messages"
	case classUrgent:
		return "urgent messages"
	}
	return "calls"
}

// oneWay reports whether connections of the class carry messages.
func (c class) oneWay() bool { return c == classMessages || c == classUrgent }

// maxName bounds the strings of a hello.
const maxName = 256

// hello introduces a node: the dialler's first frame, and the payload of the
// acceptor's welcome. Later versions may append fields.
type hello struct {
	protocol, minProtocol uint16
	class                 class
	node                  kvpb.NodeID // 0: not part of a cluster yet
	expect                kvpb.NodeID // the node that the dialler expects; 0: any
	physical              int64       // physical clock, ns
	clock                 int64       // hybrid clock, ns
	cluster               string      // "": not part of a cluster yet
	version               string      // of the build
	incarnation           int64       // of the node's process; 0: not given
}

const helloFixed = 2 + 2 + 1 + 4*8

func (h *hello) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint16(dst, h.protocol)
	dst = le.AppendUint16(dst, h.minProtocol)
	dst = append(dst, byte(h.class))
	dst = le.AppendUint64(dst, uint64(h.node))
	dst = le.AppendUint64(dst, uint64(h.expect))
	dst = le.AppendUint64(dst, uint64(h.physical))
	dst = le.AppendUint64(dst, uint64(h.clock))
	for _, s := range []string{h.cluster, h.version} {
		s = s[:min(len(s), maxName)]
		dst = le.AppendUint16(dst, uint16(len(s)))
		dst = append(dst, s...)
	}
	return le.AppendUint64(dst, uint64(h.incarnation))
}

func decodeHello(b []byte) (*hello, error) {
	if len(b) < helloFixed {
		return nil, corrupt("hello of %d bytes", len(b))
	}
	le := binary.LittleEndian
	h := &hello{
		protocol:    le.Uint16(b),
		minProtocol: le.Uint16(b[2:]),
		class:       class(b[4]),
		node:        kvpb.NodeID(le.Uint64(b[5:])),
		expect:      kvpb.NodeID(le.Uint64(b[13:])),
		physical:    int64(le.Uint64(b[21:])),
		clock:       int64(le.Uint64(b[29:])),
	}
	b = b[helloFixed:]
	for _, s := range []*string{&h.cluster, &h.version} {
		if len(b) < 2 || len(b)-2 < int(le.Uint16(b)) {
			return nil, corrupt("hello cut short")
		}
		n := 2 + int(le.Uint16(b))
		*s, b = string(b[2:n]), b[n:]
	}
	if len(b) >= 8 {
		h.incarnation = int64(le.Uint64(b))
	}
	if !validClock(h.clock) || !validClock(h.physical) {
		return nil, corrupt("hello with the clock at %d", h.clock)
	}
	return h, nil
}

// validClock reports whether ns may be a clock reading. The bound lies in the year 2116 and keeps
// hlc from overflowing.
func validClock(ns int64) bool { return ns >= 0 && ns < 1<<62 }

// HelloBytes is the length of the prefix of a plain connection that HelloNode needs.
const HelloBytes = len(magic) + headerSize + 2 + 2 + 1 + 8

// HelloNode returns the id of the dialler of a plain connection that begins with first; 0 if it is
// not part of a cluster. Test proxies between nodes use it.
func HelloNode(first []byte) (id kvpb.NodeID, ok bool) {
	if len(first) < HelloBytes || string(first[:len(magic)]) != magic || frameType(first[len(magic)+lengthSize]) != frameHello {
		return 0, false
	}
	return kvpb.NodeID(binary.LittleEndian.Uint64(first[HelloBytes-8:])), true
}
