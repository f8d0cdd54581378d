package server

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/rangeops"
	"github.com/lichendb/lichen/internal/storage"
)

// collector gathers the metrics of the parts of a node.
type collector struct {
	n     *Node
	descs map[string]*prometheus.Desc
	kinds map[string]prometheus.ValueType

	latency *prometheus.Desc
}

var help = []struct {
	name, help string
	kind       prometheus.ValueType
}{
	{"lichen_uptime_seconds", "time since the node started", prometheus.GaugeValue},
	{"lichen_certificate_expires_seconds", "when the first of the node's certificates expires, its CA's included, in seconds since 1970; 0: it has none", prometheus.GaugeValue},
	{"lichen_go_heap_bytes", "bytes of live and dead objects on the heap", prometheus.GaugeValue},
	{"lichen_go_goroutines", "goroutines", prometheus.GaugeValue},
	{"lichen_sql_memory_bytes", "memory reserved by statements", prometheus.GaugeValue},
	{"lichen_sql_memory_limit_bytes", "limit of the memory of statements (--max-memory)", prometheus.GaugeValue},
	{"lichen_go_gc_share", "share of the processor time that the collection of garbage took since the start", prometheus.GaugeValue},
	{"lichen_process_cpu_seconds_total", "processor time that the process has used", prometheus.CounterValue},
	{"lichen_process_cpus", "processors that the process used in the last ten seconds", prometheus.GaugeValue},
	{"lichen_process_resident_bytes", "memory of the process that is in RAM", prometheus.GaugeValue},
	{"lichen_machine_cpus", "processors that the process may use", prometheus.GaugeValue},
	{"lichen_process_read_bytes_total", "bytes that the process has had read from disks", prometheus.CounterValue},
	{"lichen_process_written_bytes_total", "bytes that the process has had written to disks", prometheus.CounterValue},
	{"lichen_process_open_files", "file descriptors that the process has open, those of connections included", prometheus.GaugeValue},
	{"lichen_machine_memory_bytes", "memory of the machine", prometheus.GaugeValue},
	{"lichen_machine_memory_available_bytes", "memory of the machine that programs could still take", prometheus.GaugeValue},
	{"lichen_go_gc_cycles_total", "collections of garbage", prometheus.CounterValue},
	{"lichen_go_gc_pause_seconds_total", "time for which these stopped the process", prometheus.CounterValue},
	{"lichen_go_allocated_bytes_total", "bytes allocated on the heap", prometheus.CounterValue},
	{"lichen_rpc_sent_bytes_total", "bytes sent to other nodes", prometheus.CounterValue},
	{"lichen_rpc_received_bytes_total", "bytes received from other nodes", prometheus.CounterValue},
	{"lichen_rpc_calls_total", "calls of other nodes", prometheus.CounterValue},
	{"lichen_rpc_calls_running", "calls of other nodes that run here", prometheus.GaugeValue},
	{"lichen_rpc_connects_total", "connections made to other nodes", prometheus.CounterValue},
	{"lichen_rpc_dial_failures_total", "attempts to connect to other nodes that failed", prometheus.CounterValue},
	{"lichen_rpc_messages_dropped_total", "messages to other nodes that were dropped: raft and others send them again", prometheus.CounterValue},
	{"lichen_sql_sessions", "open sessions", prometheus.GaugeValue},
	{"lichen_sql_statements_total", "statements of clients that have ended", prometheus.CounterValue},
	{"lichen_sql_statement_errors_total", "of these, those that failed", prometheus.CounterValue},
	{"lichen_sql_statement_retries_total", "attempts of statements beyond the first", prometheus.CounterValue},
	{"lichen_sql_statement_p50_seconds", "time below which half of the statements of the last ten seconds took", prometheus.GaugeValue},
	{"lichen_sql_statement_p99_seconds", "time below which 99 of 100 statements of the last ten seconds took", prometheus.GaugeValue},
	{"lichen_sql_fingerprints_dropped_total", "fingerprints of statements that gave way to others in the statistics", prometheus.CounterValue},
	{"lichen_traces_exported_total", "traces of statements that the collector of OpenTelemetry has taken", prometheus.CounterValue},
	{"lichen_traces_dropped_total", "traces that were not sent because too many waited", prometheus.CounterValue},
	{"lichen_traces_failed_total", "traces that the collector has not taken", prometheus.CounterValue},
	{"lichen_pgwire_received_bytes_total", "bytes that SQL clients have sent", prometheus.CounterValue},
	{"lichen_pgwire_sent_bytes_total", "bytes that SQL clients have received", prometheus.CounterValue},
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
	{"lichen_storage_version_hits_total", "point reads served from the cache of newest versions", prometheus.CounterValue},
	{"lichen_storage_version_misses_total", "point reads that it could not serve", prometheus.CounterValue},
	{"lichen_storage_flushes_total", "memtables written to tables", prometheus.CounterValue},
	{"lichen_storage_compactions_total", "compactions", prometheus.CounterValue},
	{"lichen_storage_write_amplification", "bytes written to tables for each byte that was flushed, since the node started; the log comes on top", prometheus.GaugeValue},
	{"lichen_storage_read_amplification", "tables or levels that a read looks through at most", prometheus.GaugeValue},
	{"lichen_storage_tables", "tables of the engine", prometheus.GaugeValue},
	{"lichen_storage_tombstones", "deletions that wait for a compaction to remove them", prometheus.GaugeValue},
	{"lichen_storage_level0_bytes", "size of the tables of level 0", prometheus.GaugeValue},
	{"lichen_storage_level1_bytes", "size of the tables of level 1", prometheus.GaugeValue},
	{"lichen_storage_level2_bytes", "size of the tables of level 2", prometheus.GaugeValue},
	{"lichen_storage_level3_bytes", "size of the tables of level 3", prometheus.GaugeValue},
	{"lichen_storage_level4_bytes", "size of the tables of level 4", prometheus.GaugeValue},
	{"lichen_storage_level5_bytes", "size of the tables of level 5", prometheus.GaugeValue},
	{"lichen_storage_level6_bytes", "size of the tables of level 6", prometheus.GaugeValue},
	{"lichen_snapshots_sent_total", "snapshots of ranges sent to other stores", prometheus.CounterValue},
	{"lichen_snapshots_sent_bytes_total", "bytes of snapshots sent", prometheus.CounterValue},
	{"lichen_snapshots_received_total", "snapshots of ranges received", prometheus.CounterValue},
	{"lichen_snapshots_received_bytes_total", "bytes of snapshots received", prometheus.CounterValue},
	{"lichen_ranges_splits_total", "ranges led here that were split", prometheus.CounterValue},
	{"lichen_ranges_merges_total", "ranges led here that were merged with the next one", prometheus.CounterValue},
	{"lichen_ranges_replica_changes_total", "changes of the replicas of ranges led here", prometheus.CounterValue},
	{"lichen_ranges_leader_transfers_total", "leaderships handed to another store", prometheus.CounterValue},
	{"lichen_kv_lock_wait_ended_total", "waits for locks here that have ended", prometheus.CounterValue},
	{"lichen_kv_lock_wait_seconds_total", "time that they took together", prometheus.CounterValue},
	{"lichen_schema_locks_total", "exclusive locks of schema changes on objects that have ended here", prometheus.CounterValue},
	{"lichen_schema_lock_seconds_total", "time for which they kept others from the objects, together", prometheus.CounterValue},
	{"lichen_schema_lock_longest_seconds", "the longest of these times since the node started", prometheus.GaugeValue},
	{"lichen_jobs_taken_over_total", "jobs of nodes that died with which this node went on", prometheus.CounterValue},
}

// storeHelp are the metrics of each store, with its id as a label.
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
	{"lichen_store_encrypted_bytes", "size of the files that are encrypted at rest"},
	{"lichen_store_plain_bytes", "size of the files of an encrypted store that are not encrypted yet"},
	{"lichen_store_data_keys", "data keys that the files of the store are encrypted with"},
	{"lichen_store_data_key_age_seconds", "for how long the data key of new files has been in use"},
}

func newCollector(n *Node) *collector {
	c := &collector{n: n, descs: map[string]*prometheus.Desc{}, kinds: map[string]prometheus.ValueType{}}
	c.latency = prometheus.NewDesc(latencyName, "how long the statements of clients took", nil, nil)
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
	ch <- c.latency
	for _, h := range help {
		ch <- c.descs[h.name]
	}
	for _, h := range storeHelp {
		ch <- c.descs[h.name]
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	f := c.n.metricValues()
	for _, h := range help {
		if v, ok := f[h.name]; ok {
			ch <- prometheus.MustNewConstMetric(c.descs[h.name], c.kinds[h.name], v)
		}
	}
	c.collectLatency(ch)
	c.collectStores(ch)
}

// latencyName is the histogram of how long statements took.
const latencyName = "lichen_sql_statement_seconds"

// collectLatency gathers how long statements took, in buckets of powers of two.
func (c *collector) collectLatency(ch chan<- prometheus.Metric) {
	srv := c.n.SQL.Server()
	if srv == nil {
		return
	}
	t := srv.Statements().Totals()
	buckets, below := map[float64]uint64{}, uint64(0)
	const perPower = 8
	for i, n := range t.Latency {
		below += n
		if i%perPower == perPower-1 {
			buckets[obs.BucketEnd(i).Seconds()] = below
		}
	}
	ch <- prometheus.MustNewConstHistogram(c.latency, below, time.Duration(t.Nanos).Seconds(), buckets)
}

// collectStores gathers the metrics of each store.
func (c *collector) collectStores(ch chan<- prometheus.Metric) {
	for _, s := range c.n.storeMetrics() {
		for i, v := range s.values {
			ch <- prometheus.MustNewConstMetric(c.descs[storeHelp[i].name], prometheus.GaugeValue, v, strconv.FormatUint(s.id, 10))
		}
	}
}

// storeMetric has the metrics of a store, in the order of storeHelp.
type storeMetric struct {
	id     uint64
	values []float64
}

// storeMetrics gathers the metrics of each store.
func (n *Node) storeMetrics() (out []storeMetric) {
	one := func(on bool) float64 {
		if on {
			return 1
		}
		return 0
	}
	for _, s := range n.KV.StoreInfos() {
		files, dir := float64(0), ""
		for i, st := range n.KV.Store.Stores() {
			if st.Identity().Store == s.ID {
				dir = n.cfg.Stores[i].Path
				files = float64(st.Engine().Metrics().DiskBytes) + float64(st.Log().Stats().DiskBytes)
			}
		}
		var sealed crypt.Metrics
		if e := n.fs.Store(dir); e != nil {
			sealed = e.Metrics()
		}
		out = append(out, storeMetric{uint64(s.ID), []float64{
			float64(s.Ranges), float64(s.Leaders), float64(s.CapacityBytes), float64(s.UsedBytes), files,
			s.WriteBytesPerSec, one(s.Stalled), one(s.Full), one(s.Slow),
			float64(sealed.Encrypted), float64(sealed.Plain), float64(sealed.Keys), sealed.KeyAge.Seconds(),
		}})
	}
	return out
}

// allMetrics are those of the node, with the sums of its stores' and what the sampler has found out last.
func (n *Node) allMetrics() map[string]float64 {
	f := n.metricValues()
	for _, s := range n.storeMetrics() {
		for i, v := range s.values {
			f[storeHelp[i].name] += v
		}
	}
	return f
}

// statementMetrics are those of the statements of clients.
func (n *Node) statementMetrics(f map[string]float64) {
	if srv := n.SQL.Server(); srv != nil {
		t := srv.Statements().Totals()
		f["lichen_sql_sessions"] = float64(len(srv.Sessions()))
		f["lichen_sql_statements_total"] = float64(t.Latency.Total())
		f["lichen_sql_statement_errors_total"] = float64(t.Errors)
		f["lichen_sql_statement_retries_total"] = float64(t.Retries)
		f["lichen_sql_fingerprints_dropped_total"] = float64(t.Cut)
	}
	n.traceMetrics(f)
	m := n.SQLServer().Metrics()
	f["lichen_pgwire_received_bytes_total"], f["lichen_pgwire_sent_bytes_total"] = float64(m.BytesIn), float64(m.BytesOut)
	for _, name := range []string{"lichen_process_cpus", "lichen_sql_statement_p50_seconds", "lichen_sql_statement_p99_seconds"} {
		if v, ok := n.sampler.last().Values[name]; ok {
			f[name] = v
		}
	}
}

// levelMetrics are those of the levels of the engines' trees.
func levelMetrics(f map[string]float64, m *storage.Metrics) {
	f["lichen_storage_flushes_total"], f["lichen_storage_compactions_total"] = float64(m.Flushes), float64(m.Compactions)
	f["lichen_storage_read_amplification"], f["lichen_storage_tables"] = float64(m.ReadAmp), float64(m.LiveTables)
	f["lichen_storage_tombstones"] = float64(m.TombstoneCount)
	if m.FlushedBytes > 0 {
		f["lichen_storage_write_amplification"] = float64(m.FlushedBytes+m.CompactedBytes) / float64(m.FlushedBytes)
	}
	for i, bytes := range m.LevelBytes {
		f[fmt.Sprintf("lichen_storage_level%d_bytes", i)] = float64(bytes)
	}
}

// rangeMetrics are those of what changes ranges, and of waits for locks.
func (n *Node) rangeMetrics(f map[string]float64) {
	for name, kind := range map[string]rangeops.Kind{
		"lichen_ranges_splits_total": rangeops.Split, "lichen_ranges_merges_total": rangeops.Merge,
		"lichen_ranges_replica_changes_total": rangeops.ChangeReplicas, "lichen_ranges_leader_transfers_total": rangeops.TransferLeader,
	} {
		f[name] = float64(n.KV.Admin.Done(kind))
	}
	for _, st := range n.KV.Store.Stores() {
		s := st.SnapshotStats()
		f["lichen_snapshots_sent_total"] += float64(s.Sent)
		f["lichen_snapshots_sent_bytes_total"] += float64(s.SentBytes)
		f["lichen_snapshots_received_total"] += float64(s.Received)
		f["lichen_snapshots_received_bytes_total"] += float64(s.ReceivedBytes)
	}
	count, took := n.KV.Store.Waits().Log().Totals()
	f["lichen_kv_lock_wait_ended_total"], f["lichen_kv_lock_wait_seconds_total"] = float64(count), took.Seconds()
}

// schemaLockMetrics adds how long schema changes kept others from objects.
func (n *Node) schemaLockMetrics(f map[string]float64) {
	srv := n.SQL.Server()
	if srv == nil {
		return
	}
	count, total, longest := n.SQL.Catalog().LockTimes()
	f["lichen_schema_locks_total"], f["lichen_schema_lock_seconds_total"] = float64(count), total.Seconds()
	f["lichen_schema_lock_longest_seconds"] = longest.Seconds()
	f["lichen_jobs_taken_over_total"] = float64(srv.JobsTakenOver())
}

func (n *Node) metricValues() map[string]float64 {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	eng, log, backlog := n.storageMetrics()
	f := map[string]float64{
		"lichen_uptime_seconds":                time.Since(n.start).Seconds(),
		"lichen_certificate_expires_seconds":   n.certificateExpires(),
		"lichen_go_heap_bytes":                 float64(ms.HeapAlloc),
		"lichen_go_goroutines":                 float64(runtime.NumGoroutine()),
		"lichen_sql_memory_bytes":              float64(n.Memory.Used()),
		"lichen_sql_memory_limit_bytes":        float64(n.Memory.Limit()),
		"lichen_go_gc_share":                   ms.GCCPUFraction,
		"lichen_go_gc_cycles_total":            float64(ms.NumGC),
		"lichen_go_gc_pause_seconds_total":     time.Duration(ms.PauseTotalNs).Seconds(),
		"lichen_go_allocated_bytes_total":      float64(ms.TotalAlloc),
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
	processMetrics(f)
	n.networkMetrics(f)
	n.statementMetrics(f)
	levelMetrics(f, &eng)
	n.rangeMetrics(f)
	n.schemaLockMetrics(f)
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
