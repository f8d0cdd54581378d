package liveness

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A message is a version byte and sections. A section is a tag byte, a length and that many bytes.
// Receivers skip unknown sections and unexpected bytes at the end of a section, so that both can be
// extended.
const wireVersion = 1

const (
	tagHead     = 1 // incarnation, sent, echo, incarnation that is echoed, version of the receiver's info; always first
	tagRequest  = 2 // until
	tagGrant    = 3 // the requester's incarnation, epoch, until
	tagInfo     = 4 // a NodeInfo; any number of them
	tagDigest   = 5 // digest of the sender's node registry
	tagVersions = 6 // versions of the sender's node registry
	tagAnswer   = 7 // the same, sent in answer to versions
	tagOldest   = 8 // wall time of the oldest read of the sender's gateway; in heartbeats
)

const (
	// maxMessage bounds the size of a message.
	maxMessage = 1 << 20
	// infoBudget bounds the bytes of infos in a message; the rest follows in later ones.
	infoBudget = 64 << 10
	// maxInfos bounds the infos in a message.
	maxInfos = 1024
)

var (
	errMessage = errors.New("liveness: malformed message")
	errVersion = errors.New("liveness: message of an unknown version")
)

// message is a decoded message.
type message struct {
	incarnation int64   // of the sender
	sent        int64   // the sender's own timestamp, for the receiver to echo
	echo        int64   // the latest sent that the sender has from the receiver; 0 if none
	to          int64   // the receiver's incarnation that sent it
	has         version // of the receiver's info in the sender's registry

	requestUntil int64 // end of the requested support; 0: none requested
	grant        grantMsg
	infos        []NodeInfo
	oldest       int64
	digest       uint64
	beat         bool // digest is present: this is a heartbeat, not a reply
	versions     []nodeVersion
	listed       bool // versions is present
	answer       bool // versions are an answer to the receiver's
}

// grantMsg is the support that a requester gets.
type grantMsg struct {
	incarnation int64 // of the requester that asked
	epoch       int64 // 0: no grant
	until       int64
}

type nodeVersion struct {
	id kvpb.NodeID
	version
}

// encoder builds a message.
type encoder struct{ b []byte }

func newMessage(incarnation, sent, echo, to int64, has version) *encoder {
	e := &encoder{b: make([]byte, 0, 128)}
	e.b = append(e.b, wireVersion)
	head := appendVersion(appendFixed(nil, incarnation, sent, echo, to), has)
	e.section(tagHead, head)
	return e
}

func (e *encoder) section(tag byte, payload []byte) {
	e.b = append(e.b, tag)
	e.b = binary.AppendUvarint(e.b, uint64(len(payload)))
	e.b = append(e.b, payload...)
}

func (e *encoder) fixed(tag byte, vs ...int64) {
	e.b = append(e.b, tag, byte(8*len(vs)))
	e.b = appendFixed(e.b, vs...)
}

func (e *encoder) requestUntil(until int64) { e.fixed(tagRequest, until) }
func (e *encoder) grant(g grantMsg)         { e.fixed(tagGrant, g.incarnation, g.epoch, g.until) }
func (e *encoder) oldest(wall int64)        { e.fixed(tagOldest, wall) }
func (e *encoder) digest(d uint64)          { e.fixed(tagDigest, int64(d)) }
func (e *encoder) info(n *NodeInfo)         { e.section(tagInfo, appendInfo(nil, n)) }
func (e *encoder) infoFits(infos int) bool  { return infos < maxInfos && len(e.b) < infoBudget }

func (e *encoder) versions(vs []nodeVersion, answer bool) {
	tag := byte(tagVersions)
	if answer {
		tag = tagAnswer
	}
	p := binary.AppendUvarint(nil, uint64(len(vs)))
	for _, v := range vs {
		p = binary.AppendUvarint(p, uint64(v.id))
		p = appendVersion(p, v.version)
	}
	e.section(tag, p)
}

func appendFixed(b []byte, vs ...int64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func appendVersion(b []byte, v version) []byte {
	b = append(b, bitIf(v.removed, 1))
	b = appendFixed(b, v.incarnation)
	return binary.AppendUvarint(b, v.seq)
}

func bitIf(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

const (
	bitStalled = 1 << iota
	bitFull
	bitSlow
	bitLate
)

const (
	bitDraining = 1 << iota
	bitDecommissioning
	bitRemoved
)

func appendInfo(b []byte, n *NodeInfo) []byte {
	b = binary.AppendUvarint(b, uint64(n.ID))
	b = appendFixed(b, n.Incarnation)
	b = binary.AppendUvarint(b, n.Seq)
	b = append(b, bitIf(n.Draining, bitDraining)|bitIf(n.Decommissioning, bitDecommissioning)|bitIf(n.Removed, bitRemoved))
	for _, s := range []string{n.Addr, n.SQLAddr, n.HTTPAddr, n.Locality, n.Version} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(len(n.Stores)))
	for _, s := range n.Stores {
		p := binary.AppendUvarint(nil, uint64(s.ID))
		p = appendFixed(p, s.CapacityBytes, s.UsedBytes, int64(s.Ranges), int64(s.Leaders),
			int64(math.Float64bits(s.QPS)), int64(math.Float64bits(s.WriteBytesPerSec)))
		p = append(p, bitIf(s.Stalled, bitStalled)|bitIf(s.Full, bitFull)|bitIf(s.Slow, bitSlow)|bitIf(s.Late, bitLate))
		p = appendFixed(p, s.OwnBytes)
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// decode reads a message. The result does not refer to b.
func decode(b []byte) (*message, error) {
	if len(b) == 0 || len(b) > maxMessage {
		return nil, errMessage
	}
	if b[0] != wireVersion {
		return nil, errVersion
	}
	m, d := &message{}, newDecoder(b[1:])
	for first := true; d.Len() > 0; first = false {
		tag := d.Byte()
		s := newDecoder(d.LenBytes())
		if d.Bad() || first != (tag == tagHead) {
			return nil, errMessage
		}
		m.section(tag, s)
		if s.Bad() {
			return nil, errMessage
		}
	}
	if m.incarnation == 0 {
		return nil, errMessage
	}
	return m, nil
}

func (m *message) section(tag byte, d *decoder) {
	switch tag {
	case tagHead:
		m.incarnation, m.sent, m.echo, m.to = d.fixed(), d.fixed(), d.fixed(), d.fixed()
		m.has = d.version()
	case tagRequest:
		m.requestUntil = d.fixed()
	case tagGrant:
		m.grant = grantMsg{incarnation: d.fixed(), epoch: d.fixed(), until: d.fixed()}
	case tagInfo:
		if len(m.infos) == maxInfos {
			d.Fail()
			return
		}
		m.infos = append(m.infos, d.info())
	case tagOldest:
		m.oldest = d.fixed()
	case tagDigest:
		m.digest, m.beat = uint64(d.fixed()), true
	case tagVersions, tagAnswer:
		m.versions, m.listed, m.answer = d.versions(), true, tag == tagAnswer
	}
}

// decoder decodes a message or a section. Missing fields at the end are zero.
type decoder struct{ encoding.Reader }

func newDecoder(b []byte) *decoder { return &decoder{encoding.NewReader(b)} }

func (d *decoder) fixed() int64 {
	if p := d.Take(8); p != nil {
		return int64(binary.LittleEndian.Uint64(p))
	}
	return 0
}

func (d *decoder) string() string {
	n := d.Uvarint()
	if n > maxString {
		d.Fail()
	}
	return string(d.Take(n))
}

func (d *decoder) version() version {
	return version{removed: d.Byte()&1 != 0, incarnation: d.fixed(), seq: d.Uvarint()}
}

func (d *decoder) versions() []nodeVersion {
	n := d.Uvarint()
	if n > maxNodes {
		d.Fail()
	}
	var vs []nodeVersion
	for range n {
		if d.Bad() {
			break
		}
		vs = append(vs, nodeVersion{kvpb.NodeID(d.Uvarint()), d.version()})
	}
	return vs
}

func (d *decoder) info() NodeInfo {
	n := NodeInfo{ID: kvpb.NodeID(d.Uvarint()), Incarnation: d.fixed(), Seq: d.Uvarint()}
	flags := d.Byte()
	n.Draining = flags&bitDraining != 0
	n.Decommissioning = flags&bitDecommissioning != 0
	n.Removed = flags&bitRemoved != 0
	n.Addr, n.SQLAddr, n.HTTPAddr = d.string(), d.string(), d.string()
	n.Locality, n.Version = d.string(), d.string()
	stores := d.Uvarint()
	if stores > maxStores || n.ID == 0 {
		d.Fail()
	}
	for range stores {
		if d.Bad() {
			break
		}
		s := newDecoder(d.LenBytes())
		n.Stores = append(n.Stores, s.store())
		if s.Bad() {
			d.Fail()
		}
	}
	return n
}

func (d *decoder) store() StoreInfo {
	s := StoreInfo{
		ID:            kvpb.StoreID(d.Uvarint()),
		CapacityBytes: d.fixed(), UsedBytes: d.fixed(),
		Ranges: int(d.fixed()), Leaders: int(d.fixed()),
		QPS: math.Float64frombits(uint64(d.fixed())), WriteBytesPerSec: math.Float64frombits(uint64(d.fixed())),
	}
	if !d.Bad() && d.Len() > 0 { // a node of an earlier version does not send it
		flags := d.Byte()
		s.Stalled, s.Full, s.Slow, s.Late = flags&bitStalled != 0, flags&bitFull != 0, flags&bitSlow != 0, flags&bitLate != 0
	}
	if !d.Bad() && d.Len() > 0 {
		s.OwnBytes = d.fixed()
	}
	return s
}
