package raftlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// scanChunk is how much recovery reads at once.
const scanChunk = 1 << 20

// frameReader reads the frames of a segment through a window of its file.
type frameReader struct {
	s     *segment
	buf   []byte
	start int64 // offset of buf[0]
}

func newFrameReader(s *segment) *frameReader { return &frameReader{s: s} }

// at returns n bytes at offset off, which must be within the file. They are
// valid until the next call.
func (r *frameReader) at(off, n int64) ([]byte, error) {
	if off >= r.start && off+n <= r.start+int64(len(r.buf)) {
		return r.buf[off-r.start:][:n], nil
	}
	want := min(max(n, scanChunk), r.s.size-off)
	if want < n {
		return nil, fmt.Errorf("raftlog: read %s: %d bytes at %d are beyond its end", r.s.path, n, off)
	}
	if off == 0 {
		want = n // the header, not what follows
	}
	if int64(cap(r.buf)) < want {
		r.buf = make([]byte, want)
	}
	r.buf, r.start = r.buf[:want], off
	if k, err := r.s.file.ReadAt(r.buf, off); int64(k) < want {
		r.buf = r.buf[:0]
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("raftlog: read %s at %d: %w", r.s.path, off, err)
	}
	return r.buf[:n], nil
}

// idAt returns the segment id in the frame at off, zero if off is too
// near the end.
func (r *frameReader) idAt(off int64) (segID, error) {
	if off+frameHeader > r.s.size {
		return 0, nil
	}
	b, err := r.at(off, frameHeader)
	if err != nil {
		return 0, err
	}
	return segID(binary.LittleEndian.Uint64(b[8:])), nil
}

// frame reads the frame of segment id at off. The payload is nil if there is
// no intact one.
func (r *frameReader) frame(id segID, off int64) (frameInfo, []byte, error) {
	room := r.s.size - off
	if room < frameHeader {
		return frameInfo{}, nil, nil
	}
	b, err := r.at(off, frameHeader)
	if err != nil {
		return frameInfo{}, nil, err
	}
	info, ok := peekFrame(b, id, room)
	if !ok {
		return frameInfo{}, nil, nil
	}
	if b, err = r.at(off, frameHeader+int64(info.payload)); err != nil {
		return frameInfo{}, nil, err
	}
	if !frameValid(b, info, id) {
		return frameInfo{}, nil, nil
	}
	return info, b[frameHeader:], nil
}

// findProof searches behind from for an intact frame of segment id that was written
// when offset at was known to be durable. It returns the frame's offset, or -1.
func (r *frameReader) findProof(id segID, from, at int64) (int64, error) {
	var pattern [8]byte
	binary.LittleEndian.PutUint64(pattern[:], uint64(id))
	pos := max(from, headerBlock) // next place to look for the pattern
	for pos+int64(len(pattern)) <= r.s.size {
		chunk, err := r.at(pos, min(scanChunk, r.s.size-pos))
		if err != nil {
			return -1, err
		}
		i := bytes.Index(chunk, pattern[:])
		if i < 0 {
			if pos+int64(len(chunk)) >= r.s.size {
				break
			}
			pos += int64(len(chunk)) - int64(len(pattern)) + 1
			continue
		}
		start := pos + int64(i) - 8
		pos += int64(i) + 1
		if start < headerBlock || start%frameAlign != 0 {
			continue
		}
		info, payload, err := r.frame(id, start)
		if err != nil {
			return -1, err
		}
		if payload != nil && int64(info.synced) > at {
			return start, nil
		}
	}
	return -1, nil
}
