// Package stmtstats counts what statements cost, by their fingerprints.
//
// A fingerprint is the text of a statement without its constants, so that statements which differ in values only are one
// (parser.WithoutConstants). The node's Registry has an Entry for each fingerprint, database and user; whoever runs a statement adds to it
// when the statement has ended.
//
//	fingerprint ─▶ Registry.Entry ─▶ Entry.Record ─▶ Registry.List, Registry.Totals
//	                                 Entry.Due, Look ─▶ Registry.Plans
//
// Above it: sql, which keeps the Entry beside a prepared statement, so that nothing is looked up on the way of a point read.
// Below it: obs. Read registry.go (Registry, Entry), plans.go (Plan), txns.go (Block, Txns),
// slow.go (SlowLog), traces.go (which statements are traced since they were slow), indexes.go (Indexes).
//
// Invariants:
//
//  1. At most MaxEntries fingerprints are kept; those not used for longest give way, and their counts stay in the sums of
//     the node (Registry.makeRoom; TestRoom).
//  2. A statement is counted once, in an entry or, if that has given way, in the one that takes its place (Entry.Gone;
//     TestGone).
//     What is forgotten stays in the sums of the node too (Registry.Forget; TestForget).
//  3. An entry keeps MaxPlans plans of MaxPlanText bytes at most, those that were seen last (Entry.Look; TestPlans). Nothing of
//     a plan is made but when it is looked at (Entry.Due; TestDue).
//  4. At most MaxTxns fingerprints of transaction blocks, MaxRecent transactions, MaxSlow slow statements and MaxIndexes indexes are
//     kept (Txns.End, Txns.Remember, SlowLog.Add, Indexes.Use; TestBounds).
//
// Everything is safe for concurrent use.
package stmtstats
