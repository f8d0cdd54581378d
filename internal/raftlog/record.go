package raftlog

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/lichendb/lichen/internal/encoding"
)

// recordType is the type of a record. A record is its type, the length of its body
// (varint) and the body. A reader skips bytes behind the fields that it knows.
type recordType uint8

const (
	recEntries    recordType = 1 // entries appended to a group
	recHardState  recordType = 2
	recTruncate   recordType = 3 // entries up to a mark are no longer needed
	recReset      recordType = 4 // the log is emptied at a mark
	recDestroy    recordType = 5 // the group's log is removed
	recFreed      recordType = 6 // a segment holds nothing live and may be overwritten
	recMoved      recordType = 7 // live entries written again, to free their old segment
	recCheckpoint recordType = 8 // first record of a segment: the state of the log before it
)

func uvarintLen(x uint64) int { return (bits.Len64(x|1) + 6) / 7 }

func appendRecordHead(b []byte, t recordType, body int) []byte {
	return binary.AppendUvarint(append(b, byte(t)), uint64(body))
}

// appendNumbers appends a record whose body is a list of varints.
func appendNumbers(b []byte, t recordType, nums ...uint64) []byte {
	body := 0
	for _, n := range nums {
		body += uvarintLen(n)
	}
	b = appendRecordHead(b, t, body)
	for _, n := range nums {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func entryLen(e *Entry) int {
	return uvarintLen(e.Term) + 1 + uvarintLen(uint64(len(e.Data))) + 4 + len(e.Data)
}

// appendEntries appends a recEntries or recMoved record and, to locs, where in
// b the checksum of each entry stands; its data follow it.
func appendEntries(b []byte, locs []uint32, t recordType, g GroupID, replica uint64, ents []Entry) ([]byte, []uint32) {
	first := ents[0].Index
	body := uvarintLen(uint64(g)) + uvarintLen(replica) + uvarintLen(first) + uvarintLen(uint64(len(ents)))
	for i := range ents {
		body += entryLen(&ents[i])
	}
	b = appendRecordHead(b, t, body)
	for _, n := range [...]uint64{uint64(g), replica, first, uint64(len(ents))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range ents {
		e := &ents[i]
		b = binary.AppendUvarint(b, e.Term)
		b = append(b, e.Type)
		b = binary.AppendUvarint(b, uint64(len(e.Data)))
		locs = append(locs, uint32(len(b)))
		b = binary.LittleEndian.AppendUint32(b, entryChecksum(g, e))
		b = append(b, e.Data...)
	}
	return b, locs
}

// checkpoint is the state of the whole log at the head of a segment.
type checkpoint struct {
	segments []liveSegment
	groups   []groupCheckpoint
}

// liveSegment is an older segment with live entries, and the end of its frames.
type liveSegment struct {
	id  segID
	end uint64
}

type groupCheckpoint struct {
	group GroupID
	State
}

func appendCheckpoint(b []byte, c *checkpoint) []byte {
	body := binary.AppendUvarint(nil, uint64(len(c.segments)))
	for _, s := range c.segments {
		body = binary.AppendUvarint(body, uint64(s.id))
		body = binary.AppendUvarint(body, s.end)
	}
	body = binary.AppendUvarint(body, uint64(len(c.groups)))
	for i := range c.groups {
		g := &c.groups[i]
		for _, n := range [...]uint64{uint64(g.group), g.Replica, g.HardState.Term, g.HardState.Vote,
			g.HardState.Commit, g.Truncated.Index, g.Truncated.Term, g.Last} {
			body = binary.AppendUvarint(body, n)
		}
	}
	return append(appendRecordHead(b, recCheckpoint, len(body)), body...)
}

// record is one decoded record. Its slices point into the frame.
type record struct {
	typ     recordType
	group   GroupID
	replica uint64
	hard    HardState // recHardState
	mark    Mark      // recTruncate, recReset
	freed   segID     // recFreed
	ckpt    *checkpoint
	first   uint64 // recEntries, recMoved
	entries []entryLoc
}

// entryLoc is an entry and the place of its checksum in the payload.
type entryLoc struct {
	term uint64
	pos  uint32
	len  uint32
	typ  uint8
}

// decoder reads a record of a frame's payload.
type decoder struct {
	encoding.Reader
	end int // of the record, in the payload
}

// pos is the position in the payload.
func (d *decoder) pos() int { return d.end - d.Len() }

// decodeRecords calls visit for the n records of a payload. The record and its
// slices are reused for the next call.
func decodeRecords(payload []byte, n int, visit func(*record) error) error {
	var rec record
	rest := encoding.NewReader(payload)
	for i := range n {
		if rest.Len() == 0 {
			return fmt.Errorf("frame ends after %d of %d records", i, n)
		}
		rec = record{typ: recordType(rest.Byte()), entries: rec.entries[:0]}
		body := rest.LenBytes()
		if rest.Bad() {
			return fmt.Errorf("record %d exceeds its frame", i)
		}
		d := decoder{encoding.NewReader(body), len(payload) - rest.Len()}
		if err := rec.decode(&d); err != nil {
			return err
		}
		if d.Bad() {
			return fmt.Errorf("record %d of type %d is malformed", i, rec.typ)
		}
		if err := visit(&rec); err != nil {
			return err
		}
	}
	if rest.Len() != 0 {
		return fmt.Errorf("%d bytes after the last record", rest.Len())
	}
	return nil
}

func (r *record) decode(d *decoder) error {
	switch r.typ {
	case recFreed:
		r.freed = segID(d.Uvarint())
		return nil
	case recCheckpoint:
		r.ckpt = decodeCheckpoint(d)
		return nil
	}
	r.group, r.replica = GroupID(d.Uvarint()), d.Uvarint()
	switch r.typ {
	case recEntries, recMoved:
		r.decodeEntries(d)
	case recHardState:
		r.hard = HardState{Term: d.Uvarint(), Vote: d.Uvarint(), Commit: d.Uvarint()}
	case recTruncate, recReset:
		r.mark = Mark{Index: d.Uvarint(), Term: d.Uvarint()}
		if r.mark.Index > MaxIndex {
			d.Fail()
		}
	case recDestroy:
	default:
		return fmt.Errorf("unknown record type %d", r.typ)
	}
	return nil
}

func (r *record) decodeEntries(d *decoder) {
	r.first = d.Uvarint()
	n := d.Count(1 + 1 + 1 + 4)
	if r.first == 0 || n == 0 || r.first > MaxIndex || r.first+uint64(n) > MaxIndex {
		d.Fail()
	}
	for range n {
		e := entryLoc{term: d.Uvarint(), typ: d.Byte()}
		size := d.Uvarint()
		if size > MaxAppendBytes {
			d.Fail()
		}
		e.pos, e.len = uint32(d.pos()), uint32(size)
		d.Take(4 + size)
		if d.Bad() {
			return
		}
		r.entries = append(r.entries, e)
	}
}

func decodeCheckpoint(d *decoder) *checkpoint {
	c := &checkpoint{}
	for range d.Count(2) {
		c.segments = append(c.segments, liveSegment{id: segID(d.Uvarint()), end: d.Uvarint()})
	}
	for range d.Count(8) {
		g := groupCheckpoint{group: GroupID(d.Uvarint())}
		g.Replica = d.Uvarint()
		g.HardState = HardState{Term: d.Uvarint(), Vote: d.Uvarint(), Commit: d.Uvarint()}
		g.Truncated = Mark{Index: d.Uvarint(), Term: d.Uvarint()}
		g.Last = d.Uvarint()
		if g.Last < g.Truncated.Index || g.Last > MaxIndex {
			d.Fail()
		}
		c.groups = append(c.groups, g)
	}
	return c
}
