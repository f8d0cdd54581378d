// Package plantest is an in-memory catalog for tests of planning: it is filled
// by CREATE TABLE, CREATE INDEX and CREATE VIEW statements.
//
// Above it: the tests of planner, optimizer and plan. Below it: planner (type
// names), parser, catalog.
//
// Concurrency: a Catalog belongs to one goroutine.
//
// It does not: check what it is given beyond what planning needs, or store rows.
package plantest
