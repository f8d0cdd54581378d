package raftlog

import (
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/plant"
)

// commit writes f and syncs it. Only the leader calls it, without mu. Nobody else
// changes the fields of the active segment.
func (l *Log) commit(f *frame) error {
	n := frameSize(len(f.buf) - frameHeader)
	if f.shrink {
		if err := l.shrink(n); err != nil {
			return err
		}
	}
	s := l.active
	if s != nil && !l.sealed {
		if err := s.claim(s.off); errors.Is(err, fs.ErrRewrites) {
			l.sealed = true
		} else if err != nil {
			return classify(err)
		}
	}
	if s == nil || l.sealed || s.room(!f.data) < n {
		var err error
		if s, err = l.rotate(n, l.takeSpare); err != nil {
			return err
		}
	}
	f.seg, f.off = s, s.off
	f.buf = sealFrame(f.buf, s.id, s.synced, f.records)
	begun := time.Now()
	if err := s.writeAt(f.buf, s.off); err != nil {
		return classify(err)
	}
	if plant.On(plant.AckBeforeSync) { // the next sync covers it too, perhaps
		return nil
	}
	err := s.sync()
	if err == nil && l.o.Synced != nil {
		l.o.Synced(time.Since(begun), len(f.buf))
	}
	return err
}

// classify returns ErrDiskFull for an error that a full disk has caused, unless later
// frames depend on the failed write. Any other error ends the log.
func classify(err error) error {
	var se *syncError
	if fs.IsDiskFull(err) && !errors.As(err, &se) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// rotate makes a new segment, which take provides, the active one and writes its
// header and checkpoint, with room for a frame of n bytes. The sync of that frame
// makes all three durable.
func (l *Log) rotate(n int64, take func(need int64) (*segment, error)) (*segment, error) {
	l.mu.Lock()
	head := appendCheckpoint(make([]byte, headerBlock+frameHeader), l.checkpoint())
	id := makeSegID(l.nextSeq, l.o.Rand())
	l.nextSeq++
	l.mu.Unlock()

	need := frameSize(len(head)-headerBlock-frameHeader) + headerBlock + n
	s, err := take(need)
	if err != nil {
		return nil, err
	}
	putHeader(head, id)
	ckpt := sealFrame(head[headerBlock:], id, 0, 1)
	head = append(head[:headerBlock], ckpt...)

	s.claimed = false
	err = s.writeAt(head, 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		// The header may have reached the disk, and with it a checkpoint
		// that ends the present segment.
		l.sealed = true
		l.spares = append(l.spares, s)
		return nil, classify(err)
	}
	old := l.active
	s.id, s.off, s.synced = id, int64(len(head)), 0
	l.segs[s.slot] = s
	l.active, l.sealed, l.janitor.idle = s, false, false
	l.stats.Rotations++
	if old != nil && old.liveEntries == 0 {
		l.segmentDied(old)
	}
	return s, nil
}

// takeSpare returns a segment of at least need bytes. It creates one if there is no
// spare of that size.
func (l *Log) takeSpare(need int64) (*segment, error) {
	if s := l.popSpare(need); s != nil {
		return s, nil
	}
	l.createMu.Lock() // waits for the janitor, if it is making one
	defer l.createMu.Unlock()
	if s := l.popSpare(need); s != nil {
		return s, nil
	}
	return l.create(max(l.targetSize(), l.sizeFor(need)))
}

func (l *Log) popSpare(need int64) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.spares {
		if s.size-controlReserve(s.size) >= need {
			l.spares = append(l.spares[:i], l.spares[i+1:]...)
			return s
		}
	}
	return nil
}

// sizeFor is the size of a segment with room for need bytes and the reserve.
func (l *Log) sizeFor(need int64) int64 {
	need += need/15 + frameAlign
	return (need + headerBlock - 1) / headerBlock * headerBlock
}

// targetSize is the size of the next segment to create. It grows with the log, so
// that an empty store starts at once and takes little disk space.
func (l *Log) targetSize() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == nil {
		return min(initialSegmentBytes, l.o.SegmentBytes)
	}
	return min(l.active.size*segmentGrowth, l.mostSpare())
}

// mostSpare is the size of the largest useful spare: Shrink would remove a larger one.
// mu is held.
func (l *Log) mostSpare() int64 {
	if l.janitor.idle {
		return min(idleSegmentBytes, l.o.SegmentBytes)
	}
	return l.o.SegmentBytes
}

// create makes a spare segment. createMu is held.
func (l *Log) create(size int64) (*segment, error) {
	if u, err := l.o.FS.GetDiskUsage(l.o.Dir); err == nil && u.AvailBytes < uint64(size) {
		return nil, fmt.Errorf("%w: a log segment needs %d bytes, %d are available", ErrDiskFull, size, u.AvailBytes)
	}
	l.mu.Lock()
	slot := l.nextSlot
	l.nextSlot++
	l.mu.Unlock()
	s, err := createSegment(&l.o, slot, size)
	if fs.IsDiskFull(err) { // even if a sync said so: the file is gone
		return nil, fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.stats.Created++
	l.mu.Unlock()
	return s, nil
}

// finish applies f if it is durable. After an error it fails f, and all requests queued
// behind f, since they may depend on it. The caller holds mu, which finish may release
// meanwhile.
func (l *Log) finish(f *frame, err error) {
	if err == nil {
		l.applied = f.number
		l.apply(f)
		l.janitor.stuck = false
		l.kick()
		return
	}
	for _, id := range f.marks {
		l.marks[id] = struct{}{}
	}
	l.dead = append(l.dead, f.freed...)
	if !errors.Is(err, ErrDiskFull) {
		err = l.fail(err)
	}
	f.reqs = append(f.reqs, l.next.reqs...)
	f.async += l.next.async
	l.applied = l.next.number
	l.next.recycle()
	l.next.number = l.applied + 1
	l.changed.Broadcast()
	for _, r := range f.reqs {
		r.err = err
		l.abandon(r)
	}
	if l.failed == nil && f.data {
		l.makeRoom()
	}
}

// makeRoom uses the reserve of the active segment to declare dead segments free. They
// may be the only space that is left. The caller holds mu, which makeRoom releases
// meanwhile.
func (l *Log) makeRoom() {
	if len(l.dead) == 0 || l.active == nil {
		return
	}
	c := newFrame(l.applied)
	l.addControl(c)
	if l.sealed || l.active.room(true) < frameSize(len(c.buf)-frameHeader) {
		for _, id := range c.marks {
			l.marks[id] = struct{}{}
		}
		l.dead = append(l.dead, c.freed...)
		return
	}
	l.mu.Unlock()
	err := l.commit(c)
	l.mu.Lock()
	l.finish(c, err)
}

// abandon takes r out of the queued states.
func (l *Log) abandon(r *request) {
	for i := range r.ws {
		l.unqueue(l.groups[r.ws[i].Group])
	}
	for i := range r.moves {
		l.unqueue(r.moves[i].group)
	}
	if r.destroy {
		l.unqueue(l.groups[r.group])
	}
}

func (l *Log) unqueue(g *group) {
	if g.queued.writes--; g.queued.writes == 0 {
		g.resetQueued()
		l.forget(g)
	}
}

// apply enters a durable frame into the index. mu is held.
func (l *Log) apply(f *frame) {
	s := f.seg
	s.synced = f.off + int64(len(f.buf))
	s.off = s.synced
	l.dirty = true
	l.stats.Syncs++
	l.stats.BytesWritten += int64(len(f.buf))
	l.stats.Appends += int64(len(f.reqs))
	locs := f.locs
	for _, r := range f.reqs {
		for i := range r.ws {
			locs = l.applyWrite(&r.ws[i], s, f.off, locs)
		}
		for i := range r.moves {
			locs = l.applyMove(&r.moves[i], s, f.off, locs)
		}
		if r.destroy {
			g := l.groups[r.group]
			if g.exists {
				l.index.destroy(g)
			}
			l.unqueue(g)
		}
	}
	for _, d := range f.freed {
		l.retire(d)
	}
}

func (l *Log) applyWrite(w *Write, s *segment, off int64, locs []uint32) []uint32 {
	g := l.groups[w.Group]
	g.exists, g.Replica = true, w.Replica
	if w.Reset != nil {
		l.reset(g, *w.Reset)
	}
	for i := range w.Entries {
		e := &w.Entries[i]
		l.append(g, e.Index, entryRef{term: e.Term, typ: e.Type, slot: s.slot, off: uint32(off) + locs[i], len: uint32(len(e.Data))})
		l.cacheLast(g, e.Data)
	}
	l.stats.Entries += int64(len(w.Entries))
	if w.HardState != nil {
		g.HardState = *w.HardState
	}
	l.unqueue(g)
	return locs[len(w.Entries):]
}

// segmentDied is called when s has lost its last live entry. mu is held.
func (l *Log) segmentDied(s *segment) {
	if s != l.active && !s.dead {
		s.dead = true
		l.dead = append(l.dead, s)
	}
}

// retire makes a segment that is declared free on disk a spare, or removes it.
// mu is held.
func (l *Log) retire(s *segment) {
	delete(l.segs, s.slot)
	s.id = 0
	if s.readers > 0 {
		l.draining = append(l.draining, s)
		return
	}
	l.reuse(s)
}

func (l *Log) reuse(s *segment) {
	if s.size == l.o.SegmentBytes && len(l.spares) < l.o.Recycle {
		*s = segment{slot: s.slot, path: s.path, file: s.file, size: s.size}
		l.spares = append(l.spares, s)
		l.stats.Recycled++
		return
	}
	l.removals = append(l.removals, s)
}
