package raftlog

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// buildSegment makes a segment file whose frames have the given payloads and
// valid checksums, so that the fuzzer gets past them.
func buildSegment(payloads [][]byte, records []int) []byte {
	const id = segID(3<<24 | 12345)
	b := make([]byte, headerBlock, 16<<10)
	putHeader(b, id)
	for i, p := range payloads {
		f := append(make([]byte, frameHeader), p...)
		b = append(b, sealFrame(f, id, int64(len(b)), records[i])...)
	}
	for len(b) < 16<<10 {
		b = append(b, 0)
	}
	return b
}

// openBytes opens a log whose only segment file is b and, if it opens, uses it.
func openBytes(t *testing.T, b []byte) {
	mem := fs.NewMem()
	if err := mem.MkdirAll(testDir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := mem.Create(testDir+"/00000001.rlog", fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append([]byte(nil), b...)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(testOptions(mem))
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Fatalf("refused for another reason than damage: %v", err)
		}
		return
	}
	l.check(t)
	for _, g := range l.Groups() {
		s, _ := l.State(g)
		if _, err := l.Entries(g, s.Truncated.Index+1, s.Last+1, noIndex); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if s.Last < MaxIndex {
			appendN(t, l, 1<<60, 1, 1, 1, 10)
			if err := l.Destroy(1<<60, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func seedPayloads() (ckpt, data []byte, records int) {
	ckpt = appendCheckpoint(nil, &checkpoint{groups: []groupCheckpoint{{7, State{Replica: 1, Truncated: Mark{5, 1}, Last: 5}}}})
	data, _ = appendEntries(nil, nil, recEntries, 7, 1, entries(7, 6, 3, 1, 20))
	data = appendNumbers(data, recHardState, 7, 1, 4, 2, 6)
	data = appendNumbers(data, recTruncate, 7, 1, 6, 1)
	data, _ = appendEntries(data, nil, recMoved, 7, 1, entries(7, 7, 1, 1, 20))
	data = appendNumbers(data, recReset, 8, 1, 100, 4)
	data = appendNumbers(data, recDestroy, 8, 1)
	data = appendNumbers(data, recFreed, 2<<24)
	return ckpt, data, 7
}

// FuzzRecords puts arbitrary payloads into frames with valid checksums and
// opens a log of them.
func FuzzRecords(f *testing.F) {
	ckpt, data, n := seedPayloads()
	f.Add(ckpt, data, uint16(n))
	f.Add(ckpt, []byte{}, uint16(0))
	old := appendCheckpoint(nil, &checkpoint{segments: []liveSegment{{2 << 24, 5000}}, groups: []groupCheckpoint{{7, State{Last: 1 << 40}}}})
	f.Add(old, data, uint16(1))
	f.Fuzz(func(t *testing.T, ckpt, data []byte, n uint16) {
		if len(ckpt)+len(data) > 8<<10 {
			return
		}
		openBytes(t, buildSegment([][]byte{ckpt, data}, []int{1, int(n)}))
	})
}

// FuzzSegment opens a log whose segment file is arbitrary, but that the
// fuzzer may ask for the checksums of the header and one frame to be mended.
func FuzzSegment(f *testing.F) {
	ckpt, data, n := seedPayloads()
	whole := buildSegment([][]byte{ckpt, data}, []int{1, n})
	f.Add(whole, uint16(headerBlock))
	f.Add(whole[:headerBlock+10], uint16(0))
	f.Add([]byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, mend uint16) {
		if len(b) > 64<<10 {
			return
		}
		b = append([]byte(nil), b...)
		if len(b) >= headerBytes && mend != 0 {
			id := segID(binary.LittleEndian.Uint64(b[16:]))
			binary.LittleEndian.PutUint32(b[24:], checksum(id, b[:24]))
			if at := int(mend); at+frameHeader <= len(b) {
				end := at + frameHeader + int(binary.LittleEndian.Uint32(b[at+4:]))
				if end > at && end <= len(b) {
					binary.LittleEndian.PutUint32(b[at:], checksum(id, b[at+4:end]))
				}
			}
		}
		openBytes(t, b)
	})
}
