package storage

// Pressure is the engine's backlog of flushes and compactions. By it the store slows
// background work first, and then writes.
type Pressure struct {
	L0Sublevels    int    // levels of L0 a read looks through
	CompactionDebt uint64 // bytes to be compacted
	MemTables      int    // memtables, the one written to included
	MemTableBytes  uint64
	MemTableLimit  uint64 // a commit waits when MemTableBytes reaches it
}

// Pressure returns the present pressure. It takes locks of Pebble: ask a few
// times a second, not for each write.
func (e *Engine) Pressure() Pressure {
	m := e.db.Metrics()
	return Pressure{
		L0Sublevels:    int(m.Levels[0].Sublevels),
		CompactionDebt: m.Compact.EstimatedDebt,
		MemTables:      int(m.MemTable.Count),
		MemTableBytes:  m.MemTable.Size,
		MemTableLimit:  memTablesBeforeStop * uint64(e.opts.MemTableBytes),
	}
}

// Metrics are the numbers of an engine that are worth watching.
type Metrics struct {
	Pressure
	DiskBytes           uint64 // of all files
	LiveTables          int64
	LiveTableBytes      uint64
	BlobBytes           uint64
	ReadAmp             int
	Flushes             int64
	FlushedBytes        uint64
	Compactions         int64
	CompactedBytes      uint64
	CacheBytes          int64
	CacheHits           int64
	CacheMisses         int64
	VersionHits         uint64 // of the cache of newest versions
	VersionMisses       uint64
	FilterHits          int64
	FilterMisses        int64
	TombstoneCount      uint64
	OpenIterators       int64
	ZombieMemTableBytes uint64 // kept alive by iterators only
	// LevelBytes and LevelTables are the tables of each level, the newest first.
	LevelBytes  [Levels]uint64
	LevelTables [Levels]int64
}

// Levels is how many levels of tables an engine has.
const Levels = 7

// Metrics returns the present values. Like Pressure, it is not for hot paths.
func (e *Engine) Metrics() Metrics {
	m := e.db.Metrics()
	out := Metrics{
		Pressure: Pressure{
			L0Sublevels:    int(m.Levels[0].Sublevels),
			CompactionDebt: m.Compact.EstimatedDebt,
			MemTables:      int(m.MemTable.Count),
			MemTableBytes:  m.MemTable.Size,
			MemTableLimit:  memTablesBeforeStop * uint64(e.opts.MemTableBytes),
		},
		DiskBytes:           m.DiskSpaceUsage(),
		BlobBytes:           m.BlobFiles.LiveSize,
		ReadAmp:             m.ReadAmp(),
		Flushes:             m.Flush.Count,
		Compactions:         m.Compact.Count,
		CacheBytes:          m.BlockCache.Size,
		CacheHits:           m.BlockCache.Hits,
		CacheMisses:         m.BlockCache.Misses,
		FilterHits:          m.Filter.Hits,
		FilterMisses:        m.Filter.Misses,
		TombstoneCount:      m.Keys.TombstoneCount,
		OpenIterators:       m.TableIters,
		ZombieMemTableBytes: m.MemTable.ZombieSize,
	}
	out.VersionHits, out.VersionMisses = e.versions.count()
	for i := range m.Levels {
		l := &m.Levels[i]
		if i < Levels {
			out.LevelBytes[i], out.LevelTables[i] = uint64(l.TablesSize), l.TablesCount
		}
		out.LiveTables += l.TablesCount
		out.LiveTableBytes += uint64(l.TablesSize)
		out.FlushedBytes += l.TableBytesFlushed + l.BlobBytesFlushed
		out.CompactedBytes += l.TableBytesCompacted + l.BlobBytesCompacted
	}
	return out
}

// DiskUsage is the space a store takes and has.
type DiskUsage struct {
	UsedByEngine    uint64
	Available       uint64 // 0 if the file system cannot tell
	Total           uint64
	Reserve         uint64
	MemTableUnsaved uint64 // in memory, not yet in UsedByEngine
}

// DiskUsage returns the present usage.
func (e *Engine) DiskUsage() DiskUsage {
	m := e.db.Metrics()
	out := DiskUsage{
		UsedByEngine:    m.DiskSpaceUsage(),
		Reserve:         uint64(e.opts.ReserveBytes),
		MemTableUnsaved: m.MemTable.Size,
	}
	if u, err := e.opts.FS.GetDiskUsage(e.opts.Dir); err == nil {
		out.Available, out.Total = u.AvailBytes, u.TotalBytes
	}
	return out
}
