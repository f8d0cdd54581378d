// Package rangestate computes the next descriptor of a range that is split, merged into another one, frozen
// or unfrozen, or whose replicas change.
//
// Above it, replica proposes the descriptors, waits for replicas and moves the leader's state in memory.
// Below it is kvpb. It is pure: descriptors come in, the next ones come out. A descriptor takes effect only
// if it replaces the one of the generation before (apply.Applier).
//
// # A split
//
//	[a ............ z) range 1, generation 4
//	         │ Split at m, one command in the log of range 1
//	         ▼
//	[a ... m) range 1, generation 5      [m ... z) range 2, generation 5
//	                                     led by the same replica, which campaigns at once, with the
//	                                     locks and the timestamp cache of this half
//
// # A merge
//
//	left range                                 right range
//	──────────                                 ───────────
//	serves                                     serves
//	   │ BeginMerge: Merging = right              │
//	   ▼                                          │
//	is merging: changes in no other way           │ Freeze: Into = left
//	   │                                          ▼
//	   │                                       frozen: evaluates and answers nothing; what was evaluated
//	   │                                          │ before has no effect after
//	   │ every replica has the frozen log         │
//	   │ Widen, a command in left's log           │
//	   ▼                                          ▼
//	serves both                                subsumed: each replica applies its store's right log up
//	                                           to the freeze, then takes its place
//
// If a merge is given up halfway (Abandon), the left range gets a generation at which Widen has no effect any
// more. Only then is the right range unfrozen (Unfreeze), and last the left range may change again (EndMerge).
//
// # Invariants
//
//  1. A range undergoes one change at a time: a range that is merging or frozen, or whose replicas change,
//     is neither split nor merged. (Split, Mergeable; testdata/merge, testdata/split)
//  2. A merge takes effect only on the right range as it was frozen, and only if neither range has changed
//     since before the caller checked whether the boundary may go. (BeginMerge and Freeze take both
//     earlier descriptors; replica.endSubsumed; testdata/merge; TestRenewAgainstMerge in store)
//  3. A frozen range is unfrozen only when the command that would merge it has no effect any more.
//     (Unfreeze; testdata/merge)
//  4. A range whose bounds shrink, or that stops serving, gets a new bounds generation, so that commands
//     evaluated before have no effect. (Split, Freeze, Unfreeze; testdata/split, testdata/merge)
//  5. A range's replicas change in steps that raft and the descriptor show alike: one replica at a time, or
//     several through a joint configuration. A voter is removed by way of a learner. (ChangeReplicas,
//     LeaveJoint; testdata/replicas; replica invariant 12)
//  6. A merge continues only while every replica answers, and freezes the right range only when all of
//     them have its log. (FollowersHave, replica.MergeIf; testdata/followers)
package rangestate
