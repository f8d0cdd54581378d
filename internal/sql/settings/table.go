package settings

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/types"
)

// registry is every parameter, sorted by folded name (a test checks it). Those
// marked NoEffect are the one list of parameters that are accepted and change
// nothing, each with the reason why its promise holds all the same.
var registry = []*Param{
	{Name: "application_name", Report: true, Doc: "name of the client application", is: text(asciiValue), apply: func(v *Values, s string) {
		v.Fast.ApplicationName = s
	}},
	{Name: "array_nulls", Default: "on", NoEffect: true, Why: "NULL in array text always means NULL", is: alwaysOn},
	{Name: "autovacuum", Default: "on", ReadOnly: true},
	{Name: "backslash_quote", Default: "safe_encoding", is: enum("safe_encoding", "on", "off"), apply: func(v *Values, s string) {
		v.Fast.BackslashQuote = s
	}},
	{Name: "block_size", Default: "8192", ReadOnly: true},
	{Name: "bytea_output", Default: "hex", is: enum("escape", "hex"), apply: func(v *Values, s string) {
		v.Format.ByteaOutput = types.ByteaHex
		if s == "escape" {
			v.Format.ByteaOutput = types.ByteaEscape
		}
	}},
	{Name: "check_function_bodies", Default: "on", NoEffect: true, Why: "there are no function bodies to check", is: boolean},
	{Name: "client_connection_check_interval", Default: "100ms", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.ClientCheck = d })},
	{Name: "client_encoding", Default: "UTF8", Report: true, is: text(encodingValue), apply: func(v *Values, s string) {
		if v.Fast.Encoding = charset.Find(s); v.Fast.Encoding.Plain() {
			v.Fast.Encoding = nil
		}
	}},
	{Name: "client_min_messages", Default: "notice", is: enum(Severities...), apply: func(v *Values, s string) {
		v.Fast.MinMessages = slices.Index(Severities, s)
	}},
	{Name: "cluster_name", Default: "", ReadOnly: true},
	{Name: "commit_delay", Default: "0", NoEffect: true, Why: "commits are grouped by themselves", is: integer(0, 100000)},
	{Name: "constraint_exclusion", Default: "partition", NoEffect: true, Why: "the planner chooses by cost alone", is: enum("partition", "on", "off")},
	{Name: "cpu_index_tuple_cost", Default: "0.005", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cpu_operator_cost", Default: "0.0025", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cpu_tuple_cost", Default: "0.01", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "cursor_tuple_fraction", Default: "0.1", NoEffect: true, Why: "the planner chooses by cost alone", is: fraction(0, 1)},
	{Name: "data_checksums", Default: "on", ReadOnly: true},
	{Name: "DateStyle", Default: "ISO, MDY", Report: true, is: Kind{Type: "string"}, merge: setDateStyle, apply: func(v *Values, s string) {
		v.Format.DateStyle, _ = parseDateStyle(s)
	}},
	{Name: "debug_assertions", Default: "off", ReadOnly: true},
	{Name: "default_int_size", Default: "4", is: enum("4", "8"), Doc: "bytes of a column declared INT", apply: func(v *Values, s string) {
		v.Fast.DefaultIntSize, _ = strconv.Atoi(s)
	}},
	{Name: "default_statistics_target", Default: "100", NoEffect: true, Why: "the rows that ANALYZE looks at are enough", is: integer(1, 10000)},
	{Name: "default_table_access_method", Default: "heap", NoEffect: true, Why: "there is one", is: enum("heap")},
	{Name: "default_tablespace", Default: ""},
	{Name: "default_text_search_config", Default: "pg_catalog.english", is: text(textSearchConfig)},
	{Name: "default_toast_compression", Default: "pglz", NoEffect: true, Why: "blocks are compressed as a whole", is: enum("pglz", "lz4")},
	{Name: "default_transaction_deferrable", Default: "off", NoEffect: true, Why: "serializable reads never wait for a safe snapshot", is: boolean, apply: func(v *Values, s string) {
		v.Fast.DefaultDeferrable = s == "on"
	}},
	{Name: "default_transaction_isolation", Default: "serializable", is: text(isolationValue), apply: func(v *Values, s string) {
		v.Fast.DefaultIsolation, _ = ParseIsolation(s)
		v.Fast.DefaultUncommitted = s == readUncommitted
	}},
	{Name: "default_transaction_read_only", Default: "off", Report: true, is: boolean, apply: func(v *Values, s string) {
		v.Fast.DefaultReadOnly = s == "on"
	}},
	{Name: "effective_cache_size", Default: "4GB", NoEffect: true, Why: "the planner chooses by cost alone", is: pages(1, math.MaxInt32)},
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
	{Name: "escape_string_warning", Default: "on", is: boolean, apply: func(v *Values, s string) {
		v.Fast.NoEscapeWarning = s == "off"
	}},
	{Name: "extra_float_digits", Default: "1", is: integer(-15, 3), apply: func(v *Values, s string) {
		v.Format.ExtraFloatDigits, _ = strconv.Atoi(s)
	}},
	{Name: "from_collapse_limit", Default: "8", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(1, math.MaxInt32)},
	{Name: "fsync", Default: "on", ReadOnly: true},
	{Name: "full_page_writes", Default: "off", ReadOnly: true},
	{Name: "geqo", Default: "on", NoEffect: true, Why: "the planner chooses by cost alone", is: boolean},
	{Name: "gin_fuzzy_search_limit", Default: "0", NoEffect: true, Why: "there are no GIN indexes", is: integer(0, math.MaxInt32)},
	{Name: "hash_mem_multiplier", Default: "2", NoEffect: true, Why: "memory is bounded by --max-memory", is: fraction(1, 1000)},
	{Name: "idle_in_transaction_session_timeout", Default: "0", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.IdleInTxnTimeout = d })},
	{Name: "idle_session_timeout", Default: "0", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.IdleTimeout = d })},
	{Name: "in_hot_standby", Default: "off", ReadOnly: true, Report: true},
	{Name: "integer_datetimes", Default: "on", ReadOnly: true, Report: true},
	{Name: "IntervalStyle", Default: "postgres", Report: true, is: enum(intervalStyles...), apply: func(v *Values, s string) {
		v.Format.IntervalStyle = types.IntervalStyle(slices.Index(intervalStyles, s))
	}},
	{Name: "is_superuser", Default: "on", ReadOnly: true, Report: true},
	{Name: "jit", Default: "off", NoEffect: true, Why: "expressions are compiled always", is: boolean},
	{Name: "join_collapse_limit", Default: "8", NoEffect: true, Why: "the planner chooses by cost alone", is: integer(1, math.MaxInt32)},
	{Name: "lc_collate", Default: "C.UTF-8", ReadOnly: true},
	{Name: "lc_ctype", Default: "C.UTF-8", ReadOnly: true},
	{Name: "lc_messages", Default: "C.UTF-8", NoEffect: true, Why: "messages are in English"},
	{Name: "lc_monetary", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale"},
	{Name: "lc_numeric", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale"},
	{Name: "lc_time", Default: "C.UTF-8", NoEffect: true, Why: "there is one locale"},
	{Name: "lock_timeout", Default: "0", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.LockTimeout = d })},
	{Name: "log_duration", Default: "off", NoEffect: true, Why: "statements are not logged", is: boolean},
	{Name: "log_min_duration_statement", Default: "-1", NoEffect: true, Why: "statements are not logged", is: milliseconds(-1, math.MaxInt32)},
	{Name: "log_statement", Default: "none", NoEffect: true, Why: "statements are not logged", is: enum("none", "ddl", "mod", "all")},
	{Name: "maintenance_work_mem", Default: "64MB", NoEffect: true, Why: "memory is bounded by --max-memory", is: kilobytes(1024, math.MaxInt32)},
	{Name: "max_connections", Default: "10000", ReadOnly: true},
	{Name: "max_function_args", Default: "100", ReadOnly: true},
	{Name: "max_identifier_length", Default: "63", ReadOnly: true},
	{Name: "max_index_keys", Default: "32", ReadOnly: true},
	{Name: "max_parallel_maintenance_workers", Default: "2", NoEffect: true, Why: "statements run on one goroutine", is: integer(0, 1024)},
	{Name: "max_parallel_workers", Default: "8", NoEffect: true, Why: "statements run on one goroutine", is: integer(0, 1024)},
	{Name: "max_parallel_workers_per_gather", Default: "2", NoEffect: true, Why: "statements run on one goroutine", is: integer(0, 1024)},
	{Name: "max_prepared_transactions", Default: "0", ReadOnly: true},
	{Name: "max_replication_slots", Default: "0", ReadOnly: true},
	{Name: "max_wal_senders", Default: "0", ReadOnly: true},
	{Name: "optimizer_rules_off", Default: "", is: text(listValue), Doc: "rules of the optimizer that are not applied", apply: func(v *Values, s string) {
		v.Fast.RulesOff, _ = SplitList(s)
	}},
	{Name: "password_encryption", Default: "scram-sha-256", NoEffect: true, Why: "passwords are not stored", is: enum("scram-sha-256")},
	{Name: "pg_trgm.similarity_threshold", Default: "0.3", is: fraction(0, 1), Doc: "least similarity of texts for which % is true"},
	{Name: "pg_trgm.strict_word_similarity_threshold", Default: "0.5", is: fraction(0, 1), Doc: "least similarity of a text to whole words of another for which <<% is true"},
	{Name: "pg_trgm.word_similarity_threshold", Default: "0.6", is: fraction(0, 1), Doc: "least similarity of a text to a part of another for which <% is true"},
	{Name: "plan_cache_mode", Default: "auto", NoEffect: true, Why: "plans are made for the parameters where these decide", is: enum("auto", "force_generic_plan", "force_custom_plan")},
	{Name: "quote_all_identifiers", Default: "off", NoEffect: true, Why: "identifiers are quoted where needed", is: boolean},
	{Name: "random_page_cost", Default: "4", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "role", Default: "none"},
	{Name: "row_security", Default: "on", NoEffect: true, Why: "there are no row security policies", is: boolean},
	{Name: "search_path", Default: "\"$user\", public", is: text(listValue), list: true, apply: func(v *Values, s string) {
		v.Fast.SearchPath, _ = SplitList(s)
	}},
	{Name: "seed", Default: "unavailable"}, // random() has it
	{Name: "seq_page_cost", Default: "1", NoEffect: true, Why: "the planner chooses by cost alone", is: cost},
	{Name: "server_encoding", Default: "UTF8", ReadOnly: true, Report: true},
	{Name: "server_version", Default: "15.0", ReadOnly: true, Report: true},
	{Name: "server_version_num", Default: "150000", ReadOnly: true},
	{Name: "session_authorization", Default: "root", Report: true},
	{Name: "session_replication_role", Default: "origin", NoEffect: true, Why: "there are no triggers and rules of users", is: enum("origin", "local"), hint: "Foreign keys cannot be switched off."},
	{Name: "shared_preload_libraries", Default: "", ReadOnly: true},
	{Name: "ssl", Default: "off", ReadOnly: true},
	{Name: "standard_conforming_strings", Default: "on", Report: true, is: boolean, apply: func(v *Values, s string) {
		v.Format.Escapes = s == "off"
	}},
	{Name: "statement_timeout", Default: "0", is: milliseconds(0, math.MaxInt32), apply: timeout(func(f *Fast, d time.Duration) { f.StatementTimeout = d })},
	{Name: "superuser_reserved_connections", Default: "0", ReadOnly: true},
	{Name: "synchronize_seqscans", Default: "on", NoEffect: true, Why: "a scan begins where its table does", is: boolean},
	{Name: "synchronous_commit", Default: "on", NoEffect: true, Why: "every commit is durable when it is acknowledged", is: enum("on", "off", "local", "remote_write", "remote_apply", "true", "false", "yes", "no", "1", "0")},
	{Name: "tcp_keepalives_count", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: integer(0, math.MaxInt32)},
	{Name: "tcp_keepalives_idle", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: seconds(0, math.MaxInt32)},
	{Name: "tcp_keepalives_interval", Default: "0", NoEffect: true, Why: "the system's defaults hold", is: seconds(0, math.MaxInt32)},
	{Name: "temp_buffers", Default: "8MB", NoEffect: true, Why: "memory is bounded by --max-memory", is: pages(100, math.MaxInt32/2)},
	{Name: "temp_tablespaces", Default: "", NoEffect: true, Why: "there is one"},
	{Name: "TimeZone", Default: "UTC", Report: true, is: text(zoneValue), apply: func(v *Values, s string) {
		v.Format.TimeZone, _ = types.LoadZone(s, nil)
	}},
	{Name: "track_activities", Default: "on", NoEffect: true, Why: "activity is tracked always", is: boolean},
	{Name: "transaction_deferrable", Default: "off", NoEffect: true, Why: "serializable reads never wait for a safe snapshot", is: boolean},
	{Name: "transaction_isolation", Default: "serializable", is: text(isolationValue)},
	{Name: "transaction_read_only", Default: "off", is: boolean},
	{Name: "vacuum_cost_delay", Default: "0", NoEffect: true, Why: "there is no vacuum", is: fraction(0, 100)},
	{Name: "wal_block_size", Default: "8192", ReadOnly: true},
	{Name: "work_mem", Default: "4MB", NoEffect: true, Why: "memory is bounded by --max-memory", is: kilobytes(64, math.MaxInt32)},
	{Name: "xmloption", Default: "content", NoEffect: true, Why: "there is no XML type", is: enum("content", "document")},
}

// asciiValue replaces what is not printable ASCII, as application names have it.
func asciiValue(s string) (string, bool) {
	b := []byte(s)
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b), true
}
