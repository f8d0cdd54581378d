// Package ttl knows the storage parameters of row-level TTL, by which a table says when its rows expire and when they are deleted, and the
// schedules in them (docs/decisions/0032-row-level-ttl.md).
//
// Above it: ddl, which checks and keeps the parameters; sql, which deletes rows by them. Below it: types. Reading order: params.go
// (Params), cron.go (Schedule).
//
// Invariants:
//
//  1. What Check has accepted, Of reads (TestParams).
//  2. Next returns a time after the one that it is given, or none (TestSchedule).
//
// It does not: know tables, or delete anything.
package ttl
