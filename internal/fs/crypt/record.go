package crypt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The layout of the registry; docs/formats/encryption.md describes it for other readers.
const (
	registryMagic   = "LICHENCF"
	registryVersion = 2
	registryHeader  = 40 // magic, version, id, generation, checksum
	// firstVersion has no generation.
	firstVersion = 1
	firstHeader  = 32
	recordHeader = 8 // length, checksum
	maxRecord    = 64 << 10
	// maxPath bounds the name of a file, within its store's directory.
	maxPath = 4096
	// maxParts bounds the parts of a file: how often its end is given up and written anew.
	maxParts = 256

	partBytes = 8 + 4 + 16

	recordFile = 1 // the parts of a file
	recordPart = 2 // one more part, which replaces those from its offset on
)

// record is an entry of the registry.
type record struct {
	kind  byte
	path  string
	parts []part
}

// start is the beginning of a registry.
type start struct {
	id         [16]byte
	generation uint64 // 0: of the first version
	size       int64
}

func (h *start) format() []byte {
	b := make([]byte, registryHeader)
	copy(b, registryMagic)
	binary.LittleEndian.PutUint32(b[8:], registryVersion)
	copy(b[12:28], h.id[:])
	binary.LittleEndian.PutUint64(b[28:], h.generation)
	binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(b[:36], castagnoli))
	return b
}

// parseStart reads the header of a registry.
func parseStart(b []byte) (h start, err error) {
	if len(b) < firstHeader || string(b[:8]) != registryMagic {
		return h, fmt.Errorf("%w: it does not begin as such a file does", ErrDamaged)
	}
	h.size = registryHeader
	switch v := binary.LittleEndian.Uint32(b[8:]); v {
	case registryVersion:
	case firstVersion:
		h.size = firstHeader
	default:
		return h, fmt.Errorf("%w: the file has version %d, this program reads versions %d to %d: run the release that wrote it", ErrVersion, v, firstVersion, registryVersion)
	}
	sum := h.size - 4
	if int64(len(b)) < h.size || binary.LittleEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli) {
		return h, fmt.Errorf("%w: the checksum of its header does not match", ErrDamaged)
	}
	h.id = [16]byte(b[12:28])
	if h.size == registryHeader {
		h.generation = binary.LittleEndian.Uint64(b[28:])
	}
	return h, nil
}

// appendRecord appends a record that begins at offset at of the file: its checksum covers that as well, so that
// no record is taken for one of another place.
func appendRecord(b []byte, at int64, r *record) []byte {
	start := len(b)
	b = append(b, make([]byte, recordHeader)...)
	b = append(b, r.kind)
	b = binary.AppendUvarint(b, uint64(len(r.path)))
	b = append(b, r.path...)
	b = binary.AppendUvarint(b, uint64(len(r.parts)))
	for i := range r.parts {
		p := &r.parts[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(p.from))
		b = binary.LittleEndian.AppendUint32(b, p.key)
		b = append(b, p.iv[:]...)
	}
	body := b[start+recordHeader:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], recordSum(at, body))
	return b
}

func recordSum(at int64, body []byte) uint32 {
	return crc32.Update(uint32(at)^uint32(at>>32), castagnoli, body)
}

// intact returns the body of the record at an offset, nil if there is none.
func intact(b []byte, at int64) []byte {
	if int64(len(b)) < at+recordHeader {
		return nil
	}
	n := int64(binary.LittleEndian.Uint32(b[at:]))
	if n == 0 || n > maxRecord || at+recordHeader+n > int64(len(b)) {
		return nil
	}
	body := b[at+recordHeader : at+recordHeader+n]
	if recordSum(at, body) != binary.LittleEndian.Uint32(b[at+4:]) {
		return nil
	}
	return body
}

var errRecord = errors.New("malformed record")

func parseRecord(body []byte) (r record, err error) {
	r.kind, body = body[0], body[1:]
	n, k := binary.Uvarint(body)
	if k <= 0 || n == 0 || n > maxPath || n > uint64(len(body)-k) {
		return r, errRecord
	}
	r.path, body = string(body[k:k+int(n)]), body[k+int(n):]
	n, k = binary.Uvarint(body)
	if k <= 0 || n == 0 || n > maxParts || n*partBytes != uint64(len(body)-k) {
		return r, errRecord
	}
	body = body[k:]
	r.parts = make([]part, n)
	for i := range r.parts {
		p := &r.parts[i]
		p.from, p.key, p.iv = int64(binary.LittleEndian.Uint64(body)), binary.LittleEndian.Uint32(body[8:]), [16]byte(body[12:28])
		if p.from < 0 || i > 0 && p.from <= r.parts[i-1].from {
			return r, errRecord
		}
		body = body[partBytes:]
	}
	if r.kind != recordFile && r.kind != recordPart || r.kind == recordPart && n != 1 || r.kind == recordFile && r.parts[0].from != 0 {
		return r, errRecord
	}
	return r, nil
}
