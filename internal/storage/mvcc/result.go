package mvcc

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
)

// ScanResult collects rows in one buffer, to be reused from scan to scan.
type ScanResult struct {
	// Resume is the rest of the span that is not scanned yet, empty if there is none.
	Resume keys.Span

	arena   []byte
	rows    []row
	scanner Scanner
}

type row struct {
	off        int
	klen, vlen uint32
	ts         hlc.Timestamp
}

// Reset forgets the rows and keeps the memory.
func (r *ScanResult) Reset() {
	r.arena, r.rows, r.Resume = r.arena[:0], r.rows[:0], keys.Span{}
}

// Len is the number of rows.
func (r *ScanResult) Len() int { return len(r.rows) }

// Bytes is the length of all keys and values.
func (r *ScanResult) Bytes() int { return len(r.arena) }

// Key returns the key of row i; it is valid until the result is reset or scanned
// into again.
func (r *ScanResult) Key(i int) []byte {
	e := &r.rows[i]
	end := e.off + int(e.klen)
	return r.arena[e.off:end:end]
}

// Value returns the payload of row i, valid as long as the key.
func (r *ScanResult) Value(i int) []byte {
	e := &r.rows[i]
	start := e.off + int(e.klen)
	end := start + int(e.vlen)
	return r.arena[start:end:end]
}

// Timestamp returns the time of the version of row i.
func (r *ScanResult) Timestamp(i int) hlc.Timestamp { return r.rows[i].ts }

// More reports whether part of the span is left to scan.
func (r *ScanResult) More() bool { return r.Resume.Start != nil }

func (r *ScanResult) add(key, value []byte, ts hlc.Timestamp) {
	r.rows = append(r.rows, row{off: len(r.arena), klen: uint32(len(key)), vlen: uint32(len(value)), ts: ts})
	r.arena = append(r.arena, key...)
	r.arena = append(r.arena, value...)
}

// resumeAfter sets Resume to what follows key in the direction of the scan.
func (r *ScanResult) resumeAfter(key []byte, span keys.Span, reverse bool) {
	if span.IsPoint() {
		return
	}
	if reverse {
		if string(key) != string(span.Start) {
			r.Resume = keys.Span{Start: span.Start, End: append([]byte(nil), key...)}
		}
		return
	}
	if next := keys.Next(key); string(next) != string(span.End) {
		r.Resume = keys.Span{Start: next, End: span.End}
	}
}
