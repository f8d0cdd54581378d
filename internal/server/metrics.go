package server

import (
	"runtime"
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
	{"lichen_kv_collected_versions_total", "old versions dropped", prometheus.CounterValue},
	{"lichen_consistency_checks_total", "ranges whose replicas were compared", prometheus.CounterValue},
	{"lichen_consistency_differing_ranges", "ranges whose replicas differed when they were compared last", prometheus.GaugeValue},
	{"lichen_ranges_awake", "replicas that do not rest", prometheus.GaugeValue},
	{"lichen_raftlog_appends_total", "appends to the log", prometheus.CounterValue},
	{"lichen_raftlog_syncs_total", "syncs of the log", prometheus.CounterValue},
	{"lichen_raftlog_written_bytes_total", "bytes written to the log", prometheus.CounterValue},
	{"lichen_raftlog_disk_bytes", "size of the log's files", prometheus.GaugeValue},
	{"lichen_raftlog_backlog_bytes", "log that waits for the engine to flush", prometheus.GaugeValue},
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

func newCollector(n *Node) *collector {
	c := &collector{n: n, descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}}
	for _, h := range help {
		c.descs[h.name] = prometheus.NewDesc(h.name, h.help, nil, nil)
		c.kinds[h.name] = h.kind
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, h := range help {
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
}

func (n *Node) figures() map[string]float64 {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	eng, log := n.store.Engine().Metrics(), n.store.Log().Stats()
	f := map[string]float64{
		"lichen_uptime_seconds":                time.Since(n.start).Seconds(),
		"lichen_go_heap_bytes":                 float64(ms.HeapAlloc),
		"lichen_go_goroutines":                 float64(runtime.NumGoroutine()),
		"lichen_sql_memory_bytes":              float64(n.mem.Used()),
		"lichen_sql_memory_limit_bytes":        float64(n.mem.Limit()),
		"lichen_sql_sessions":                  float64(len(n.sql.Sessions())),
		"lichen_txn_active":                    float64(n.db.ActiveTxns()),
		"lichen_consistency_checks_total":      float64(n.checking.checked.Load()),
		"lichen_consistency_differing_ranges":  float64(n.checking.differing()),
		"lichen_ranges_awake":                  float64(n.store.Awake()),
		"lichen_raftlog_appends_total":         float64(log.Appends),
		"lichen_raftlog_syncs_total":           float64(log.Syncs),
		"lichen_raftlog_written_bytes_total":   float64(log.BytesWritten),
		"lichen_raftlog_disk_bytes":            float64(log.DiskBytes),
		"lichen_raftlog_backlog_bytes":         float64(n.store.Log().BacklogBytes()),
		"lichen_storage_disk_bytes":            float64(eng.DiskBytes),
		"lichen_storage_memtable_bytes":        float64(eng.MemTableBytes),
		"lichen_storage_compaction_debt_bytes": float64(eng.CompactionDebt),
		"lichen_storage_l0_sublevels":          float64(eng.L0Sublevels),
		"lichen_storage_flushed_bytes_total":   float64(eng.FlushedBytes),
		"lichen_storage_compacted_bytes_total": float64(eng.CompactedBytes),
		"lichen_storage_cache_bytes":           float64(eng.CacheBytes),
		"lichen_storage_cache_hits_total":      float64(eng.CacheHits),
		"lichen_storage_cache_misses_total":    float64(eng.CacheMisses),
	}
	for _, r := range n.store.Replicas() {
		s := r.Stats()
		f["lichen_kv_gets_total"] += float64(s.Gets.Load())
		f["lichen_kv_scans_total"] += float64(s.Scans.Load())
		f["lichen_kv_locks_total"] += float64(s.Locks.Load())
		f["lichen_kv_lock_waits_total"] += float64(s.LockWaits.Load())
		f["lichen_kv_commits_total"] += float64(s.Commits.Load())
		f["lichen_kv_refreshes_total"] += float64(s.Refreshes.Load())
		f["lichen_kv_refresh_failures_total"] += float64(s.RefreshFailures.Load())
		f["lichen_kv_collected_versions_total"] += float64(s.Collected.Load())
	}
	return f
}
