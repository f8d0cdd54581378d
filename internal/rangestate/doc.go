// Package rangestate decides what a range's descriptor becomes when the range is split, merged into
// another, or frozen and let go on.
//
// Above it, replica proposes what it returns, waits for replicas and moves what a leader keeps in
// memory. Below it is kvpb. It is pure: descriptors come in, the next ones come out. A descriptor
// takes effect only in place of the one whose generation precedes its own (apply.Applier).
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
// Given up halfway (Abandon), the left range gets a generation at which Widen has no effect any more;
// only then the right range is let go on (Unfreeze), and then the left range (EndMerge).
//
// # Invariants
//
//  1. A range is in one change at a time: what is merging, frozen or changes its replicas is not split,
//     nor merged. (Split, mergeable; testdata/merge, testdata/split)
//  2. A merge takes effect only over the right range as it was frozen, and only if neither has changed
//     since before it was asked whether the boundary may go. (BeginMerge, Freeze take both descriptors of
//     before; replica.endSubsumed; testdata/merge; TestRenewAgainstMerge in store)
//  3. A frozen range is let go on only when the command that would merge it has no effect any more.
//     (Unfreeze; testdata/merge)
//  4. A range whose bounds shrink, or that stops serving, gets a new bounds generation: what was
//     evaluated before has no effect after. (Split, Freeze, Unfreeze; testdata/split, testdata/merge)
//  5. A merge goes on only while every replica answers, and freezes the right range only when all of
//     them have its log. (FollowersHave, replica.MergeIf; testdata/followers)
package rangestate
