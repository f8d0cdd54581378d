// Package settings holds the configuration parameters of a session (SET, SHOW):
// their names, defaults, checks and values. The settings of the cluster (SET CLUSTER SETTING)
// are others: config/setting defines them, sql/clustersetting executes the statements, kv stores
// them, and kvnode/settings.go, sqlnode/settings.go and node/settings.go make them hold on a node.
//
// Above it is sql/sessionvar, which executes the statements about them; below it types and pgerr. Read registry.go (Param: what a parameter is), table.go
// (every parameter, with what setting it does), kind.go (which values it takes) with datestyle.go,
// values.go (Values: a session's values, with SET LOCAL and rollback), about.go (what pg_settings
// tells of it).
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
