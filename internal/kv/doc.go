// Package kv is the transactional, ordered map that the layers above see: DB,
// Txn, Scan and automatic retry.
//
// Above it stand sql and every other front; below it kv/coord, which holds the
// transaction itself, and dist, which finds the ranges.
//
// Read kv.go, then package coord; feed.go (the changes of a span), protect.go (timestamps that
// garbage collection leaves alone), zones.go and settings.go (what is configured),
// records.go (counters of the cluster). A Txn is used by one goroutine at a time; a DB
// by any number.
package kv
