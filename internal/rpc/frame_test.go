package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	var buf []byte
	buf = appendFrame(buf, frameCall, 7, 1<<40, []byte("hello"))
	buf = appendFrame(buf, frameClock, 0, 0, nil)
	setFrame(buf, len(buf)-clockFrame, frameClock, 12345)
	large := payload(2*chunkSize + 10)
	for off := 0; off < len(large); {
		buf, off = appendPiece(buf, frameAnswer, 2, 9, large, off)
	}
	r := newFrameReader(iotestOneByte{bytes.NewReader(buf)})
	want := []frame{
		{typ: frameCall, code: 7, id: 1 << 40, payload: []byte("hello")},
		{typ: frameClock, id: 12345, payload: []byte{}},
		{typ: frameAnswer, flags: flagFirst, code: 2, id: 9, total: len(large), payload: large[:chunkSize]},
		{typ: frameAnswer, flags: flagMore, code: 2, id: 9, payload: large[chunkSize : 2*chunkSize]},
		{typ: frameAnswer, flags: flagMore, code: 2, id: 9, payload: large[2*chunkSize:]},
	}
	for i, f := range want {
		got, err := r.next()
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("frame %d: %+v, %v", i, got, err)
		}
	}
	if _, err := r.next(); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
	// Every damaged byte and every cut is noticed.
	whole := appendFrame(nil, frameCall, 7, 3, []byte("hello"))
	for i := range whole {
		if _, err := newFrameReader(bytes.NewReader(whole[:i])).next(); i > 0 && err != io.ErrUnexpectedEOF {
			t.Fatalf("cut at %d: %v", i, err)
		}
		bad := bytes.Clone(whole)
		bad[i] ^= 0x10
		if _, err := newFrameReader(bytes.NewReader(bad)).next(); !errors.Is(err, errCorrupt) && err != io.ErrUnexpectedEOF {
			t.Fatalf("damaged at %d: %v", i, err)
		}
	}
}

// iotestOneByte returns one byte per read.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// seal gives a frame without checksum, from the type on, its length and checksum.
func seal(body []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// firstPiece and nextPiece are pieces smaller than a writer makes them.
func firstPiece(typ frameType, m Method, id uint64, total uint32, n int) []byte {
	b := openFrame(nil, typ, flagFirst, uint16(m), id)
	return closeFrame(append(binary.LittleEndian.AppendUint32(b, total), payload(n)...), 0)
}

func nextPiece(typ frameType, m Method, id uint64, n int) []byte {
	return closeFrame(append(openFrame(nil, typ, flagMore, uint16(m), id), payload(n)...), 0)
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{byte(frameCall), 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'x'}, false)
	first := firstPiece(frameAnswer, 0, 3, 12, 8)
	f.Add(first[lengthSize:len(first)-crcSize], false)
	f.Add(appendFrame(nil, framePing, 0, 5, nil), true)
	f.Add([]byte{255, 255, 255, 255, 0}, true)
	f.Fuzz(func(t *testing.T, b []byte, raw bool) {
		if !raw {
			b = seal(b)
		}
		r := newFrameReader(bytes.NewReader(b))
		for {
			fr, err := r.next()
			if err != nil {
				return
			}
			// What is accepted is what a writer writes.
			again := openFrame(nil, fr.typ, fr.flags, fr.code, fr.id)
			if fr.flags == flagFirst {
				again = binary.LittleEndian.AppendUint32(again, uint32(fr.total))
			}
			again = closeFrame(append(again, fr.payload...), 0)
			if !bytes.HasPrefix(b, again) {
				t.Fatalf("%x decodes as %+v, which encodes as %x", b, fr, again)
			}
			b = b[len(again):]
		}
	})
}

func FuzzHello(f *testing.F) {
	h := hello{protocol: 1, minProtocol: 1, class: classCalls, node: 1, expect: 2, physical: 5, clock: 6, cluster: "c", version: "v"}
	f.Add(h.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil || len(h.cluster) > maxName || len(h.version) > maxName {
			return
		}
		if again := h.append(nil); !bytes.HasPrefix(b, again) {
			t.Fatalf("%x decodes as %+v, which encodes as %x", b, h, again)
		}
	})
}

// FuzzConn feeds a connection whatever frames the fuzzer makes, each a length byte
// and what follows the length on the wire: it must end with an error or take them,
// without a panic.
func FuzzConn(f *testing.F) {
	seed := func(calls bool, frames ...[]byte) {
		var b []byte
		for _, fr := range frames {
			fr = fr[lengthSize : len(fr)-crcSize]
			b = append(append(b, byte(len(fr))), fr...)
		}
		f.Add(b, calls)
	}
	seed(true, appendFrame(nil, frameCall, uint16(echo), 1, []byte("x")), appendFrame(nil, framePing, 0, 9, nil))
	seed(true, firstPiece(frameCall, echo, 3, 12, 8), appendFrame(nil, frameCancel, 0, 3, nil))
	seed(true, firstPiece(frameCall, echo, 3, 12, 8), nextPiece(frameCall, echo, 3, 4))
	seed(false, firstPiece(frameMessage, note, 0, 12, 8), nextPiece(frameMessage, note, 0, 4))
	f.Fuzz(func(t *testing.T, b []byte, calls bool) {
		var stream []byte
		for len(b) > 0 {
			n := min(1+int(b[0]), len(b))
			stream = append(stream, seal(b[1:n])...)
			b = b[n:]
		}
		w := newNetwork(t)
		n := w.node(1)
		cl := classMessages
		if calls {
			cl = classCalls
		}
		a, other := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, other) }()
		c := n.newConn(a, cl, false)
		c.peer = 2
		c.fr = newFrameReader(bytes.NewReader(stream))
		if !n.enter() {
			t.Fatal("closed")
		}
		c.run()
		n.leave()
		n.Close()
		other.Close()
	})
}

func TestDamagedConnections(t *testing.T) {
	w := newNetwork(t)
	b := w.node(2)
	h := hello{protocol: 1, minProtocol: 1, node: 1, expect: 2, cluster: "c1"}
	// open greets b as a node of the class would.
	open := func(cl class) net.Conn {
		h.class, h.clock = cl, b.clock.Now().WallTime
		h.physical = h.clock
		c, _ := w.dial(t.Context(), "node2")
		if _, err := c.Write(appendFrame([]byte(magic), frameHello, 0, 0, h.append(nil))); err != nil {
			t.Fatal(err)
		}
		f, err := newFrameReader(c).next()
		if err != nil || f.typ != frameWelcome {
			t.Fatalf("%+v, %v", f, err)
		}
		return c
	}
	first := func(typ frameType, m Method) []byte { return firstPiece(typ, m, 3, 12, 8) }
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	for _, c := range []struct {
		name  string
		cl    class
		bytes []byte
		want  string
	}{
		{"garbage", classCalls, []byte("GET / HTTP/1.1\r\n\r\n"), "length"},
		{"oversized", classCalls, firstPiece(frameCall, echo, 1, MaxPayload+1, 0), "of 67108865"},
		{"checksum", classCalls, []byte{12, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, "checksum"},
		{"type", classCalls, seal([]byte{99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "type 99"},
		{"message among calls", classCalls, appendMessage(nil, note, nil), "type 7 on a connection for calls"},
		{"call among messages", classMessages, appendFrame(nil, frameCall, uint16(echo), 1, nil), "type 8 on a connection for messages"},
		{"answer without a call", classCalls, appendFrame(nil, frameAnswer, 0, 1, nil), "type 9"},
		{"second hello", classCalls, appendFrame(nil, frameHello, 0, 0, h.append(nil)), "type 1"},
		{"piece without a first", classCalls, nextPiece(frameCall, echo, 3, 4), "out of order"},
		{"two firsts", classCalls, join(first(frameCall, echo), first(frameCall, echo)), "out of order"},
		{"too much", classCalls, join(first(frameCall, echo), nextPiece(frameCall, echo, 3, 5)), "piece of 5 bytes"},
		{"one call twice", classCalls, join(appendFrame(nil, frameCall, uint16(hang), 1, nil), appendFrame(nil, frameCall, uint16(hang), 1, nil)), "twice"},
		{"message within a message", classMessages, join(first(frameMessage, note), appendMessage(nil, note, nil)), "message within"},
		{"clock of the year 2200", classMessages, appendFrame(nil, frameClock, 0, 7.2e18, nil), "clock"},
		{"clock an hour ahead", classMessages, appendFrame(nil, frameClock, 0, uint64(b.clock.Now().WallTime+3600e9), nil), "clock"},
	} {
		conn := open(c.cl)
		b.log.mu.Lock()
		b.log.b.Reset()
		b.log.mu.Unlock()
		_, _ = conn.Write(c.bytes)
		_, _ = io.Copy(io.Discard, conn)
		if log := b.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, c.want) {
			t.Errorf("%s: logged %q", c.name, log)
		}
		conn.Close()
	}
	if m := b.Metrics(); m.ConnsBroken != 15 {
		t.Errorf("%d counted", m.ConnsBroken)
	}
}
