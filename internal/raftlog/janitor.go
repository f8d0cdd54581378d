package raftlog

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/must"
)

// janitorState is the state of the background goroutine, the janitor. The goroutine
// exists only while it has a chore.
type janitorState struct {
	running bool
	// full is the active segment at the last attempt to create a spare, if that failed.
	// The janitor tries again once another segment is active.
	full *segment
	// stuck: the last control frame could not be written. The janitor tries again
	// after another write has succeeded.
	stuck bool
	// rewritten is the active segment at the last rewrites. tried are the segments whose
	// rewrite was tried since it became active: each is tried once.
	rewritten *segment
	tried     map[*segment]bool
	// idle: only Shrink has changed the active segment since the last Shrink. Then large
	// segments with few live entries are rewritten whatever their age, and spares are
	// small.
	idle bool
}

const (
	// The live entries of a segment are written again once there are rewriteAge younger
	// segments, if they are at most the rewriteShare-th part of it.
	rewriteAge   = 4
	rewriteShare = 10
	// rewriteBatch bounds the bytes of one such write.
	rewriteBatch = 1 << 20
)

// kick starts the janitor if it has a chore. mu is held.
func (l *Log) kick() {
	if !l.janitor.running && l.chore() != nil {
		l.janitor.running = true
		go l.janitorLoop()
	}
}

func (l *Log) janitorLoop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer must.Report(l.o.OnFatal)
	for {
		chore := l.chore()
		if chore == nil {
			break
		}
		l.mu.Unlock()
		chore()
		l.mu.Lock()
	}
	l.janitor.running = false
	l.changed.Broadcast()
}

// chore returns the janitor's next piece of work, nil if there is none. mu is held.
func (l *Log) chore() func() {
	switch {
	case l.failed != nil || l.closing:
		return nil
	case len(l.removals) > 0:
		return l.removeOne
	case l.needSpare():
		return l.prepare
	case len(l.dead) > 0 && !l.leading && !l.janitor.stuck:
		return l.flushControl
	}
	if s := l.straggler(); s != nil {
		return func() { l.rewrite(s) }
	}
	return nil
}

// removeOne deletes a segment that is declared free on disk. If the file is still there
// after a crash, recovery makes it a spare.
func (l *Log) removeOne() {
	l.mu.Lock()
	s := l.removals[0]
	l.removals = l.removals[1:]
	l.stats.Removed++
	l.mu.Unlock()
	_ = s.file.Close()
	_ = l.o.FS.Remove(s.path)
}

// needSpare reports whether the next segment should be made: none is ready and
// a quarter of the active one is used. mu is held.
func (l *Log) needSpare() bool {
	a := l.active
	if a == nil || a == l.janitor.full || a.off < a.size/4 {
		return false
	}
	need := min(a.size, l.mostSpare())
	return !slices.ContainsFunc(l.spares, func(s *segment) bool { return s.size >= need })
}

// prepare makes the next segment.
func (l *Log) prepare() {
	l.createMu.Lock()
	defer l.createMu.Unlock()
	l.mu.Lock()
	active, needed := l.active, l.needSpare()
	l.mu.Unlock()
	if !needed {
		return
	}
	s, err := l.create(l.targetSize())
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.spares = append(l.spares, s)
	case errors.Is(err, ErrDiskFull):
		l.janitor.full = active
	default:
		_ = l.fail(err)
	}
}

// flushControl writes a frame without entries. It declares dead segments free while
// there are no other writes.
func (l *Log) flushControl() {
	if err := l.run(func(*request) {}); err != nil {
		l.mu.Lock()
		l.janitor.stuck = true
		l.mu.Unlock()
	}
}

// straggler returns an old segment that a few live entries keep from being
// reused. mu is held.
func (l *Log) straggler() *segment {
	j := &l.janitor
	if l.active == nil || len(l.segs) <= rewriteAge && !j.idle {
		return nil
	}
	if j.rewritten != l.active {
		j.rewritten, j.tried = l.active, map[*segment]bool{}
	}
	for _, s := range l.segs {
		if s.liveEntries > 0 && !j.tried[s] && s != l.active &&
			s.liveBytes*rewriteShare <= s.size &&
			(s.id.seq()+rewriteAge <= l.active.id.seq() || j.idle && s.size > idleSegmentBytes) {
			return s
		}
	}
	return nil
}

// move is a run of live entries of one group to be written again.
type move struct {
	group   *group
	replica uint64
	entries []Entry
	old     []entryRef
}

// rewrite writes the live entries of s again.
func (l *Log) rewrite(s *segment) {
	l.mu.Lock()
	l.janitor.tried[s] = true
	runs := l.liveRuns(s)
	l.pin(s)
	l.mu.Unlock()
	var err error
	for i := 0; i < len(runs) && err == nil; {
		var batch []move
		for size := 0; i < len(runs) && size < rewriteBatch; i++ {
			m := runs[i]
			if err = readEntries(s, m.group.id, m.old, m.entries); err != nil {
				break
			}
			for j := range m.entries {
				size += len(m.entries[j].Data)
			}
			batch = append(batch, m)
		}
		if len(batch) > 0 {
			if werr := l.run(func(r *request) { r.moves = batch }); err == nil {
				err = werr
			}
		}
	}
	l.mu.Lock()
	l.unpin(s)
	l.mu.Unlock()
}

// liveRuns lists the live entries of s that no queued write replaces, in runs
// of adjacent entries. mu is held.
func (l *Log) liveRuns(s *segment) []move {
	var runs []move
	for _, g := range l.groups {
		last := noIndex
		for i, r := range g.refs {
			if r.slot != s.slot {
				continue
			}
			idx := g.first() + uint64(i)
			if last+1 != idx || last == noIndex {
				runs = append(runs, move{group: g, replica: g.Replica})
			}
			m := &runs[len(runs)-1]
			m.entries = append(m.entries, Entry{Index: idx, Term: r.term, Type: r.typ})
			m.old = append(m.old, r)
			last = idx
		}
	}
	slices.SortFunc(runs, func(a, b move) int { return cmp.Compare(a.group.id, b.group.id) })
	return runs
}

// admit drops the entries that have another place by now, or that a queued write
// replaces: a record of moved entries must not follow their replacement.
func (m *move) admit(applied uint64) {
	n, low := 0, m.group.queued.lowest(applied)
	for i, old := range m.old {
		e := m.entries[i]
		if e.Index < low && m.group.holds(e.Index, old) {
			m.entries[n], m.old[n] = e, old
			n++
		} else if n > 0 {
			break // keep the run contiguous; a later attempt moves the rest
		}
	}
	m.entries, m.old = m.entries[:n], m.old[:n]
	m.group.queued.writes++
}

// applyMove points the index at the new places, unless the entries have
// been truncated meanwhile. mu is held.
func (l *Log) applyMove(m *move, s *segment, off int64, locs []uint32) []uint32 {
	g := m.group
	for i, old := range m.old {
		idx := m.entries[i].Index
		if !g.holds(idx, old) {
			continue
		}
		moved := old
		moved.slot, moved.off = s.slot, uint32(off)+locs[i]
		g.refs[idx-g.first()] = moved
		l.retain(moved)
		l.release(old)
		l.stats.Rewritten++
	}
	must.True(len(locs) >= len(m.old), "raftlog 2: moved entries without a place")
	l.unqueue(g)
	return locs[len(m.old):]
}
