// Package apply defines the commands that raft entries carry and applies them
// to a store's engine.
//
// A command is a physical write set: replica builds it from what eval has read, and puts all
// commands that wait in a range into one entry. Application reads nothing of the engine but the
// range's own descriptor and collection threshold. So a replay after a crash has the same effects
// as the first application. docs/formats/commands.md gives the bytes.
//
// Read command.go (Builder, the format), then apply.go (Applier), table.go (tables that bypass the
// batch), prepare.go (which their proposers make ahead), changes.go (the effects of an entry, for the intent table and for feeds), describe.go (stored
// descriptors), merge.go (a range subsumes its right neighbour).
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
//	A5. A table enters the engine after the effects of all earlier entries, and before the
//	    state that names its own entry. It is durable at once, so that it may survive a crash
//	    that takes the earlier effects. A replay from the durable state leads to the same state
//	    (Applier.command, HasTable; TestTable; TestIngestPowerLoss in kv).
//	A6. A table that was prepared is that of the command that takes it, byte for byte
//	    (Tables.take; TestPreparedTable).
//
// An Applier is used by one goroutine at a time. It does not wake the proposers of
// commands: replica does.
package apply
