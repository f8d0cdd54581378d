package raftgroup

// Fence is the fencing token of a command: the lease and the bounds of the range under which it was
// evaluated. A command has no effect under another lease or other bounds, since the data that it was
// evaluated on may have changed.
type Fence struct {
	// Term is the sequence of the lease: the raft term of the leadership that holds it.
	Term uint64
	// BoundsGen is the generation at which the range got its bounds
	// (kvpb.RangeDescriptor.BoundsGen).
	BoundsGen uint64
}

// AnyTerm is the term of commands that hold under any lease.
const AnyTerm = 0
