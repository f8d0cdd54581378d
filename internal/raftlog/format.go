package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The layout on disk; docs/formats/raftlog.md describes it for other readers.
const (
	formatVersion = 1

	// headerBlock is the room of the segment header; frames start there.
	headerBlock = 4096
	headerBytes = 28
	// frameHeader precedes the payload of every frame.
	frameHeader = 32
	frameAlign  = 8
	// entryOverhead is the bytes an entry takes at most besides its data.
	entryOverhead = 24
)

var (
	segmentMagic = [8]byte{'L', 'I', 'C', 'H', 'R', 'L', 'O', 'G'}
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
)

// segID identifies one use of a segment file. The upper 40 bits count the segments of
// the log. The lower 24 are random, so that no id is used twice even if a crash makes
// the log repeat a count.
type segID uint64

func makeSegID(seq, random uint64) segID { return segID(seq<<24 | random&(1<<24-1)) }

func (id segID) seq() uint64 { return uint64(id) >> 24 }

func (id segID) String() string { return fmt.Sprintf("%d.%06x", id.seq(), uint64(id)&(1<<24-1)) }

// checksum is the CRC-32C of b, continued from a seed made of the segment id.
func checksum(id segID, b []byte) uint32 {
	return crc32.Update(uint32(id)^uint32(id>>32), castagnoli, b)
}

// putHeader writes the segment header into the first bytes of b.
func putHeader(b []byte, id segID) {
	copy(b, segmentMagic[:])
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint32(b[12:], headerBlock)
	binary.LittleEndian.PutUint64(b[16:], uint64(id))
	binary.LittleEndian.PutUint32(b[24:], checksum(id, b[:24]))
}

// headerKind is the condition of a segment file's header.
type headerKind int

const (
	headerBlank   headerKind = iota // zeros: never used
	headerDamaged                   // torn or corrupt
	headerValid
	headerForeign // intact, but of another format version
)

// readHeader decodes a segment header. For headerForeign the id is the version.
func readHeader(b []byte) (segID, headerKind) {
	if len(b) < headerBytes {
		return 0, headerDamaged
	}
	blank := true
	for _, c := range b[:headerBytes] {
		blank = blank && c == 0
	}
	if blank {
		return 0, headerBlank
	}
	id := segID(binary.LittleEndian.Uint64(b[16:]))
	if [8]byte(b[:8]) != segmentMagic || checksum(id, b[:24]) != binary.LittleEndian.Uint32(b[24:]) {
		return 0, headerDamaged
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != formatVersion {
		return segID(v), headerForeign
	}
	if id == 0 || binary.LittleEndian.Uint32(b[12:]) != headerBlock {
		return 0, headerDamaged
	}
	return id, headerValid
}

// frameInfo is a decoded frame header.
type frameInfo struct {
	payload int    // bytes of payload
	synced  uint64 // offset known to be durable when the frame was written
	records int
}

func (f frameInfo) size() int64 { return frameSize(f.payload) }

// frameSize is the room a frame takes in the segment, padding included.
func frameSize(payload int) int64 {
	return (int64(payload) + frameHeader + frameAlign - 1) &^ (frameAlign - 1)
}

// sealFrame fills in the header of the frame in b, whose payload follows the
// header, and returns b padded to the frame alignment.
func sealFrame(b []byte, id segID, synced int64, records int) []byte {
	payload := len(b) - frameHeader
	binary.LittleEndian.PutUint32(b[4:], uint32(payload))
	binary.LittleEndian.PutUint64(b[8:], uint64(id))
	binary.LittleEndian.PutUint64(b[16:], uint64(synced))
	binary.LittleEndian.PutUint32(b[24:], uint32(records))
	binary.LittleEndian.PutUint32(b[28:], 0)
	binary.LittleEndian.PutUint32(b, checksum(id, b[4:]))
	for len(b)%frameAlign != 0 {
		b = append(b, 0)
	}
	return b
}

// peekFrame reads a frame header without checking the checksum. It fails if
// the header cannot belong to segment id or the frame exceeds room bytes.
func peekFrame(b []byte, id segID, room int64) (frameInfo, bool) {
	if len(b) < frameHeader || segID(binary.LittleEndian.Uint64(b[8:])) != id {
		return frameInfo{}, false
	}
	f := frameInfo{
		payload: int(binary.LittleEndian.Uint32(b[4:])),
		synced:  binary.LittleEndian.Uint64(b[16:]),
		records: int(binary.LittleEndian.Uint32(b[24:])),
	}
	return f, f.size() <= room
}

// frameValid checks the checksum of the frame that starts b.
func frameValid(b []byte, f frameInfo, id segID) bool {
	end := frameHeader + f.payload
	return len(b) >= end && checksum(id, b[4:end]) == binary.LittleEndian.Uint32(b)
}

// entryChecksum covers an entry's data and, by the seed, its group, index, term and type. So a
// read from disk can be checked without the rest of the frame.
func entryChecksum(g GroupID, e *Entry) uint32 {
	h := uint64(g)*0x9e3779b97f4a7c15 + e.Index
	h = h*0x9e3779b97f4a7c15 + e.Term
	h = h*0x9e3779b97f4a7c15 + uint64(e.Type)
	return crc32.Update(uint32(h)^uint32(h>>32), castagnoli, e.Data)
}
