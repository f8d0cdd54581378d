package raftgroup

// Fence is the fencing token of a command: the lease and the bounds of the range under which it was
// evaluated. Under another lease or other bounds the command has no effect, since the data on which it was
// evaluated may have changed.
type Fence struct {
	// Term is the sequence of the lease, which is the raft term of its leadership.
	Term uint64
	// BoundsGen is the generation at which the range got its bounds
	// (kvpb.RangeDescriptor.BoundsGen).
	BoundsGen uint64
}

// AnyTerm is the term of commands that hold under any lease.
const AnyTerm = 0
