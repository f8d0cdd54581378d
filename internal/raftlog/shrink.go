package raftlog

import "errors"

// idleSegmentBytes is the largest segment that a log keeps that is little written to.
const idleSegmentBytes = 4 * initialSegmentBytes

// IdleBytes is what the files of a log hold at most after a few calls of Shrink, if
// nothing in it is needed.
const IdleBytes = 2 * idleSegmentBytes

// Shrink gives disk space back that a log needs only while much is written: spare
// segments, and the segment in use if little of it is needed, in whose place comes a
// small one. What is declared free by that goes with the next call.
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

// shrink makes a small segment the active one, for a frame of n bytes. Without room for
// it on the disk the log stays as it is.
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

// takeSmall returns a new segment of at least need bytes, and not many more.
func (l *Log) takeSmall(need int64) (*segment, error) {
	l.createMu.Lock()
	defer l.createMu.Unlock()
	return l.create(max(initialSegmentBytes, l.sizeFor(need)))
}
