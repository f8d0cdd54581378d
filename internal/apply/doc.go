// Package apply defines the commands that raft entries carry and applies them
// to a store's engine.
//
// A command is a physical write set that the leader's eval made; replica puts
// all commands that wait for a range into one entry. Applying reads nothing of
// the engine but the range's own descriptor and collection threshold, so that replay
// after a crash does exactly what was done before.
// docs/formats/commands.md gives the bytes.
//
// Read command.go (Builder, the format), then apply.go (Applier), table.go (tables beside the batch), changes.go (what it tells those
// who follow), describe.go (stored descriptors), merge.go (what a range takes in).
//
// Invariants:
//
//	A1. Applying an entry depends on the entry and the applied state alone
//	    (Applier.Entry takes nothing else).
//	A2. The effects of an entry and its index go into the engine in one batch
//	    (Applier.Finish writes the state into the batch that Entry filled),
//	    but for tables (A5).
//	A3. Entries are applied in the order of their indexes, without a gap
//	    (Applier.Entry).
//	A4. A range's collection threshold never falls (Applier.raiseThreshold).
//	A5. A table is there before the state that names its entry, and after the effects of
//	    all earlier entries; it may survive a crash that takes these. To apply the entries
//	    after the durable state again leads to the same state (Applier.command, HasTable;
//	    TestTable; TestIngestPowerLoss in kv).
//
// An Applier is used by one goroutine at a time. It does not wake those who
// wait for a command: replica does.
package apply
