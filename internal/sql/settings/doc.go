// Package settings holds the configuration parameters of a session (SET, SHOW):
// their names, defaults, checks and values.
//
// Above it is sql; below it types and pgerr. Read registry.go (every parameter,
// with what setting it does), then values.go (Values: a session's values, with
// SET LOCAL and rollback).
//
// Invariants:
//
//	G1. A parameter that is accepted without effect is in the registry as
//	    NoEffect, is one whose promise holds anyway, and says so in a notice
//	    (Set returns the notice).
//	G2. After a transaction rolls back, every parameter has the value it had when
//	    the transaction began (Values.Rollback).
//
// A Values belongs to one session and has no lock.
package settings
