package raftlog

import "errors"

// idleSegmentBytes is the size of the largest segment that a log with few writes keeps.
const idleSegmentBytes = 4 * initialSegmentBytes

// IdleBytes bounds the size of a log's files after a few calls of Shrink, if it has no live
// entries.
const IdleBytes = 2 * idleSegmentBytes

// Shrink releases disk space that the log needs only while there are many writes: large spare
// segments, and the active segment if few of its entries are live. A small segment replaces
// that. The next call removes the segments that this one has declared free.
func (l *Log) Shrink() error {
	l.mu.Lock()
	if l.failed != nil || l.closing {
		defer l.mu.Unlock()
		return l.failed
	}
	kept := l.spares[:0]
	for _, s := range l.spares {
		if s.size > idleSegmentBytes {
			l.removals = append(l.removals, s)
		} else {
			kept = append(kept, s)
		}
	}
	clear(l.spares[len(kept):])
	l.spares = kept
	l.janitor.idle = true
	replace := l.active != nil && l.active.size > idleSegmentBytes && l.active.liveBytes < initialSegmentBytes/2
	l.kick()
	l.mu.Unlock()
	if replace {
		if err := l.run(func(r *request) { r.shrink = true }); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.janitor.idle = true // still: the small segment is now the active one
	l.kick()
	return nil
}

// shrink makes a small segment the active one, for a frame of n bytes. If the disk has no
// room for it, the log does not change.
func (l *Log) shrink(n int64) error {
	if l.active == nil || l.active.size <= idleSegmentBytes {
		return nil
	}
	_, err := l.rotate(n, l.takeSmall)
	if errors.Is(err, ErrDiskFull) {
		return nil
	}
	return err
}

// takeSmall returns a new segment of the initial size, or a larger one if need bytes ask for it.
func (l *Log) takeSmall(need int64) (*segment, error) {
	l.createMu.Lock()
	defer l.createMu.Unlock()
	return l.create(max(initialSegmentBytes, l.sizeFor(need)))
}
