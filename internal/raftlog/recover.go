package raftlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/fs"
)

// recovery rebuilds the log from its files. It changes nothing on disk before it is
// certain to succeed, so that it leaves a refused log unchanged.
type recovery struct {
	l     *Log
	files []*found
	temps []string
	freed map[segID]bool // declared free by the newest segment
	note  string         // a damaged file, for the error if something is missing
}

// found is a segment file with its decoded header.
type found struct {
	*segment
	kind headerKind
	used bool // newest, or listed by it and not freed
}

// recover fills an empty Log from the files of its directory.
//
// The newest segment decides: its checkpoint is the state of the log before it
// and lists the older segments still needed. Its frames are replayed on the
// checkpoint, and only then the older segments are read for the entries
// whose place is still unknown. They must be intact to the last frame.
func (l *Log) recover() error {
	r := &recovery{l: l, freed: map[segID]bool{}}
	if err := r.scanDir(); err != nil {
		r.close()
		return err
	}
	if err := r.load(); err != nil {
		r.close()
		l.segs = map[uint32]*segment{}
		return err
	}
	r.reuseFiles()
	for _, g := range l.groups {
		g.resetQueued()
	}
	l.onDead = l.segmentDied
	for _, s := range l.segs {
		if s.liveEntries == 0 {
			l.segmentDied(s)
		}
	}
	return nil
}

func (r *recovery) close() {
	for _, f := range r.files {
		_ = f.file.Close()
	}
}

// scanDir opens the segment files and reads their headers.
func (r *recovery) scanDir() error {
	o := &r.l.o
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return fmt.Errorf("raftlog: list %s: %w", o.Dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		path := o.FS.PathJoin(o.Dir, name)
		if strings.HasSuffix(name, segmentSuffix+tempSuffix) {
			r.temps = append(r.temps, path)
			continue
		}
		slot, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		r.l.nextSlot = max(r.l.nextSlot, slot+1)
		if err := r.openFile(path, slot); err != nil {
			return err
		}
	}
	return nil
}

func (r *recovery) openFile(path string, slot uint32) error {
	file, err := r.l.o.FS.OpenReadWrite(path, fs.WriteUnspecified)
	if err != nil {
		return fmt.Errorf("raftlog: open %s: %w", path, err)
	}
	f := &found{segment: &segment{slot: slot, path: path, file: file}}
	r.files = append(r.files, f)
	st, err := file.Stat()
	if err != nil {
		return fmt.Errorf("raftlog: stat %s: %w", path, err)
	}
	f.size = st.Size()
	fr := newFrameReader(f.segment)
	head, err := fr.at(0, min(headerBytes, f.size))
	if err != nil {
		return err
	}
	f.id, f.kind = readHeader(head)
	switch f.kind {
	case headerForeign:
		return fmt.Errorf("%w: %s has version %d, this program reads %d", ErrVersion, path, f.id, formatVersion)
	case headerValid:
		r.l.nextSeq = max(r.l.nextSeq, f.id.seq()+1)
	case headerDamaged:
		r.note = fmt.Sprintf("; %s has a damaged header", path)
	}
	return r.skipUsed(fr)
}

// skipUsed prevents that the count in the id of a checkpoint is used again, even if a
// crash has lost the header before it.
func (r *recovery) skipUsed(fr *frameReader) error {
	id, err := fr.idAt(headerBlock)
	if err != nil || id.seq() < r.l.nextSeq {
		return err
	}
	if _, payload, err := fr.frame(id, headerBlock); err != nil || payload == nil {
		return err
	}
	r.l.nextSeq = id.seq() + 1
	return nil
}

// load finds the newest segment and rebuilds the index from it and from the segments
// that its checkpoint lists.
func (r *recovery) load() error {
	newest, ckpt, start, err := r.newest()
	if err != nil {
		return err
	}
	// A file may have been renamed to its name just before the process died,
	// and its directory entry never synced.
	if err := fs.SyncDir(r.l.o.FS, r.l.o.Dir); err != nil {
		return fmt.Errorf("raftlog: sync %s: %w", r.l.o.Dir, err)
	}
	if newest == nil {
		return nil
	}
	newest.used = true
	r.l.active = newest.segment
	r.l.segs[newest.slot] = newest.segment
	if err := r.restore(ckpt); err != nil {
		return fmt.Errorf("%w: %s: checkpoint: %w", ErrCorrupt, newest.path, err)
	}
	if err := r.replay(newest.segment, start); err != nil {
		return err
	}
	if err := r.fillFrom(ckpt.segments, newest); err != nil {
		return err
	}
	if err := r.complete(); err != nil {
		return err
	}
	// The last frames may never have been synced. They must be, before anything
	// depends on them.
	if err := newest.sync(); err != nil {
		return fmt.Errorf("raftlog: %w", err)
	}
	newest.synced = newest.off
	return nil
}

// newest returns the youngest segment with a complete checkpoint, and the end of the
// checkpoint's frame. A crash while it was opened may have left a younger one without.
func (r *recovery) newest() (*found, *checkpoint, int64, error) {
	byAge := slices.Clone(r.files)
	slices.SortFunc(byAge, func(a, b *found) int { return cmp.Compare(b.id, a.id) })
	var newest *found
	var ckpt *checkpoint
	var start int64
	for _, f := range byAge {
		if f.kind != headerValid {
			continue
		}
		c, end, err := readCheckpoint(f.segment)
		if err != nil {
			return nil, nil, 0, err
		}
		if c != nil {
			newest, ckpt, start = f, c, end
			break
		}
		if err := r.refuseIfSynced(f.segment, f.id, "checkpoint", headerBlock); err != nil {
			return nil, nil, 0, err
		}
	}
	for _, f := range byAge {
		if f.kind != headerDamaged {
			continue
		}
		fr := newFrameReader(f.segment)
		id, err := fr.idAt(headerBlock)
		if err != nil {
			return nil, nil, 0, err
		}
		if id != 0 && (newest == nil || id > newest.id) {
			if err := r.refuseIfSynced(f.segment, id, "segment header", 0); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	return newest, ckpt, start, nil
}

// refuseIfSynced fails if a frame of segment id proves that the bytes at offset at,
// which are damaged, were once durable.
func (r *recovery) refuseIfSynced(s *segment, id segID, what string, at int64) error {
	proof, err := newFrameReader(s).findProof(id, at, at)
	if err != nil || proof < 0 {
		return err
	}
	return fmt.Errorf("%w: %s: damaged %s at offset %d, but the frame at %d proves that it was durable",
		ErrCorrupt, s.path, what, at, proof)
}

// readCheckpoint reads the checkpoint of a segment; nil if it is not intact.
func readCheckpoint(s *segment) (*checkpoint, int64, error) {
	fr := newFrameReader(s)
	info, payload, err := fr.frame(s.id, headerBlock)
	if err != nil || payload == nil {
		return nil, 0, err
	}
	var ckpt *checkpoint
	derr := decodeRecords(payload, info.records, func(rec *record) error {
		if rec.typ != recCheckpoint || ckpt != nil {
			return fmt.Errorf("record of type %d in place of the checkpoint", rec.typ)
		}
		ckpt = rec.ckpt
		return nil
	})
	if derr != nil || ckpt == nil {
		return nil, 0, fmt.Errorf("%w: %s at offset %d: %v", ErrCorrupt, s.path, headerBlock, derr)
	}
	return ckpt, headerBlock + info.size(), nil
}

// restore sets the groups to the state of the checkpoint, the places of all
// entries unknown.
func (r *recovery) restore(c *checkpoint) error {
	room := uint64(0) // entries that fit in the files
	for _, f := range r.files {
		room += uint64(f.size) / 7
	}
	for i := range c.groups {
		gc := &c.groups[i]
		n := gc.Last - gc.Truncated.Index
		if n > room {
			return fmt.Errorf("group %d has %d entries, more than the files can hold", gc.group, n)
		}
		room -= n
		g := r.l.lookup(gc.group)
		if g.exists {
			return fmt.Errorf("group %d is there twice", gc.group)
		}
		g.exists, g.State, g.refs = true, gc.State, make([]entryRef, n)
	}
	return nil
}

// replay applies the frames of the newest segment from offset off on and finds
// its end.
func (r *recovery) replay(s *segment, off int64) error {
	fr := newFrameReader(s)
	for {
		info, payload, err := fr.frame(s.id, off)
		if err != nil {
			return err
		}
		if payload == nil {
			break
		}
		if err := decodeRecords(payload, info.records, func(rec *record) error {
			return r.apply(s, off+frameHeader, rec)
		}); err != nil {
			return fmt.Errorf("%w: %s: frame at offset %d: %w", ErrCorrupt, s.path, off, err)
		}
		off += info.size()
	}
	proof, err := fr.findProof(s.id, off, off)
	if err != nil {
		return err
	}
	if proof >= 0 {
		return fmt.Errorf("%w: %s: damaged frame at offset %d, but the frame at %d proves that it was durable",
			ErrCorrupt, s.path, off, proof)
	}
	s.off = off
	return nil
}

// apply applies a record. base is the offset of its payload in s.
func (r *recovery) apply(s *segment, base int64, rec *record) error {
	l := r.l
	switch rec.typ {
	case recFreed:
		r.freed[rec.freed] = true
		return nil
	case recCheckpoint:
		return fmt.Errorf("checkpoint inside a segment")
	}
	g := l.lookup(rec.group)
	same := g.exists && g.Replica == rec.replica
	switch rec.typ {
	case recTruncate:
		if same && rec.mark.Index > g.Truncated.Index {
			if rec.mark.Index > g.Last {
				return fmt.Errorf("group %d: truncation at %d beyond entry %d", g.id, rec.mark.Index, g.Last)
			}
			l.truncate(g, rec.mark)
		}
		return nil
	case recDestroy:
		if same {
			l.index.destroy(g)
		}
		return nil
	case recMoved:
		if same {
			r.moved(s, base, g, rec)
		}
		return nil
	}
	if g.exists && !same {
		return fmt.Errorf("group %d: write of replica %d, but the log is of %d", g.id, rec.replica, g.Replica)
	}
	g.exists, g.Replica = true, rec.replica
	switch rec.typ {
	case recReset:
		l.reset(g, rec.mark)
	case recHardState:
		g.HardState = rec.hard
	case recEntries:
		if rec.first < g.first() || rec.first > g.Last+1 {
			return fmt.Errorf("group %d: entries from %d on do not continue the log, which is (%d, %d]",
				g.id, rec.first, g.Truncated.Index, g.Last)
		}
		for i, e := range rec.entries {
			l.append(g, rec.first+uint64(i), e.ref(s, base))
		}
	}
	return nil
}

func (e *entryLoc) ref(s *segment, base int64) entryRef {
	return entryRef{term: e.term, typ: e.typ, slot: s.slot, off: uint32(base) + e.pos, len: e.len}
}

// moved points the index at the new places of entries.
func (r *recovery) moved(s *segment, base int64, g *group, rec *record) {
	for i := range rec.entries {
		idx := rec.first + uint64(i)
		if idx <= g.Truncated.Index || idx > g.Last {
			continue
		}
		ref := &g.refs[idx-g.first()]
		if ref.slot != 0 && ref.term != rec.entries[i].term {
			continue
		}
		r.l.release(*ref)
		*ref = rec.entries[i].ref(s, base)
		r.l.retain(*ref)
	}
}

// fillFrom reads the older segments, from the youngest to the oldest, for entries whose
// place is unknown. The last place of an entry is the valid one: if a later frame had
// dropped the entry, it would not be in the checkpoint.
func (r *recovery) fillFrom(list []liveSegment, newest *found) error {
	byID := map[segID]*found{}
	for _, f := range r.files {
		if f.kind == headerValid {
			byID[f.id] = f
		}
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b liveSegment) int { return cmp.Compare(b.id, a.id) })
	for _, ls := range list {
		if r.freed[ls.id] {
			continue
		}
		f := byID[ls.id]
		if f == nil || f == newest {
			return fmt.Errorf("%w: segment %s, which %s needs, is missing%s", ErrCorrupt, ls.id, newest.path, r.note)
		}
		f.used = true
		r.l.segs[f.slot] = f.segment
		if err := r.fill(f.segment, int64(ls.end)); err != nil {
			return err
		}
	}
	return nil
}

// fill enters the entries of s whose place is unknown.
func (r *recovery) fill(s *segment, end int64) error {
	fr := newFrameReader(s)
	off := int64(headerBlock)
	for off < end {
		info, payload, err := fr.frame(s.id, off)
		if err != nil {
			return err
		}
		if payload == nil || off+info.size() > end {
			return fmt.Errorf("%w: %s: damaged frame at offset %d, but the segment was durable up to %d",
				ErrCorrupt, s.path, off, end)
		}
		if err := decodeRecords(payload, info.records, func(rec *record) error {
			r.fillRecord(s, off+frameHeader, rec)
			return nil
		}); err != nil {
			return fmt.Errorf("%w: %s: frame at offset %d: %w", ErrCorrupt, s.path, off, err)
		}
		off += info.size()
	}
	s.off, s.synced = end, end
	return nil
}

func (r *recovery) fillRecord(s *segment, base int64, rec *record) {
	if rec.typ != recEntries && rec.typ != recMoved {
		return
	}
	g := r.l.groups[rec.group]
	if g == nil || !g.exists || g.Replica != rec.replica {
		return
	}
	for i := range rec.entries {
		idx := rec.first + uint64(i)
		if idx <= g.Truncated.Index || idx > g.Last {
			continue
		}
		ref := &g.refs[idx-g.first()]
		known := ref.slot != 0
		if known && (ref.slot != s.slot || rec.typ == recMoved && ref.term != rec.entries[i].term) {
			continue
		}
		r.l.release(*ref)
		*ref = rec.entries[i].ref(s, base)
		r.l.retain(*ref)
	}
}

// complete checks that every entry was found, and drops the groups without a state.
func (r *recovery) complete() error {
	for id, g := range r.l.groups {
		if !g.exists {
			delete(r.l.groups, id)
			continue
		}
		for i, ref := range g.refs {
			if ref.slot == 0 {
				return fmt.Errorf("%w: %s: entry %d of group %d is missing%s",
					ErrCorrupt, r.l.o.Dir, g.first()+uint64(i), id, r.note)
			}
		}
	}
	return nil
}

// reuseFiles makes spares of the files that are not in use, if they have the right size
// and there are fewer than Options.Recycle, and removes the others.
func (r *recovery) reuseFiles() {
	l := r.l
	target := l.targetSize()
	for _, f := range r.files {
		if f.used {
			continue
		}
		s := &segment{slot: f.slot, path: f.path, file: f.file, size: f.size}
		if s.size >= target && s.size <= l.o.SegmentBytes && len(l.spares) < l.o.Recycle {
			l.spares = append(l.spares, s)
			continue
		}
		_ = s.file.Close()
		_ = l.o.FS.Remove(s.path)
	}
	for _, path := range r.temps {
		_ = l.o.FS.Remove(path)
	}
}
