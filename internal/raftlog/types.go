package raftlog

import (
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// GroupID names a raft group: the id of the range.
type GroupID uint64

// Entry is one raft entry.
type Entry struct {
	Index, Term uint64
	Type        uint8
	Data        []byte
}

// HardState is raft's durable state besides the entries.
type HardState struct {
	Term, Vote, Commit uint64
}

// Mark is a point in a group's log: the last entry the log no longer holds.
type Mark struct {
	Index, Term uint64
}

// Write is the part of one group in an append. Its parts take effect in the order
// Reset, Entries, HardState.
type Write struct {
	// The first write to a Group fixes its Replica until Destroy. A write of another
	// replica is refused.
	Group   GroupID
	Replica uint64
	// Reset, if not nil, first empties the log: the next entry is Reset.Index+1.
	Reset *Mark
	// Entries follow each other and either the last entry or one before it,
	// whose successors they replace. Their Data is kept in the cache and
	// must not be changed any more.
	Entries []Entry
	// HardState, if not nil, replaces the group's.
	HardState *HardState
}

// State is the durable state of one group, entries aside.
type State struct {
	Replica   uint64
	HardState HardState
	// Truncated is the point up to which entries are gone (zero: none are).
	Truncated Mark
	// Last is the index of the last entry, or Truncated.Index.
	Last uint64
}

// Limits.
const (
	// DefaultSegmentBytes is the size of a segment file.
	DefaultSegmentBytes = 64 << 20
	// initialSegmentBytes is the size of the first segment of a new log; later
	// ones grow by segmentGrowth until they reach Options.SegmentBytes.
	initialSegmentBytes = 1 << 20
	segmentGrowth       = 4
	// DefaultRecycle is how many dead segments are kept for reuse.
	DefaultRecycle = 3
	// DefaultCacheBytes bounds the payloads kept in memory.
	DefaultCacheBytes = 64 << 20
	// MaxQueueBytes bounds the bytes that wait for the sync in flight; beyond
	// it Append and AppendAsync block.
	MaxQueueBytes = 16 << 20
	// MaxAppendBytes bounds one append; it is written in one frame.
	MaxAppendBytes = 256 << 20
	// MaxIndex bounds the index of an entry.
	MaxIndex = 1 << 62
	// maxKeptBuffer bounds the frame buffers kept between appends.
	maxKeptBuffer = 4 << 20
)

// Errors.
var (
	// ErrCompacted: the entry has been truncated.
	ErrCompacted = errors.New("raftlog: entry has been truncated")
	// ErrUnavailable: the entry is not there yet.
	ErrUnavailable = errors.New("raftlog: entry is not in the log")
	// ErrUnknownGroup: the group has no state in the log.
	ErrUnknownGroup = errors.New("raftlog: unknown group")
	// ErrDiskFull: a new segment could not be created. Nothing of the append
	// was written, the log is intact and the append can be repeated.
	ErrDiskFull = errors.New("raftlog: disk full")
	// ErrTooLarge: an append exceeds MaxAppendBytes.
	ErrTooLarge = fmt.Errorf("raftlog: append exceeds %d bytes", MaxAppendBytes)
	// ErrInvalid: a write that contradicts the log. Nothing was written.
	ErrInvalid = errors.New("raftlog: invalid write")
	// ErrClosed: the log has been closed.
	ErrClosed = errors.New("raftlog: closed")
	// ErrCorrupt: the log is damaged before a point known to be durable.
	ErrCorrupt = errors.New("raftlog: corrupt")
	// ErrVersion: a segment was written by another format version.
	ErrVersion = errors.New("raftlog: unsupported format version")
	// ErrInUse: another process has the log open.
	ErrInUse = errors.New("raftlog: in use")
)

// Options configures a log. FS and Dir are required.
type Options struct {
	FS  fs.FS
	Dir string
	// SegmentBytes is the size of a segment, DefaultSegmentBytes if zero.
	SegmentBytes int64
	// Recycle is how many dead segments are kept, DefaultRecycle if zero.
	Recycle int
	// CacheBytes bounds the payload cache, DefaultCacheBytes if zero; negative
	// means no cache.
	CacheBytes int64
	// OnFatal is called once with the error that ends the log, on the goroutine that
	// met it. The process should end.
	OnFatal func(error)
	// Synced, if not nil, receives the duration of the write and the sync of a frame, and
	// the frame's size. It is called for one frame after the other, and must not block.
	Synced func(took time.Duration, bytes int)
	// Rand supplies the random part of segment ids; nil means crypto/rand.
	Rand func() uint64
	// NoZeroFill leaves new segments sparse, so that the file grows with every
	// append. It exists to measure the effect of zero filling.
	NoZeroFill bool
}

// Stats are counters and sizes of a log.
type Stats struct {
	Appends, Entries, Syncs, BytesWritten int64
	Rotations, Created, Recycled, Removed int64
	Rewritten                             int64 // entries moved out of nearly dead segments
	CacheHits, DiskReads                  int64
	Groups, Segments, Spares              int
	DiskBytes                             int64 // size of all segment files, spares included
	LiveBytes                             int64 // entries not truncated
	CacheBytes, QueueBytes                int64
}
