// Package spanconfig knows what is configured for spans of keys: zones (replicas, placement,
// time to live), splits that somebody asked for, protected timestamps; and it reads the cluster
// settings along with them.
//
// Above it are rangeops, which asks it before it merges, rebalance, which places and splits by
// it, and kvnode, which gives its TTL and Protected to the store. Below it are kv, which stores
// the records, and config/zone, which says what a zone means for a key.
//
// Read config.go (Config, the configuration at one time), watcher.go (Watcher, which reads it),
// splits.go (the records of manual splits).
//
//	SPLIT AT ── SetSplit ──▶ record ──┬── MustSplit, before a merge ───▶ the stored record
//	                                  └── AnnounceSplits ── Read ──▶ Config, on every node
//
// # Invariants
//
//  1. A Config does not change after Read has stored it. (readConfig and readSplits fill a new one; Config has no method that writes)
//  2. Nothing is collected before the configuration is known, or what a zone of the span or a
//     protection still needs. (TTL, Protected, Config.ttl; TestTTL)
//  3. A range is not merged over a split that was acknowledged: MustSplit reads the record as
//     stored now. (MustSplit; TestUnsplit of server)
//  4. A node reads the records of all splits when one was announced, and every allSplitsEvery.
//     (Read; TestReadSplits)
//
// A Watcher may be used by any number of goroutines; it has none of its own.
package spanconfig
