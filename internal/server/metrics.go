package server

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector gathers the figures of the parts of a node.
type collector struct {
	n     *Node
	descs map[string]*prometheus.Desc
	kinds map[string]prometheus.ValueType
}

var help = []struct {
	name, help string
	kind       prometheus.ValueType
}{
	{"lichen_uptime_seconds", "time since the node started", prometheus.GaugeValue},
	{"lichen_go_heap_bytes", "bytes of live and dead objects on the heap", prometheus.GaugeValue},
	{"lichen_go_goroutines", "goroutines", prometheus.GaugeValue},
	{"lichen_sql_memory_bytes", "memory reserved by statements", prometheus.GaugeValue},
	{"lichen_sql_memory_limit_bytes", "limit of the memory of statements (--max-memory)", prometheus.GaugeValue},
	{"lichen_sql_sessions", "open sessions", prometheus.GaugeValue},
	{"lichen_txn_active", "transactions in progress", prometheus.GaugeValue},
	{"lichen_kv_gets_total", "point reads", prometheus.CounterValue},
	{"lichen_kv_scans_total", "scanned pages", prometheus.CounterValue},
	{"lichen_kv_locks_total", "row locks taken", prometheus.CounterValue},
	{"lichen_kv_lock_waits_total", "row locks that were waited for", prometheus.CounterValue},
	{"lichen_kv_commits_total", "commits of writing transactions", prometheus.CounterValue},
	{"lichen_kv_refreshes_total", "attempts to move a transaction's reads to a later time", prometheus.CounterValue},
	{"lichen_kv_refresh_failures_total", "of these, those that found a change", prometheus.CounterValue},
	{"lichen_kv_closed_reads_total", "reads of the past that replicas served which do not lead", prometheus.CounterValue},
	{"lichen_kv_closed_refused_total", "of those, reads left to leaders for a durable lock", prometheus.CounterValue},
	{"lichen_kv_collected_versions_total", "old versions dropped", prometheus.CounterValue},
	{"lichen_consistency_checks_total", "ranges whose replicas were compared", prometheus.CounterValue},
	{"lichen_consistency_differing_ranges", "ranges whose replicas differed when they were compared last", prometheus.GaugeValue},
	{"lichen_closedts_tracked_ranges", "ranges led here whose closed timestamp rises with their store's", prometheus.GaugeValue},
	{"lichen_closedts_active_ranges", "ranges led here whose timestamps are closed one by one", prometheus.GaugeValue},
	{"lichen_replicas_unquiesced", "replicas whose raft group is ticked", prometheus.GaugeValue},
	{"lichen_raftlog_appends_total", "appends to the log", prometheus.CounterValue},
	{"lichen_raftlog_syncs_total", "syncs of the log", prometheus.CounterValue},
	{"lichen_raftlog_written_bytes_total", "bytes written to the log", prometheus.CounterValue},
	{"lichen_raftlog_disk_bytes", "size of the log's files", prometheus.GaugeValue},
	{"lichen_raftlog_backlog_bytes", "log kept: what a restart replays, and what followers may still need", prometheus.GaugeValue},
	{"lichen_storage_disk_bytes", "size of the engine's files", prometheus.GaugeValue},
	{"lichen_storage_memtable_bytes", "size of the memtables", prometheus.GaugeValue},
	{"lichen_storage_compaction_debt_bytes", "bytes that wait to be compacted", prometheus.GaugeValue},
	{"lichen_storage_l0_sublevels", "levels of L0 that a read looks through", prometheus.GaugeValue},
	{"lichen_storage_flushed_bytes_total", "bytes flushed", prometheus.CounterValue},
	{"lichen_storage_compacted_bytes_total", "bytes compacted", prometheus.CounterValue},
	{"lichen_storage_cache_bytes", "size of the block cache's contents", prometheus.GaugeValue},
	{"lichen_storage_cache_hits_total", "block reads served from the cache", prometheus.CounterValue},
	{"lichen_storage_cache_misses_total", "block reads that went to a file", prometheus.CounterValue},
}

// storeHelp are the figures of each store, with its id as a label.
var storeHelp = []struct{ name, help string }{
	{"lichen_store_ranges", "replicas of the store"},
	{"lichen_store_leaders", "of these, those that lead their range"},
	{"lichen_store_capacity_bytes", "what the store's disk counts for"},
	{"lichen_store_used_bytes", "how much of that is used"},
	{"lichen_store_disk_bytes", "size of the files of the engine and the log"},
	{"lichen_store_written_bytes_per_second", "bytes written to the log"},
	{"lichen_store_disk_stalled", "1 while the disk does not answer"},
	{"lichen_store_disk_full", "1 while the disk has no room"},
	{"lichen_store_disk_slow", "1 while each write to the log takes long"},
}

func newCollector(n *Node) *collector {
	c := &collector{n: n, descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}}
	for _, h := range help {
		c.descs[h.name] = prometheus.NewDesc(h.name, h.help, nil, nil)
		c.kinds[h.name] = h.kind
	}
	for _, h := range storeHelp {
		c.descs[h.name] = prometheus.NewDesc(h.name, h.help, []string{"store"}, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, h := range help {
		ch <- c.descs[h.name]
	}
	for _, h := range storeHelp {
		ch <- c.descs[h.name]
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	f := c.n.figures()
	for _, h := range help {
		if v, ok := f[h.name]; ok {
			ch <- prometheus.MustNewConstMetric(c.descs[h.name], c.kinds[h.name], v)
		}
	}
	c.collectStores(ch)
}

// collectStores gathers the figures of each store, in the order of storeHelp.
func (c *collector) collectStores(ch chan<- prometheus.Metric) {
	one := func(on bool) float64 {
		if on {
			return 1
		}
		return 0
	}
	for _, s := range c.n.KV.StoreInfos() {
		label := strconv.FormatUint(uint64(s.ID), 10)
		files := float64(0)
		for _, st := range c.n.KV.Store.Stores() {
			if st.Identity().Store == s.ID {
				files = float64(st.Engine().Metrics().DiskBytes) + float64(st.Log().Stats().DiskBytes)
			}
		}
		for i, v := range []float64{
			float64(s.Ranges), float64(s.Leaders), float64(s.CapacityBytes), float64(s.UsedBytes), files,
			s.WriteBytesPerSec, one(s.Stalled), one(s.Full), one(s.Slow),
		} {
			ch <- prometheus.MustNewConstMetric(c.descs[storeHelp[i].name], prometheus.GaugeValue, v, label)
		}
	}
}

func (n *Node) figures() map[string]float64 {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	eng, log, backlog := n.storageFigures()
	f := map[string]float64{
		"lichen_uptime_seconds":                time.Since(n.start).Seconds(),
		"lichen_go_heap_bytes":                 float64(ms.HeapAlloc),
		"lichen_go_goroutines":                 float64(runtime.NumGoroutine()),
		"lichen_sql_memory_bytes":              float64(n.Memory.Used()),
		"lichen_sql_memory_limit_bytes":        float64(n.Memory.Limit()),
		"lichen_sql_sessions":                  float64(len(n.SQL.Server().Sessions())),
		"lichen_txn_active":                    float64(n.KV.DB.ActiveTxns()),
		"lichen_consistency_checks_total":      float64(n.KV.Checker.Checked()),
		"lichen_consistency_differing_ranges":  float64(n.KV.Checker.Differing()),
		"lichen_replicas_unquiesced":           float64(n.KV.Store.Unquiesced()),
		"lichen_raftlog_appends_total":         float64(log.Appends),
		"lichen_raftlog_syncs_total":           float64(log.Syncs),
		"lichen_raftlog_written_bytes_total":   float64(log.BytesWritten),
		"lichen_raftlog_disk_bytes":            float64(log.DiskBytes),
		"lichen_raftlog_backlog_bytes":         float64(backlog),
		"lichen_storage_disk_bytes":            float64(eng.DiskBytes),
		"lichen_storage_memtable_bytes":        float64(eng.MemTableBytes),
		"lichen_storage_compaction_debt_bytes": float64(eng.CompactionDebt),
		"lichen_storage_l0_sublevels":          float64(eng.L0Sublevels),
		"lichen_storage_flushed_bytes_total":   float64(eng.FlushedBytes),
		"lichen_storage_compacted_bytes_total": float64(eng.CompactedBytes),
		"lichen_storage_cache_bytes":           float64(eng.CacheBytes),
		"lichen_storage_cache_hits_total":      float64(eng.CacheHits),
		"lichen_storage_cache_misses_total":    float64(eng.CacheMisses),
		"lichen_storage_version_hits_total":    float64(eng.VersionHits),
		"lichen_storage_version_misses_total":  float64(eng.VersionMisses),
	}
	for _, st := range n.KV.Store.Stores() {
		tracked, active := st.TrackedRanges()
		f["lichen_closedts_tracked_ranges"] += float64(tracked)
		f["lichen_closedts_active_ranges"] += float64(active)
	}
	for _, r := range n.KV.Store.Replicas() {
		s := r.Stats()
		f["lichen_kv_gets_total"] += float64(s.Gets.Load())
		f["lichen_kv_scans_total"] += float64(s.Scans.Load())
		f["lichen_kv_locks_total"] += float64(s.Locks.Load())
		f["lichen_kv_lock_waits_total"] += float64(s.LockWaits.Load())
		f["lichen_kv_commits_total"] += float64(s.Commits.Load())
		f["lichen_kv_refreshes_total"] += float64(s.Refreshes.Load())
		f["lichen_kv_refresh_failures_total"] += float64(s.RefreshFailures.Load())
		f["lichen_kv_closed_reads_total"] += float64(s.ClosedReads.Load())
		f["lichen_kv_closed_refused_total"] += float64(s.ClosedLocked.Load())
		f["lichen_kv_collected_versions_total"] += float64(s.Collected.Load())
	}
	return f
}
