package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// registry is every parameter, sorted by folded name (a test checks it). Those
// marked NoEffect are the one list of parameters that are accepted and change
// nothing, each with the reason why its promise holds all the same.
var registry = []*Param{
	{Name: "allow_system_table_mods", Default: "off", NoEffect: true, Why: "system catalogs can't be changed", is: alwaysOff},
	{Name: "application_name", Report: true, Doc: "name of the client application", is: text(applicationName), apply: func(v *Values, s string) {
		v.Fast.ApplicationName = s
	}},
	{Name: "array_nulls", Default: "on", NoEffect: true, Why: "NULL in array text always means NULL", is: alwaysOn},
	{Name: "authentication_timeout", Default: "1min", Doc: "longest time for a client to authenticate", ReadOnly: true},
	{Name: "autovacuum", Default: "on", Doc: "collection of old versions, which always runs", ReadOnly: true},
	{Name: "backend_flush_after", Default: "0", NoEffect: true, Why: "files are synced as the log needs it", is: pages(0, 256)},
	{Name: "backslash_quote", Default: "safe_encoding", Doc: "whether \\' stands for a quote in strings with escapes", is: enum("safe_encoding", "on", "off"), apply: func(v *Values, s string) {
		v.Fast.BackslashQuote = s
	}},
	{Name: "block_size", Default: "8192", Doc: "bytes of a page of relation sizes", ReadOnly: true},
	{Name: "bytea_output", Default: "hex", Doc: "how bytea values are printed", is: enum("escape", "hex"), apply: func(v *Values, s string) {
		v.Format.ByteaOutput = types.ByteaHex
		if s == "escape" {
			v.Format.ByteaOutput = types.ByteaEscape
		}
	}},
	{Name: "check_function_bodies", Default: "on", NoEffect: true, Why: "there are no function bodies to check", is: boolean},
	{Name: "client_connection_check_interval", Default: "100ms", Doc: "interval in which a running statement looks whether its client is still there", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.ClientCheck = d })},
	{Name: "client_encoding", Default: "UTF8", Doc: "character set of the client's texts", Report: true, is: text(encodingValue), apply: func(v *Values, s string) {
		if v.Fast.Encoding = charset.Find(s); v.Fast.Encoding.Plain() {
			v.Fast.Encoding = nil
		}
	}},
	{Name: "client_min_messages", Default: "notice", Doc: "least severity of the messages that the client gets", is: enum(Severities...), apply: func(v *Values, s string) {
		v.Fast.MinMessages = slices.Index(Severities, s)
	}},
	{Name: "cluster_name", Default: "", Doc: "name of the cluster", ReadOnly: true},
	{Name: "commit_delay", Default: "0", NoEffect: true, Why: "commits are grouped by themselves", is: integer(0, 100000)},
	{Name: "commit_siblings", Default: "5", NoEffect: true, Why: "commits are grouped by themselves", is: integer(0, 1000)},
	{Name: "compute_query_id", Default: "auto", NoEffect: true, Why: "statements have no query identifiers", is: enum("auto", "off")},
	{Name: "constraint_exclusion", Default: "partition", NoEffect: true, Why: "the planner chooses by cost alone", is: enum("partition", "on", "off")},
	{Name: "cpu_index_tuple_cost", Default: "0.005", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cpu_operator_cost", Default: "0.0025", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cpu_tuple_cost", Default: "0.01", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cursor_tuple_fraction", Default: "0.1", NoEffect: true, Why: "the planner chooses by cost alone", is: fraction(0, 1)},
	{Name: "data_checksums", Default: "on", Doc: "blocks on disk have checksums", ReadOnly: true},
	{Name: "DateStyle", Default: "ISO, MDY", Doc: "how dates are printed, and which of day and month comes first in ambiguous ones", Report: true, is: Kind{Type: "string"}, merge: setDateStyle, apply: func(v *Values, s string) {
		v.Format.DateStyle, _ = parseDateStyle(s)
	}},
	{Name: "deadlock_timeout", Default: "1s", NoEffect: true, Why: "deadlocks are looked for when a wait begins", is: milliseconds(1, math.MaxInt32)},
	{Name: "debug_assertions", Default: "off", Doc: "the server was built with debugging assertions", ReadOnly: true},
	{Name: "debug_pretty_print", Default: "on", NoEffect: true, Why: "plans are shown by EXPLAIN only", is: boolean},
	{Name: "debug_print_parse", Default: "off", NoEffect: true, Why: "plans are shown by EXPLAIN only", is: boolean},
	{Name: "debug_print_plan", Default: "off", NoEffect: true, Why: "plans are shown by EXPLAIN only", is: boolean},
	{Name: "debug_print_rewritten", Default: "off", NoEffect: true, Why: "plans are shown by EXPLAIN only", is: boolean},
	{Name: "default_int_size", Default: "4", is: enum("4", "8"), Doc: "bytes of a column declared INT", apply: func(v *Values, s string) {
		v.Fast.DefaultIntSize, _ = strconv.Atoi(s)
	}},
	{Name: "default_statistics_target", Default: "100", NoEffect: true, Why: "the rows that ANALYZE looks at are enough", is: integer(1, 10000)},
	{Name: "default_table_access_method", Default: "heap", NoEffect: true, Why: "there is one", is: enum("heap")},
	{Name: "default_tablespace", Default: "", Doc: "tablespace of new tables and indexes"},
	{Name: "default_text_search_config", Default: "pg_catalog.english", Doc: "text search configuration of functions that are given none", is: text(textSearchConfig)},
	{Name: "default_toast_compression", Default: "pglz", NoEffect: true, Why: "blocks are compressed as a whole", is: enum("pglz", "lz4")},
	{Name: "default_transaction_deferrable", Default: "off", NoEffect: true, Why: "serializable reads never wait for a safe snapshot", is: boolean, apply: func(v *Values, s string) {
		v.Fast.DefaultDeferrable = s == "on"
	}},
	{Name: "default_transaction_isolation", Default: "serializable", Doc: "isolation level of new transactions", is: text(isolationValue), apply: func(v *Values, s string) {
		v.Fast.DefaultIsolation, _ = ParseIsolation(s)
		v.Fast.DefaultUncommitted = s == readUncommitted
	}},
	{Name: "default_transaction_read_only", Default: "off", Doc: "new transactions are read-only", Report: true, is: boolean, apply: func(v *Values, s string) {
		v.Fast.DefaultReadOnly = s == "on"
	}},
	{Name: "default_with_oids", Default: "off", NoEffect: true, Why: "tables have no OIDs", is: alwaysOff},
	{Name: "distsql", Default: "auto", is: enum("off", "auto", "on", "always"), Doc: "whether parts of queries run on the nodes that have their rows: never, where that spares bytes between nodes, or wherever it can be done", apply: func(v *Values, s string) {
		v.Fast.Distribute = s
	}},
	{Name: "effective_cache_size", Default: "4GB", NoEffect: true, Why: "the planner chooses by cost alone", is: pages(1, math.MaxInt32)},
	{Name: "effective_io_concurrency", Default: "1", NoEffect: true, Why: "the storage engine reads ahead by itself", is: integer(0, 1000)},
	{Name: "enable_async_append", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_bitmapscan", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_gathermerge", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_hashagg", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_hashjoin", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_incremental_sort", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_indexonlyscan", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_indexscan", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_material", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_memoize", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_mergejoin", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_nestloop", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_parallel_append", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_parallel_hash", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_partition_pruning", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_partitionwise_aggregate", Default: "off", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_partitionwise_join", Default: "off", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_seqscan", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_sort", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "enable_tidscan", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "escape_string_warning", Default: "on", Doc: "warn of backslashes in ordinary string literals", is: boolean, apply: func(v *Values, s string) {
		v.Fast.NoEscapeWarning = s == "off"
	}},
	{Name: "exit_on_error", Default: "off", NoEffect: true, Why: "an error ends its transaction only", is: alwaysOff},
	{Name: "extra_float_digits", Default: "1", Doc: "digits of floating-point numbers beyond the standard ones; above 0 the shortest exact form", is: integer(-15, 3), apply: func(v *Values, s string) {
		v.Format.ExtraFloatDigits, _ = strconv.Atoi(s)
	}},
	{Name: "force_parallel_mode", Default: "off", NoEffect: true, Why: "the planner chooses by cost alone", is: enum("off", "on", "regress")},
	{Name: "from_collapse_limit", Default: "8", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(1, math.MaxInt32)},
	{Name: "fsync", Default: "on", Doc: "a commit waits until the disk has it", ReadOnly: true},
	{Name: "full_page_writes", Default: "off", Doc: "the log has whole pages", ReadOnly: true},
	{Name: "geqo", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "geqo_effort", Default: "5", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(1, 10)},
	{Name: "geqo_generations", Default: "0", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(0, math.MaxInt32)},
	{Name: "geqo_pool_size", Default: "0", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(0, math.MaxInt32)},
	{Name: "geqo_seed", Default: "0", NoEffect: true, Why: "the planner chooses by cost alone", is: fraction(0, 1)},
	{Name: "geqo_selection_bias", Default: "2", NoEffect: true, Why: "the planner chooses by cost alone", is: fraction(1.5, 2)},
	{Name: "geqo_threshold", Default: "12", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(2, math.MaxInt32)},
	{Name: "gin_fuzzy_search_limit", Default: "0", NoEffect: true, Why: "searches of GIN indexes return all rows", is: integer(0, math.MaxInt32)},
	{Name: "gin_pending_list_limit", Default: "4MB", NoEffect: true, Why: "entries of GIN indexes are written at once", is: kilobytes(64, math.MaxInt32)},
	{Name: "hash_mem_multiplier", Default: "2", NoEffect: true, Why: "memory is bounded by --max-memory", is: fraction(1, 1000)},
	{Name: "idle_in_transaction_session_timeout", Default: "0", Doc: "how long a session may be idle in a transaction before it is ended; 0: for ever", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.IdleInTxnTimeout = d })},
	{Name: "idle_session_timeout", Default: "0", Doc: "how long a session may be idle outside of transactions before it is ended; 0: for ever", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.IdleTimeout = d })},
	{Name: "ignore_checksum_failure", Default: "off", NoEffect: true, Why: "damaged blocks are errors", is: alwaysOff},
	{Name: "in_hot_standby", Default: "off", Doc: "the server is a standby", ReadOnly: true, Report: true},
	{Name: "integer_datetimes", Default: "on", Doc: "timestamps are 64-bit integers", ReadOnly: true, Report: true},
	{Name: "IntervalStyle", Default: "postgres", Doc: "how intervals are printed", Report: true, is: enum(intervalStyles...), apply: func(v *Values, s string) {
		v.Format.IntervalStyle = types.IntervalStyle(slices.Index(intervalStyles, s))
	}},
	{Name: "is_superuser", Default: "on", Doc: "the session may do everything", ReadOnly: true, Report: true},
	{Name: "jit", Default: "off", NoEffect: true, Why: "expressions are compiled always", is: boolean},
	{Name: "jit_above_cost", Default: "100000", NoEffect: true, Why: "expressions are compiled always", is: fraction(-1, math.MaxFloat64)},
	{Name: "jit_expressions", Default: "on", NoEffect: true, Why: "expressions are compiled always", is: boolean},
	{Name: "jit_inline_above_cost", Default: "500000", NoEffect: true, Why: "expressions are compiled always", is: fraction(-1, math.MaxFloat64)},
	{Name: "jit_optimize_above_cost", Default: "500000", NoEffect: true, Why: "expressions are compiled always", is: fraction(-1, math.MaxFloat64)},
	{Name: "jit_tuple_deforming", Default: "on", NoEffect: true, Why: "expressions are compiled always", is: boolean},
	{Name: "join_collapse_limit", Default: "8", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(1, math.MaxInt32)},
	{Name: "lc_collate", Default: "C.UTF-8", Doc: "sort order of texts", ReadOnly: true},
	{Name: "lc_ctype", Default: "C.UTF-8", Doc: "classes and case of characters", ReadOnly: true},
	{Name: "lc_messages", Default: "C.UTF-8", NoEffect: true, Why: "messages are in English", Alike: []string{"C", "POSIX", "en_US.UTF-8"}},
	{Name: "lc_monetary", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale", Alike: []string{"C", "POSIX"}},
	{Name: "lc_numeric", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale", Alike: []string{"C", "POSIX"}},
	{Name: "lc_time", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale", Alike: []string{"C", "POSIX"}},
	{Name: "lo_compat_privileges", Default: "off", NoEffect: true, Why: "there are no large objects", is: boolean},
	{Name: "lock_timeout", Default: "0", Doc: "longest wait for a lock; 0: for ever", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.LockTimeout = d })},
	{Name: "log_duration", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_error_verbosity", Default: "default", NoEffect: true, Why: "statements are not logged", is: enum("terse", "default", "verbose")},
	{Name: "log_executor_stats", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_lock_waits", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_min_duration_sample", Default: "-1", NoEffect: true, Why: "statements are not logged", is: milliseconds(-1, math.MaxInt32)},
	{Name: "log_min_duration_statement", Default: "-1", NoEffect: true, Why: "statements are not logged", is: milliseconds(-1, math.MaxInt32)},
	{Name: "log_min_error_statement", Default: "error", NoEffect: true, Why: "statements are not logged", is: logLevel},
	{Name: "log_min_messages", Default: "warning", NoEffect: true, Why: "statements are not logged", is: logLevel},
	{Name: "log_parameter_max_length", Default: "-1", NoEffect: true, Why: "statements are not logged", is: integer(-1, 1<<30-1)},
	{Name: "log_parameter_max_length_on_error", Default: "0", NoEffect: true, Why: "statements are not logged", is: integer(-1, 1<<30-1)},
	{Name: "log_parser_stats", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_planner_stats", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_replication_commands", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_statement", Default: "none", NoEffect: true, Why: "statements are not logged", is: enum("none", "ddl", "mod", "all")},
	{Name: "log_statement_sample_rate", Default: "1", NoEffect: true, Why: "statements are not logged", is: fraction(0, 1)},
	{Name: "log_statement_stats", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_temp_files", Default: "-1", NoEffect: true, Why: "statements are not logged", is: kilobytes(-1, math.MaxInt32)},
	{Name: "log_transaction_sample_rate", Default: "0", NoEffect: true, Why: "statements are not logged", is: fraction(0, 1)},
	{Name: "logical_decoding_work_mem", Default: "64MB", NoEffect: true, Why: "there is no logical decoding", is: kilobytes(64, math.MaxInt32)},
	{Name: "maintenance_io_concurrency", Default: "10", NoEffect: true, Why: "the storage engine reads ahead by itself", is: integer(0, 1000)},
	{Name: "maintenance_work_mem", Default: "64MB", NoEffect: true, Why: "memory is bounded by --max-memory", is: kilobytes(1024, math.MaxInt32)},
	{Name: "max_connections", Default: "10000", Doc: "most connections that a node accepts", ReadOnly: true},
	{Name: "max_function_args", Default: "100", Doc: "most arguments of a function", ReadOnly: true},
	{Name: "max_identifier_length", Default: "63", Doc: "most bytes of a name", ReadOnly: true},
	{Name: "max_index_keys", Default: "32", Doc: "most key columns of an index", ReadOnly: true},
	{Name: "max_parallel_maintenance_workers", Default: "2", NoEffect: true, Why: "only queries have workers", is: integer(0, 1024)},
	{Name: "max_parallel_workers", Default: "8", NoEffect: true, Why: "a node has as many as processors", is: integer(0, 1024)},
	{Name: "max_parallel_workers_per_gather", Default: "2", is: integer(0, 1024), Doc: "goroutines that read one large table at once, at most as many as the node has processors; 0: the rule parallel_scans is off", apply: func(v *Values, s string) {
		v.Fast.ParallelWorkers, _ = strconv.Atoi(s)
	}},
	{Name: "max_prepared_transactions", Default: "0", Doc: "most transactions prepared for two-phase commit", ReadOnly: true},
	{Name: "max_replication_slots", Default: "0", Doc: "most replication slots", ReadOnly: true},
	{Name: "max_stack_depth", Default: "2MB", NoEffect: true, Why: "how deep statements nest has limits of its own", is: kilobytes(100, math.MaxInt32)},
	{Name: "max_wal_senders", Default: "0", Doc: "most connections for replication by log shipping", ReadOnly: true},
	{Name: "min_parallel_index_scan_size", Default: "512kB", NoEffect: true, Why: "the planner chooses by cost alone", is: pages(0, 715827882)},
	{Name: "min_parallel_table_scan_size", Default: "8MB", NoEffect: true, Why: "the planner chooses by cost alone", is: pages(0, 715827882)},
	{Name: "optimizer_rules_off", Default: "", is: text(listValue), Doc: "rules of the optimizer that are not applied", apply: func(v *Values, s string) {
		v.Fast.RulesOff, _ = SplitList(s)
	}},
	{Name: "parallel_leader_participation", Default: "on", NoEffect: true, Why: "workers read, the session's goroutine computes", is: boolean},
	{Name: "parallel_setup_cost", Default: "1000", NoEffect: true, Why: "workers cost next to nothing", is: cost},
	{Name: "parallel_tuple_cost", Default: "0.1", NoEffect: true, Why: "workers cost next to nothing", is: cost},
	{Name: "password_encryption", Default: "scram-sha-256", NoEffect: true, Why: "passwords are not stored", is: enum("scram-sha-256")},
	{Name: "pg_trgm.similarity_threshold", Default: "0.3", is: fraction(0, 1), Doc: "least similarity of texts for which % is true"},
	{Name: "pg_trgm.strict_word_similarity_threshold", Default: "0.5", is: fraction(0, 1), Doc: "least similarity of a text to whole words of another for which <<% is true"},
	{Name: "pg_trgm.word_similarity_threshold", Default: "0.6", is: fraction(0, 1), Doc: "least similarity of a text to a part of another for which <% is true"},
	{Name: "plan_cache_mode", Default: "auto", NoEffect: true, Why: "plans are made for the parameters where these decide", is: enum("auto", "force_generic_plan", "force_custom_plan")},
	{Name: "quote_all_identifiers", Default: "off", NoEffect: true, Why: "identifiers are quoted where needed", is: boolean},
	{Name: "random_page_cost", Default: "4", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "recursive_worktable_factor", Default: "10", NoEffect: true, Why: "the planner chooses by cost alone", is: fraction(0.001, 1e6)},
	{Name: "role", Default: "none", Doc: "the role whose rights the session has", apply: func(v *Values, s string) { v.Fast.Role = s; v.noteUser() }},
	{Name: "row_security", Default: "on", Doc: "policies restrict rows; off: what they would restrict fails", is: boolean, apply: func(v *Values, s string) { v.Fast.NoRowSecurity = s == "off" }},
	{Name: "search_path", Default: "\"$user\", public", Doc: "schemas in which names without a schema are looked up", is: text(listValue), list: true, apply: func(v *Values, s string) {
		v.Fast.SearchPath, _ = SplitList(s)
	}},
	{Name: "seed", Default: "unavailable", Doc: "seed of random()"}, // random() has it
	{Name: "seq_page_cost", Default: "1", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "server_encoding", Default: "UTF8", Doc: "character set of the database", ReadOnly: true, Report: true},
	{Name: "server_version", Default: "15.0", Doc: "version of PostgreSQL that the server behaves like", ReadOnly: true, Report: true},
	{Name: "server_version_num", Default: "150000", Doc: "the same as a number", ReadOnly: true},
	{Name: "session_authorization", Default: "", Doc: "the user of the session", Report: true, apply: func(v *Values, s string) { v.Fast.SessionUser = s; v.noteUser() }},
	{Name: "session_replication_role", Default: "origin", Doc: "which triggers and rules act in the session", is: enum("origin", "replica", "local"), apply: func(v *Values, s string) { v.Fast.Replica = s == "replica" }},
	{Name: "shared_preload_libraries", Default: "", Doc: "libraries loaded at the start", ReadOnly: true},
	{Name: "ssl", Default: "off", Doc: "clients may connect by TLS", ReadOnly: true},
	{Name: "standard_conforming_strings", Default: "on", Doc: "backslashes in ordinary string literals stand for themselves", Report: true, is: boolean, apply: func(v *Values, s string) {
		v.Format.Escapes = s == "off"
	}},
	{Name: "statement_timeout", Default: "0", Doc: "longest time of a statement; 0: for ever", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.StatementTimeout = d })},
	{Name: "stats_fetch_consistency", Default: "cache", NoEffect: true, Why: "statistics are read as they are", is: enum("none", "cache")},
	{Name: "superuser_reserved_connections", Default: "3", Doc: "connections kept for superusers", ReadOnly: true},
	{Name: "synchronize_seqscans", Default: "on", NoEffect: true, Why: "a scan begins where its table does", is: boolean},
	{Name: "synchronous_commit", Default: "on", NoEffect: true, Why: "every commit is durable when it is acknowledged", is: enum("on", "off", "local", "remote_write", "remote_apply", "true", "false", "yes", "no", "1", "0")},
	{Name: "tcp_keepalives_count", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: integer(0, math.MaxInt32)},
	{Name: "tcp_keepalives_idle", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: seconds(0, math.MaxInt32)},
	{Name: "tcp_keepalives_interval", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: seconds(0, math.MaxInt32)},
	{Name: "tcp_user_timeout", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: milliseconds(0, math.MaxInt32)},
	{Name: "temp_buffers", Default: "8MB", NoEffect: true, Why: "memory is bounded by --max-memory", is: pages(100, math.MaxInt32/2)},
	{Name: "temp_tablespaces", Default: "", NoEffect: true, Why: "there is one"},
	{Name: "TimeZone", Default: "UTC", Doc: "time zone of timestamps that are printed or read", Report: true, is: text(zoneValue), apply: func(v *Values, s string) {
		v.Format.TimeZone, _ = datetime.LoadZone(s, nil)
	}},
	{Name: "timezone_abbreviations", Default: "Default", NoEffect: true, Why: "there is one set of abbreviations", is: text(func(s string) (string, bool) { return "Default", strings.EqualFold(s, "default") })},
	{Name: "trace_notify", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "trace_sort", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "track_activities", Default: "on", NoEffect: true, Why: "activity is tracked always", is: boolean},
	{Name: "track_activity_query_size", Default: "1kB", Doc: "bytes of a statement that pg_stat_activity shows", ReadOnly: true},
	{Name: "track_counts", Default: "on", NoEffect: true, Why: "rows are counted always", is: boolean},
	{Name: "track_functions", Default: "none", NoEffect: true, Why: "there are no functions of users", is: enum("none", "pl", "all")},
	{Name: "track_io_timing", Default: "off", NoEffect: true, Why: "times of reads and writes are not taken", is: alwaysOff},
	{Name: "track_wal_io_timing", Default: "off", NoEffect: true, Why: "times of reads and writes are not taken", is: alwaysOff},
	{Name: "transaction_deferrable", Default: "off", NoEffect: true, Why: "serializable reads never wait for a safe snapshot", is: boolean},
	{Name: "transaction_isolation", Default: "serializable", Doc: "isolation level of the present transaction", is: text(isolationValue)},
	{Name: "transaction_read_only", Default: "off", Doc: "the present transaction is read-only", is: boolean},
	{Name: "transform_null_equals", Default: "off", NoEffect: true, Why: "= NULL is NULL", is: alwaysOff},
	{Name: "update_process_title", Default: "on", NoEffect: true, Why: "sessions are no processes", is: boolean},
	{Name: "vacuum_cost_delay", Default: "0", NoEffect: true, Why: "there is no vacuum", is: realMilliseconds(0, 100)},
	{Name: "vacuum_cost_limit", Default: "200", NoEffect: true, Why: "there is no vacuum", is: integer(1, 10000)},
	{Name: "vacuum_cost_page_dirty", Default: "20", NoEffect: true, Why: "there is no vacuum", is: integer(0, 10000)},
	{Name: "vacuum_cost_page_hit", Default: "1", NoEffect: true, Why: "there is no vacuum", is: integer(0, 10000)},
	{Name: "vacuum_cost_page_miss", Default: "2", NoEffect: true, Why: "there is no vacuum", is: integer(0, 10000)},
	{Name: "vacuum_failsafe_age", Default: "1600000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 2100000000)},
	{Name: "vacuum_freeze_min_age", Default: "50000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 1000000000)},
	{Name: "vacuum_freeze_table_age", Default: "150000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 2000000000)},
	{Name: "vacuum_multixact_failsafe_age", Default: "1600000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 2100000000)},
	{Name: "vacuum_multixact_freeze_min_age", Default: "5000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 1000000000)},
	{Name: "vacuum_multixact_freeze_table_age", Default: "150000000", NoEffect: true, Why: "there is no vacuum", is: integer(0, 2000000000)},
	{Name: "vectorize", Default: "auto", is: enum("auto", "on", "off"), Doc: "whether queries read columns instead of rows: where that is cheaper, wherever it can be done, or never", apply: func(v *Values, s string) {
		v.Fast.Vectorize = s
	}},
	{Name: "wal_block_size", Default: "8192", Doc: "bytes of a page of the log", ReadOnly: true},
	{Name: "wal_compression", Default: "off", NoEffect: true, Why: "the log of raft is the only one", is: enum("pglz", "lz4", "zstd", "on", "off")},
	{Name: "wal_init_zero", Default: "on", NoEffect: true, Why: "the log of raft is the only one", is: boolean},
	{Name: "wal_recycle", Default: "on", NoEffect: true, Why: "the log of raft is the only one", is: boolean},
	{Name: "wal_sender_timeout", Default: "1min", NoEffect: true, Why: "there are no WAL senders", is: milliseconds(0, math.MaxInt32)},
	{Name: "wal_skip_threshold", Default: "2MB", NoEffect: true, Why: "the log of raft is the only one", is: kilobytes(0, math.MaxInt32)},
	{Name: "work_mem", Default: "64MB", is: kilobytes(64, math.MaxInt32), Doc: "memory of one operator, from which on it keeps rows in temporary files", apply: func(v *Values, s string) {
		n, _ := quantity(s, 1<<10, sizeUnits)
		v.Fast.WorkMem = n << 10
	}},
	{Name: "xmlbinary", Default: "base64", NoEffect: true, Why: "there is no XML type", is: enum("base64", "hex")},
	{Name: "xmloption", Default: "content", NoEffect: true, Why: "there is no XML type", is: enum("content", "document")},
	{Name: "zero_damaged_pages", Default: "off", NoEffect: true, Why: "damaged blocks are errors", is: alwaysOff},
}

// applicationName cuts a name to what an identifier may have, and replaces what is not
// printable ASCII.
func applicationName(s string) (string, bool) {
	b := []byte(types.TruncateName(s))
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b), true
}
