package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame on the wire, integers little-endian:
//
//	length u32    bytes from type to the end of the payload
//	type u8, flags u8, code u16, id u64
//	payload
//	crc u32       CRC32C of everything before
//
// A payload longer than chunkSize travels as several frames: the first has
// flagFirst and starts with the total length (u32), the others have flagMore.

// magic opens every connection. No PostgreSQL start-up packet is as long as it would say, and TLS
// records start with 0x16.
const magic = "LICHENR1"

// FirstBytes is how much of a connection IsRPC needs: no more than the length that a start-up
// packet begins with, since a client that sends a wrong one may send nothing else.
const FirstBytes = 4

// IsRPC reports whether a plain connection that starts with first uses this protocol. The
// handshake checks the rest of magic.
func IsRPC(first []byte) bool {
	return len(first) >= FirstBytes && string(first[:FirstBytes]) == magic[:FirstBytes]
}

type frameType uint8

const (
	frameHello   frameType = 1 + iota // dialler to acceptor; payload: hello
	frameWelcome                      // acceptor to dialler; payload: hello
	frameRefuse                       // acceptor to dialler; code: Refusal, payload: text
	frameClock                        // first of each batch; id: the sender's clock
	framePing                         // id: to be echoed in the pong
	framePong                         // id: the mark; payload: physical clock, i64
	frameMessage                      // code: method
	frameCall                         // id, code: method; payload: request
	frameAnswer                       // id, code: status; payload: answer or text
	frameCancel                       // id: the caller has given up
	frameVoid                         // skipped: a call that was abandoned before it was sent
	frameLimit
)

const (
	flagFirst uint8 = 1 << iota // the first piece of a large payload
	flagMore                    // a further piece
)

const (
	lengthSize = 4
	fixedSize  = 1 + 1 + 2 + 8 // type to id
	headerSize = lengthSize + fixedSize
	crcSize    = 4
	totalSize  = 4 // in front of a first piece
	// chunkSize bounds the part of a large payload in one frame, and so the wait of a small frame
	// behind it.
	chunkSize = 32 << 10
	// maxFrame is the longest frame.
	maxFrame = headerSize + totalSize + chunkSize + crcSize
	// readBuffer has room for at least one frame.
	readBuffer = 64 << 10
	// clockFrame is the size of a clock frame.
	clockFrame = headerSize + crcSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCorrupt is the cause of all errors about bytes that no correct peer sends.
var errCorrupt = errors.New("rpc: damaged frame")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errCorrupt, fmt.Sprintf(format, args...))
}

// frame is a decoded frame; payload points into the read buffer.
type frame struct {
	typ     frameType
	flags   uint8
	code    uint16
	id      uint64
	total   int // of a first piece
	payload []byte
}

// openFrame appends a header; closeFrame completes the frame after its payload.
func openFrame(dst []byte, typ frameType, flags uint8, code uint16, id uint64) []byte {
	dst = append(dst, 0, 0, 0, 0, byte(typ), flags, byte(code), byte(code>>8))
	return binary.LittleEndian.AppendUint64(dst, id)
}

// closeFrame fills in the length of the frame that begins at start and appends
// its checksum.
func closeFrame(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthSize))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// appendFrame appends a whole frame.
func appendFrame(dst []byte, typ frameType, code uint16, id uint64, payload []byte) []byte {
	start := len(dst)
	dst = openFrame(dst, typ, 0, code, id)
	dst = append(dst, payload...)
	return closeFrame(dst, start)
}

// appendPiece appends the piece of payload that starts at off and returns where
// the next one starts.
func appendPiece(dst []byte, typ frameType, code uint16, id uint64, payload []byte, off int) ([]byte, int) {
	start := len(dst)
	if off == 0 {
		dst = openFrame(dst, typ, flagFirst, code, id)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	} else {
		dst = openFrame(dst, typ, flagMore, code, id)
	}
	end := min(off+chunkSize, len(payload))
	dst = append(dst, payload[off:end]...)
	return closeFrame(dst, start), end
}

// appendMessage appends a message, in pieces if it is large.
func appendMessage(dst []byte, m Method, msg []byte) []byte {
	if len(msg) <= chunkSize {
		return appendFrame(dst, frameMessage, uint16(m), 0, msg)
	}
	for off := 0; off < len(msg); {
		dst, off = appendPiece(dst, frameMessage, uint16(m), 0, msg, off)
	}
	return dst
}

// setFrame rewrites type and id of the frame that begins at start.
func setFrame(buf []byte, start int, typ frameType, id uint64) {
	length := int(binary.LittleEndian.Uint32(buf[start:]))
	end := start + lengthSize + length
	buf[start+lengthSize] = byte(typ)
	binary.LittleEndian.PutUint64(buf[start+lengthSize+4:], id)
	binary.LittleEndian.PutUint32(buf[end:], crc32.Checksum(buf[start:end], castagnoli))
}

// frameReader reads frames. Each is valid until the next.
type frameReader struct {
	br   *bufio.Reader
	last int // length of the last frame returned
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{br: bufio.NewReaderSize(r, readBuffer)}
}

// next returns the next frame. It returns io.EOF if the stream ended between two frames.
func (r *frameReader) next() (frame, error) {
	if _, err := r.br.Discard(r.last); err != nil {
		return frame{}, err
	}
	r.last = 0
	b, err := r.peek(lengthSize)
	if err != nil {
		return frame{}, err
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < fixedSize || n > maxFrame-lengthSize-crcSize {
		return frame{}, corrupt("length %d", n)
	}
	if b, err = r.peek(lengthSize + n + crcSize); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	body, sum := b[:lengthSize+n], binary.LittleEndian.Uint32(b[lengthSize+n:])
	if crc32.Checksum(body, castagnoli) != sum {
		return frame{}, corrupt("checksum differs")
	}
	r.last = len(b)
	return parseFrame(body[lengthSize:])
}

// peek returns the next n bytes without consuming them.
func (r *frameReader) peek(n int) ([]byte, error) {
	b, err := r.br.Peek(n)
	if errors.Is(err, io.EOF) && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// parseFrame decodes a frame without its length and checksum.
func parseFrame(b []byte) (frame, error) {
	f := frame{
		typ:     frameType(b[0]),
		flags:   b[1],
		code:    binary.LittleEndian.Uint16(b[2:]),
		id:      binary.LittleEndian.Uint64(b[4:]),
		payload: b[fixedSize:],
	}
	switch {
	case f.typ < frameHello || f.typ >= frameLimit:
		return frame{}, corrupt("type %d", f.typ)
	case f.flags != 0 && f.typ != frameMessage && f.typ != frameCall && f.typ != frameAnswer:
		return frame{}, corrupt("flags %d for type %d", f.flags, f.typ)
	case f.typ == framePong && len(f.payload) != 8:
		return frame{}, corrupt("pong of %d bytes", len(f.payload))
	}
	switch f.flags {
	case 0, flagMore:
		if len(f.payload) > chunkSize {
			return frame{}, corrupt("payload of %d bytes", len(f.payload))
		}
	case flagFirst:
		if len(f.payload) < totalSize {
			return frame{}, corrupt("first piece without a length")
		}
		total := binary.LittleEndian.Uint32(f.payload)
		f.payload = f.payload[totalSize:]
		if total > MaxPayload || int(total) <= len(f.payload) {
			return frame{}, corrupt("first piece of %d bytes of %d", len(f.payload), total)
		}
		f.total = int(total)
	default:
		return frame{}, corrupt("flags %d", f.flags)
	}
	return f, nil
}
