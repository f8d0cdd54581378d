package raftlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

const (
	// Entries that lie at most readGap apart are read together. readChunk bounds one
	// read, unless an entry is larger.
	readGap   = 16 << 10
	readChunk = 1 << 20
)

// Term returns the term of entry i of g, which may be the truncated one just
// before the first. It never touches the disk.
func (l *Log) Term(g GroupID, i uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	grp := l.get(g)
	if grp == nil {
		if i == 0 {
			return 0, nil
		}
		return 0, ErrUnavailable
	}
	return grp.term(i)
}

// Entries returns the first of the entries [lo, hi) of g: as many as have at most
// maxBytes of data, and at least one. The data are shared and must not be changed.
func (l *Log) Entries(g GroupID, lo, hi, maxBytes uint64) ([]Entry, error) {
	if lo >= hi {
		return nil, nil
	}
	l.mu.Lock()
	grp := l.get(g)
	switch {
	case grp == nil:
		l.mu.Unlock()
		return nil, ErrUnavailable
	case lo < grp.first():
		l.mu.Unlock()
		return nil, ErrCompacted
	case hi > grp.Last+1:
		l.mu.Unlock()
		return nil, ErrUnavailable
	}
	out, cached := grp.collect(lo, hi, maxBytes)
	if cached == 0 {
		l.stats.CacheHits++
		l.mu.Unlock()
		return out, nil
	}
	if l.closing {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	l.stats.DiskReads++
	refs := slices.Clone(grp.refs[lo-grp.first():][:cached])
	parts := l.split(refs)
	l.mu.Unlock()

	var err error
	for _, p := range parts {
		if err == nil {
			err = readEntries(p.seg, g, refs[p.from:p.to], out[p.from:p.to])
		}
	}
	l.mu.Lock()
	for _, p := range parts {
		l.unpin(p.seg)
	}
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return out, nil
}

// collect returns the entries [lo, hi) within maxBytes, with the data of those
// from out[cached] on.
func (g *group) collect(lo, hi, maxBytes uint64) (out []Entry, cached int) {
	refs := g.refs[lo-g.first() : hi-g.first()]
	size := uint64(0)
	for i := range refs {
		size += uint64(refs[i].len)
		if i > 0 && size > maxBytes {
			refs = refs[:i]
			break
		}
	}
	out = make([]Entry, len(refs))
	cf := g.cacheFirst()
	cached = len(refs)
	for i := range refs {
		idx := lo + uint64(i)
		out[i] = Entry{Index: idx, Term: refs[i].term, Type: refs[i].typ}
		if idx >= cf {
			cached = min(cached, i)
			out[i].Data = g.data[idx-cf]
		}
	}
	return out, cached
}

// part is a run of entries in one segment, which is pinned.
type part struct {
	seg      *segment
	from, to int
}

// split divides refs by segment and pins the segments. mu is held.
func (l *Log) split(refs []entryRef) []part {
	var parts []part
	for i, r := range refs {
		if i > 0 && refs[i-1].slot == r.slot {
			parts[len(parts)-1].to++
			continue
		}
		s := l.segs[r.slot]
		l.pin(s)
		parts = append(parts, part{seg: s, from: i, to: i + 1})
	}
	return parts
}

// pin keeps s from being reused while it is read. mu is held.
func (l *Log) pin(s *segment) {
	s.readers++
	l.readers++
}

// unpin ends a read of s. mu is held.
func (l *Log) unpin(s *segment) {
	l.readers--
	l.changed.Broadcast()
	if s.readers--; s.readers > 0 {
		return
	}
	if i := slices.Index(l.draining, s); i >= 0 {
		l.draining = slices.Delete(l.draining, i, i+1)
		l.reuse(s)
		l.kick()
	}
}

// readEntries fills in the data of ents, which are at refs in s, and verifies
// them. Neighbours are read together.
func readEntries(s *segment, g GroupID, refs []entryRef, ents []Entry) error {
	for i := 0; i < len(refs); {
		start := int64(refs[i].off)
		end := start + 4 + int64(refs[i].len)
		n := i + 1
		for ; n < len(refs); n++ {
			at := int64(refs[n].off)
			stop := at + 4 + int64(refs[n].len)
			if at < end || at-end > readGap || stop-start > readChunk {
				break
			}
			end = stop
		}
		buf := make([]byte, end-start)
		if k, err := s.file.ReadAt(buf, start); k < len(buf) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("raftlog: read %s at %d: %w", s.path, start, err)
		}
		for ; i < n; i++ {
			at := int64(refs[i].off) - start
			b := buf[at : at+4+int64(refs[i].len) : at+4+int64(refs[i].len)]
			ents[i].Data = b[4:]
			if binary.LittleEndian.Uint32(b) != entryChecksum(g, &ents[i]) {
				return fmt.Errorf("%w: %s: bad checksum of entry %d of group %d at offset %d",
					ErrCorrupt, s.path, ents[i].Index, g, refs[i].off)
			}
		}
	}
	return nil
}
