// Package kv is the interface of the key-value layer: a transactional, ordered map (DB, Txn) with
// automatic retries.
//
// Above it is sql; below it are kv/coord, which coordinates a transaction, and dist, which finds the
// ranges of its keys.
//
// Read kv.go, then package coord; feed.go (feeds of changes), protect.go (protected timestamps), zones.go
// and settingrecords.go (stored configuration), records.go (counters of the cluster). One goroutine at a time
// uses a Txn, any number a DB.
package kv
