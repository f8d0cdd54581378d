package storage

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/cockroachkvs"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/quota"
)

// Defaults and limits of an engine.
const (
	// DefaultCacheBytes is the size of the block cache if none is given.
	DefaultCacheBytes = 128 << 20
	// DefaultMemTableBytes is the size of one memtable if none is given and the
	// cache is not small: memtables take at most a quarter of it.
	DefaultMemTableBytes = 64 << 20
	minMemTableBytes     = 4 << 20
	// memTablesBeforeStop is how many full memtables may wait to be flushed
	// before a commit blocks.
	memTablesBeforeStop = 4
	// DefaultReserveBytes is the free space below which WriteStatus reports
	// ErrDiskFull, so that the files that must be written to stay consistent
	// (above all Pebble's manifest) always find room.
	DefaultReserveBytes = 64 << 20
	// DefaultMinSeparatedValue is the size from which values go to blob files.
	DefaultMinSeparatedValue = 512
	// maxOpenFiles bounds the tables kept open.
	maxOpenFiles = 8000
)

// Options say how to open an engine. Dir is required.
type Options struct {
	// FS is the file system; the operating system's if nil.
	FS fs.FS
	// Dir is the directory of the store. The engine keeps the version file and
	// the lock in it, and its tables in the subdirectory "state".
	Dir string
	// ClusterID is written to a new store and checked on an old one; the zero
	// value makes up a new one, or accepts any.
	ClusterID ID

	// CacheBytes sizes the block cache, unless Cache is a cache to be shared
	// with other engines, made with NewCache.
	CacheBytes int64
	Cache      *pebble.Cache
	// VersionCacheBytes sizes the cache of newest versions; 0 is the share of CacheBytes
	// that is for one engine alone, negative means none.
	VersionCacheBytes int64
	// MemTableBytes is the size of one memtable.
	MemTableBytes int
	// MaxConcurrentCompactions is how many compactions may run when there is
	// debt; one runs otherwise.
	MaxConcurrentCompactions int
	// ReserveBytes replaces DefaultReserveBytes; negative means none.
	ReserveBytes int64
	// NoTableStats turns off the background reading of tables for statistics, which
	// after an error begins anew at once: in virtual time that never ends.
	NoTableStats bool
	// MinSeparatedValue replaces DefaultMinSeparatedValue; negative turns value
	// separation off.
	MinSeparatedValue int

	// Values accounts for the large values that reads return; nil: nobody does.
	Values *quota.Values

	// Logger hears what Pebble has to say; nil discards it.
	Logger *slog.Logger
	// OnFatal is called once, from any goroutine, possibly one that holds locks
	// of the engine, when the store cannot go on: the process must end without
	// touching the engine again. If it returns (tests), the goroutine that met
	// the error waits until Close and the engine refuses commits. If it is nil,
	// the engine panics.
	OnFatal func(error)
}

func (o *Options) fill() {
	if o.FS == nil {
		o.FS = fs.Disk()
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = memTableBytes(o.CacheBytes)
	}
	if o.VersionCacheBytes == 0 {
		o.VersionCacheBytes = VersionCacheBytes(o.CacheBytes, 1)
	}
	if o.MaxConcurrentCompactions <= 0 {
		o.MaxConcurrentCompactions = 2
	}
	switch {
	case o.ReserveBytes == 0:
		o.ReserveBytes = DefaultReserveBytes
	case o.ReserveBytes < 0:
		o.ReserveBytes = 0
	}
	if o.MinSeparatedValue == 0 {
		o.MinSeparatedValue = DefaultMinSeparatedValue
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// pebbleOptions are the settings of the state engine. The raft log is the only
// write-ahead log, so Pebble's own is off; see doc.go for what follows from it.
func (e *Engine) pebbleOptions() *pebble.Options {
	maxCompactions := e.opts.MaxConcurrentCompactions
	opts := &pebble.Options{
		DisableWAL:         true,
		DisableTableStats:  e.opts.NoTableStats,
		FS:                 e.fs,
		Cache:              e.opts.Cache,
		CacheSize:          cacheSize(e.opts.CacheBytes, e.opts.MemTableBytes, 1),
		FormatMajorVersion: pebble.FormatValueSeparation,

		Comparer:                &cockroachkvs.Comparer,
		KeySchema:               cockroachkvs.KeySchema.Name,
		KeySchemas:              sstable.MakeKeySchemas(&cockroachkvs.KeySchema),
		BlockPropertyCollectors: cockroachkvs.BlockPropertyCollectors,

		MemTableSize:                uint64(e.opts.MemTableBytes),
		MemTableStopWritesThreshold: memTablesBeforeStop,
		// Reads touch every sublevel of L0, so compaction begins early; a commit
		// is never stopped for L0: the store slows proposals by Pressure instead.
		L0CompactionThreshold:      2,
		L0StopWritesThreshold:      1000,
		LBaseMaxBytes:              64 << 20,
		CompactionConcurrencyRange: func() (int, int) { return 1, maxCompactions },
		MaxOpenFiles:               min(maxOpenFiles, fs.Descriptors()/4),
		BytesPerSync:               1 << 20,
		// Range deletions are rare (a dropped table); they give space back only
		// once flushed.
		FlushDelayDeleteRange: 10 * time.Second,
		FlushDelayRangeKey:    10 * time.Second,
		// Unlinking many files at once stalls the log's fsync on the same disk.
		TargetByteDeletionRate: 128 << 20,
		// With the default (16 GiB) a small disk would always count as full.
		FreeSpaceThresholdBytes: 1 << 30,

		EventListener: e.eventListener(),
		Logger:        pebbleLogger{e},
	}
	opts.TargetFileSizes[0] = 2 << 20
	// Mandatory without a write-ahead log: a flushable ingest is durable only
	// through a log record that Pebble would then not write.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	// No compactions for the sake of reads: on a few cores they cost more.
	opts.Experimental.ReadSamplingMultiplier = -1
	opts.Experimental.L0CompactionConcurrency = 4
	opts.Experimental.MultiLevelCompactionHeuristic = pebble.WriteAmpHeuristic{}
	opts.Experimental.EnableColumnarBlocks = func() bool { return true }
	if e.opts.MinSeparatedValue > 0 {
		policy := pebble.ValueSeparationPolicy{
			Enabled:               true,
			MinimumSize:           e.opts.MinSeparatedValue,
			MaxBlobReferenceDepth: 10,
			RewriteMinimumAge:     5 * time.Minute,
			TargetGarbageRatio:    0.3,
		}
		opts.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy { return policy }
	}
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = 32 << 10
		opts.Levels[i].IndexBlockSize = 256 << 10
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		return pebble.DBCompressionFastest
	})
	return opts
}

// VersionCacheBytes is the part of a cache of size bytes, shared by a number of engines, that is
// for the newest versions of one of them.
func VersionCacheBytes(size int64, engines int) int64 {
	return size / versionCacheShare / int64(engines)
}

// cacheSize is the size to give a Pebble cache for blocks and memtables together, of
// size bytes with the cache of versions and what the allocator loses between the blocks (an eighth): Pebble charges memtables to it, in steady state two for each engine, the one
// written to and the one being flushed or kept for reuse. Beside memtables that were
// made larger than a cache of that size stands for, it holds as many bytes of blocks.
func cacheSize(size int64, memTable, engines int) int64 {
	tables := 2 * int64(memTable) * int64(engines)
	if tables > size/2 {
		return size + tables
	}
	return size - size/8 - size/versionCacheShare
}

// memTableBytes is the size of a memtable beside a cache of size bytes.
func memTableBytes(size int64) int {
	return int(min(max(size/8, minMemTableBytes), DefaultMemTableBytes))
}

// Cache is a block cache that several engines share.
type Cache = pebble.Cache

// NewCache returns a cache of size bytes for the blocks and memtables of a number of
// engines, with memtables of memTable bytes (0 for the default). Its owner calls
// Unref when they are closed.
func NewCache(size int64, memTable, engines int) *pebble.Cache {
	if memTable <= 0 {
		memTable = memTableBytes(size)
	}
	return pebble.NewCache(cacheSize(size, memTable, engines))
}
