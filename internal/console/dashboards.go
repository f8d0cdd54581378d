package console

// Dashboard is a page of graphs.
type Dashboard struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Graphs []Graph `json:"graphs"`
}

// Graph is a graph of metrics.
type Graph struct {
	Title string `json:"title"`
	// Explain says what it shows, and what to make of it.
	Explain string  `json:"explain"`
	Unit    string  `json:"unit"` // count, bytes, seconds, share, persecond, bytespersecond
	Curves  []Curve `json:"curves"`
	// Combine says what is shown of several nodes together: sum, max or mean.
	Combine string `json:"combine"`
}

// Curve is a metric in a graph.
type Curve struct {
	Metric string `json:"metric"`
	Label  string `json:"label"`
}

// dashboards are all of them. Their metrics are at /_status/vars under the same names.
var dashboards = []Dashboard{sqlDashboard, storageDashboard, replicationDashboard, distributionDashboard, hardwareDashboard, runtimeDashboard}

var sqlDashboard = Dashboard{"sql", "SQL", []Graph{
	{"Statements per second", "Statements of clients that ended, failed ones included. If it drops while latency rises, something is saturated or waits.", "persecond",
		[]Curve{{"lichen_sql_statements_total", "statements"}}, "sum"},
	{"Statement latency", "From when a statement began to its end, as half of all (p50) and 99 of 100 (p99) stayed below in ten seconds. Of several nodes the slowest is shown.", "seconds",
		[]Curve{{"lichen_sql_statement_p50_seconds", "p50"}, {"lichen_sql_statement_p99_seconds", "p99"}}, "max"},
	{"Errors and retries", "Statements that failed, and attempts that were made again after a conflict. Many retries mean that transactions contend for the same rows.", "persecond",
		[]Curve{{"lichen_sql_statement_errors_total", "errors"}, {"lichen_sql_statement_retries_total", "retries"}}, "sum"},
	{"Sessions and transactions", "Open sessions, and transactions in progress.", "count",
		[]Curve{{"lichen_sql_sessions", "sessions"}, {"lichen_txn_active", "transactions"}}, "sum"},
	{"Memory of statements", "Memory that running statements have reserved. At its limit (--max-memory) statements wait or spill to disk.", "bytes",
		[]Curve{{"lichen_sql_memory_bytes", "reserved"}, {"lichen_sql_memory_limit_bytes", "limit"}}, "sum"},
	{"Lock waits", "Row locks that were taken, and those of them that had to wait for another transaction.", "persecond",
		[]Curve{{"lichen_kv_locks_total", "locks"}, {"lichen_kv_lock_waits_total", "waits"}}, "sum"},
	{"Time spent waiting for locks", "Seconds that transactions wait for others, in each second: 2 means that two wait all the time. SQL activity lists who waits for whom.", "count",
		[]Curve{{"lichen_kv_lock_wait_seconds_total", "waiting"}}, "sum"},
	{"Traces sent", "Traces of statements that the collector of OpenTelemetry has taken, those that it has not, and those that were not sent since too many waited. Nothing is sent unless the setting server.traces.otlp.endpoint says where.", "persecond",
		[]Curve{{"lichen_traces_exported_total", "taken"}, {"lichen_traces_failed_total", "failed"}, {"lichen_traces_dropped_total", "dropped"}}, "sum"},
	{"Traffic with clients", "Bytes that SQL clients have sent and received.", "bytespersecond",
		[]Curve{{"lichen_pgwire_received_bytes_total", "received"}, {"lichen_pgwire_sent_bytes_total", "sent"}}, "sum"},
}}

var storageDashboard = Dashboard{"storage", "Storage", []Graph{
	{"Disk use", "What the stores' disks count for, and what is used of it by all.", "bytes",
		[]Curve{{"lichen_store_used_bytes", "used"}, {"lichen_store_capacity_bytes", "capacity"}}, "sum"},
	{"Files of the stores", "The engine's tables and the log.", "bytes",
		[]Curve{{"lichen_storage_disk_bytes", "engine"}, {"lichen_raftlog_disk_bytes", "log"}}, "sum"},
	{"Compactions and flushes", "Bytes that are written again to keep the tree of tables in order. Compared with what is flushed it is the write amplification.", "bytespersecond",
		[]Curve{{"lichen_storage_flushed_bytes_total", "flushed"}, {"lichen_storage_compacted_bytes_total", "compacted"}}, "sum"},
	{"Write amplification", "Bytes written to tables for each byte that came from a memtable, since the node started. Ten to thirty is usual for a large store; the log is not counted.", "count",
		[]Curve{{"lichen_storage_write_amplification", "times"}}, "max"},
	{"Levels", "Size of the tables of each level. Each holds about ten times what the one above it does; rows sink from level 0 to 6, where most lie.", "bytes",
		[]Curve{{"lichen_storage_level0_bytes", "0"}, {"lichen_storage_level1_bytes", "1"}, {"lichen_storage_level2_bytes", "2"}, {"lichen_storage_level3_bytes", "3"},
			{"lichen_storage_level4_bytes", "4"}, {"lichen_storage_level5_bytes", "5"}, {"lichen_storage_level6_bytes", "6"}}, "sum"},
	{"Flushes and compactions", "How many memtables become tables, and how many compactions there are.", "persecond",
		[]Curve{{"lichen_storage_flushes_total", "flushes"}, {"lichen_storage_compactions_total", "compactions"}}, "sum"},
	{"Read amplification", "Places that a read looks through at most. It falls when compactions catch up.", "count",
		[]Curve{{"lichen_storage_read_amplification", "places"}}, "max"},
	{"Tables and tombstones", "Tables of the engines, and deletions that wait for a compaction to remove them.", "count",
		[]Curve{{"lichen_storage_tables", "tables"}, {"lichen_storage_tombstones", "tombstones"}}, "sum"},
	{"Compaction debt", "Bytes that wait to be compacted. If it only grows, the disk is too slow for what is written.", "bytes",
		[]Curve{{"lichen_storage_compaction_debt_bytes", "debt"}}, "sum"},
	{"Levels of L0", "Levels that a read looks through before the sorted ones. More than ten slow reads down, and writes are held back.", "count",
		[]Curve{{"lichen_storage_l0_sublevels", "sublevels"}}, "max"},
	{"Block cache", "Block reads that the cache served, and those that went to a file.", "persecond",
		[]Curve{{"lichen_storage_cache_hits_total", "hits"}, {"lichen_storage_cache_misses_total", "misses"}}, "sum"},
	{"Contents of the block cache", "What the cache holds. It grows to --cache.", "bytes",
		[]Curve{{"lichen_storage_cache_bytes", "blocks"}}, "sum"},
	{"Cache of newest versions", "Point reads that the cache before the engine served, and those that it could not.", "persecond",
		[]Curve{{"lichen_storage_version_hits_total", "hits"}, {"lichen_storage_version_misses_total", "misses"}}, "sum"},
	{"Memtables", "Writes that are in memory, and in the log, but not in tables yet.", "bytes",
		[]Curve{{"lichen_storage_memtable_bytes", "memtables"}}, "sum"},
	{"Old versions dropped", "Versions of rows that nobody can read any more.", "persecond",
		[]Curve{{"lichen_kv_collected_versions_total", "versions"}}, "sum"},
}}

var replicationDashboard = Dashboard{"replication", "Replication", []Graph{
	{"Log", "Appends to the raft log and syncs of it: one sync serves many appends.", "persecond",
		[]Curve{{"lichen_raftlog_appends_total", "appends"}, {"lichen_raftlog_syncs_total", "syncs"}}, "sum"},
	{"Bytes written to the log", "Each write goes here first, on each replica.", "bytespersecond",
		[]Curve{{"lichen_raftlog_written_bytes_total", "written"}}, "sum"},
	{"Log kept", "What a restart replays, and what followers may still need. It grows while a follower is away.", "bytes",
		[]Curve{{"lichen_raftlog_backlog_bytes", "backlog"}}, "sum"},
	{"Active raft groups", "Replicas whose group is awake. Groups without writes sleep, and cost nothing.", "count",
		[]Curve{{"lichen_replicas_unquiesced", "awake"}}, "sum"},
	{"Leaderships", "Ranges that a node leads, which replaces leases: the leader of the raft group serves reads and orders writes. Many that are handed over mean that the cluster evens out, or that a node drains.", "count",
		[]Curve{{"lichen_store_leaders", "leaders"}}, "sum"},
	{"Leaderships handed over", "How many leaders hand their range to another store.", "persecond",
		[]Curve{{"lichen_ranges_leader_transfers_total", "handed over"}}, "sum"},
	{"Calls between nodes", "Requests to ranges on other nodes and other calls, and those that run.", "persecond",
		[]Curve{{"lichen_rpc_calls_total", "calls"}}, "sum"},
	{"Closed timestamps", "Ranges that are led here, by how their timestamps are closed, so that followers can serve reads of the past.", "count",
		[]Curve{{"lichen_closedts_tracked_ranges", "with their store"}, {"lichen_closedts_active_ranges", "one by one"}}, "sum"},
	{"Snapshots", "Copies of ranges that stores send to replicas which lack the log: new ones, and those that were away for long.", "persecond",
		[]Curve{{"lichen_snapshots_sent_total", "sent"}, {"lichen_snapshots_received_total", "received"}}, "sum"},
	{"Bytes of snapshots", "What these take on the network. The setting kv.snapshot_rebalance.max_rate bounds it for each store.", "bytespersecond",
		[]Curve{{"lichen_snapshots_sent_bytes_total", "sent"}, {"lichen_snapshots_received_bytes_total", "received"}}, "sum"},
	{"Reads by followers", "Reads of the past that replicas served which do not lead.", "persecond",
		[]Curve{{"lichen_kv_closed_reads_total", "served"}, {"lichen_kv_closed_refused_total", "left to leaders"}}, "sum"},
	{"Consistency checks", "Ranges whose replicas were compared, and those that differed at the last comparison, which should be none.", "count",
		[]Curve{{"lichen_consistency_differing_ranges", "differing"}}, "sum"},
}}

var distributionDashboard = Dashboard{"distribution", "Distribution", []Graph{
	{"Replicas", "Replicas by node. They move to nodes that join, and away from nodes that leave.", "count",
		[]Curve{{"lichen_store_ranges", "replicas"}}, "sum"},
	{"Leaders", "Ranges that a node leads: it serves their reads and orders their writes.", "count",
		[]Curve{{"lichen_store_leaders", "leaders"}}, "sum"},
	{"Splits and merges", "Ranges that became two because they were large or busy, or a table wanted it, and neighbours that became one.", "persecond",
		[]Curve{{"lichen_ranges_splits_total", "splits"}, {"lichen_ranges_merges_total", "merges"}}, "sum"},
	{"Moves", "Changes of the replicas of ranges, and leaderships that were handed to another store. They go on until load and disks are even.", "persecond",
		[]Curve{{"lichen_ranges_replica_changes_total", "replica changes"}, {"lichen_ranges_leader_transfers_total", "leaders"}}, "sum"},
	{"Point reads and scans", "Requests that ranges have served.", "persecond",
		[]Curve{{"lichen_kv_gets_total", "reads"}, {"lichen_kv_scans_total", "pages scanned"}}, "sum"},
	{"Commits", "Commits of writing transactions at the ranges that take part in them.", "persecond",
		[]Curve{{"lichen_kv_commits_total", "commits"}}, "sum"},
	{"Refreshes", "Attempts to move what a transaction has read to a later time, so that it need not begin again, and those that found a change.", "persecond",
		[]Curve{{"lichen_kv_refreshes_total", "attempts"}, {"lichen_kv_refresh_failures_total", "failed"}}, "sum"},
	{"Written by stores", "Bytes that the stores write to their logs.", "bytespersecond",
		[]Curve{{"lichen_store_written_bytes_per_second", "written"}}, "sum"},
}}

var hardwareDashboard = Dashboard{"hardware", "Hardware", []Graph{
	{"Processors in use", "How many processors the node's process uses.", "count",
		[]Curve{{"lichen_process_cpus", "in use"}, {"lichen_machine_cpus", "there are"}}, "sum"},
	{"Memory", "Memory of the process that is in RAM, and what the machine has left for programs. If that nears zero, the system ends some.", "bytes",
		[]Curve{{"lichen_process_resident_bytes", "resident"}, {"lichen_machine_memory_available_bytes", "available"}}, "sum"},
	{"Disk traffic", "Bytes that the process has had read from disks and written to them. Reads that the system's cache serves are not among them.", "bytespersecond",
		[]Curve{{"lichen_process_read_bytes_total", "read"}, {"lichen_process_written_bytes_total", "written"}}, "sum"},
	{"Network between nodes", "Bytes that nodes send each other: the raft log, reads and parts of queries, snapshots.", "bytespersecond",
		[]Curve{{"lichen_rpc_sent_bytes_total", "sent"}, {"lichen_rpc_received_bytes_total", "received"}}, "sum"},
	{"Connections between nodes", "Connections that were made, attempts that failed, and messages that were dropped meanwhile. All are near zero unless nodes or the network come and go.", "persecond",
		[]Curve{{"lichen_rpc_connects_total", "made"}, {"lichen_rpc_dial_failures_total", "failed"}, {"lichen_rpc_messages_dropped_total", "messages dropped"}}, "sum"},
	{"Open files", "File descriptors of the process: tables, the log, connections. Beyond what the system allows clients are refused first.", "count",
		[]Curve{{"lichen_process_open_files", "open"}}, "sum"},
	{"Disks in trouble", "Stores whose disk does not answer, has no room, or takes long for each write.", "count",
		[]Curve{{"lichen_store_disk_stalled", "stalled"}, {"lichen_store_disk_full", "full"}, {"lichen_store_disk_slow", "slow"}}, "sum"},
	{"Disk of the stores", "Size of the files of engine and log.", "bytes",
		[]Curve{{"lichen_store_disk_bytes", "files"}}, "sum"},
	{"Encryption at rest", "Size of the files of encrypted stores, by whether they are encrypted already.", "bytes",
		[]Curve{{"lichen_store_encrypted_bytes", "encrypted"}, {"lichen_store_plain_bytes", "plain"}}, "sum"},
}}

var runtimeDashboard = Dashboard{"runtime", "Runtime", []Graph{
	{"Heap", "Live and dead objects on Go's heap.", "bytes", []Curve{{"lichen_go_heap_bytes", "heap"}}, "sum"},
	{"Goroutines", "They rise with clients; if they only rise, something is stuck.", "count", []Curve{{"lichen_go_goroutines", "goroutines"}}, "sum"},
	{"Allocation", "Bytes allocated on the heap. What is allocated must be collected.", "bytespersecond", []Curve{{"lichen_go_allocated_bytes_total", "allocated"}}, "sum"},
	{"Pauses", "Time for which collections of garbage stopped the process, in each second.", "seconds", []Curve{{"lichen_go_gc_pause_seconds_total", "paused"}}, "max"},
	{"Garbage collection", "The share of processor time that the collection of garbage takes.", "share", []Curve{{"lichen_go_gc_share", "share"}}, "max"},
	{"Uptime", "Since the node's process started.", "seconds", []Curve{{"lichen_uptime_seconds", "uptime"}}, "max"},
}}
