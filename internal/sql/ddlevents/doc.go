// Package ddlevents tells event triggers what a statement has made, changed and dropped, in PostgreSQL's words: the rows of
// pg_event_trigger_ddl_commands and pg_event_trigger_dropped_objects (docs/decisions/0033-event-triggers.md).
//
// Above it: sql, which fires the triggers. Below it: catalog, whose changes it compares, and ast. Reading order: commands.go (Commands), dropped.go
// (Dropped), parts.go (statistics objects and casts).
//
// Invariant: an object is told once (Commands, Dropped; triggers/events.slt in sql).
//
// It does not: fire triggers, or look anything up but by the functions of Names.
package ddlevents
