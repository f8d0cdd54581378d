// Package plant holds planted bugs: mistakes in the places where the system must not make
// any, to show that its checkers would notice. They are compiled in with -tags plants and
// at no other time: without the tag On is false for the compiler, which drops the
// branches behind it.
//
// Above it: everything may ask On. Below it: nothing.
//
// Reading order: plant.go lists the plants (a constant each, with what it breaks); off.go
// and on.go are what they come to without and with the tag.
//
// One plant at most is chosen at a time: by Choose, or for a whole process by the
// environment variable LICHEN_PLANT. Each is found by a test of its own (make plants):
// TestPlants of internal/sim, by simulated clusters, of internal/kv, by power losses and by messages
// in a certain order, of internal/store, by a lock transfer whose target dies, of internal/server, by
// transactions at several gateways, of internal/pgwire, by transcripts, of internal/sql/jobs, by two runners of a job, of internal/sql/exec, by rows with values of other types, and of
// internal/sql, by statements whose answers contradict each other or are known.
//
// Invariants:
//
//  1. Without the tag no plant is in a program (make plants looks for their names in
//     bin/lichen).
//  2. Every plant has a test that finds it (TestPlants in sim, which goes through All).
//
// Concurrency: everything may be called from any goroutine.
package plant
