package plant

// Name names a plant.
type Name string

// The plants, by what they break.
const (
	// SkipRefresh moves what a transaction has read to a later time without looking
	// whether it has changed.
	SkipRefresh Name = "skip-refresh"
	// SkipLockCheck commits whether or not the transaction's locks are still held.
	SkipLockCheck Name = "skip-lock-check"
	// ReadsUnnoted keeps point reads out of the timestamp cache.
	ReadsUnnoted Name = "reads-unnoted"
	// SeenUnchanged takes rows that a transaction has read for unchanged when it locks them.
	SeenUnchanged Name = "seen-unchanged"
	// IgnoreUncertainty takes what lies above a snapshot for later, whatever the clocks.
	IgnoreUncertainty Name = "ignore-uncertainty"
	// ObservedForAll takes what a transaction has seen of a node's clock for a bound of what
	// other leaders have committed before.
	ObservedForAll Name = "observed-for-all"
	// DelegateUnrecorded forgets what another node has read for a transaction.
	DelegateUnrecorded Name = "delegate-unrecorded"
	// DelegateLate takes what another node has read in a snapshot that has passed.
	DelegateLate Name = "delegate-late"
	// RestUnread takes what a node has read of its part of a query for all of it.
	RestUnread Name = "rest-unread"
	// StaleClock takes a node's clock as it was before a transaction began for one that was
	// read since.
	StaleClock Name = "stale-clock"

	// ReadAfterTimeoutNow lets a leader read under its lease after it has offered the
	// leadership to another replica.
	ReadAfterTimeoutNow Name = "read-after-timeout-now"
	// VoteAfterRestart lets a node vote that may have promised support before it restarted.
	VoteAfterRestart Name = "vote-after-restart"
	// ForgetReads lets a new leader begin with an empty timestamp cache.
	ForgetReads Name = "forget-reads"

	// AckBeforeSync acknowledges what is written to the log and not synced.
	AckBeforeSync Name = "ack-before-sync"
	// MendAlways empties every log that does not continue the engine's state, as if a snapshot
	// had been installed there.
	MendAlways Name = "mend-always"
	// TruncateEarly drops log that is applied, though not in the durable state.
	TruncateEarly Name = "truncate-early"

	// TableJoinsBatch gives a table to the engine before what was applied earlier.
	TableJoinsBatch Name = "table-joins-batch"
	// TableOfAnother lets a command take the table that was prepared for another one.
	TableOfAnother Name = "table-of-another"
	// TableUnheard lets the cache of versions answer as if a table had not come.
	TableUnheard Name = "table-unheard"

	// CollectAboveReaders has commits drop the versions that readers still need.
	CollectAboveReaders Name = "collect-above-readers"
	// IgnoreThreshold answers reads below the collection threshold.
	IgnoreThreshold Name = "ignore-threshold"

	// SplitDropsLocks loses the row locks of the new range.
	SplitDropsLocks Name = "split-drops-locks"
	// LocksBesideRecord lets a leader change the row locks that were handed to it while their
	// record still says how they were.
	LocksBesideRecord Name = "locks-beside-record"
	// InFlightUnseen has a command write keys while another transaction's command that writes them
	// is in the log and not applied.
	InFlightUnseen Name = "in-flight-unseen"
	// CountedReplaced replaces what a recovery has counted as staged before the record has heard
	// of the later attempt.
	CountedReplaced Name = "counted-replaced"
	// SplitForgetsReads lets the new range begin with an empty timestamp cache.
	SplitForgetsReads Name = "split-forgets-reads"
	// RecoverIncomplete commits a staged transaction of which a write is missing.
	RecoverIncomplete Name = "recover-incomplete"

	// CloseOverCommits closes timestamps without regard to commits in flight.
	CloseOverCommits Name = "close-over-commits"
	// CloseUnmarked closes timestamps at which commits may still be placed.
	CloseUnmarked Name = "close-unmarked"
	// TrackThroughCommits lets the closed timestamp rise by itself while commits go on.
	TrackThroughCommits Name = "track-through-commits"
	// ClosedUnapplied uses closed timestamps before their index is applied.
	ClosedUnapplied Name = "closed-unapplied"
	// FollowerAboveClosed has followers answer reads above what is closed.
	FollowerAboveClosed Name = "follower-above-closed"
	// FollowerUncertain has followers answer reads at their snapshots, whatever is uncertain.
	FollowerUncertain Name = "follower-uncertain"

	// WriteUnchecked writes values that are not of their columns' types.
	WriteUnchecked Name = "write-unchecked"
	// SkipUniqueLock counts the rows with a deferrable key without a lock on the unique key.
	SkipUniqueLock Name = "skip-unique-lock"

	// FilterBelowOuter pushes a condition on the other side of an outer join below it.
	FilterBelowOuter Name = "filter-below-outer"
	// OuterUnchecked makes inner joins of outer ones whose rows the conditions above would keep.
	OuterUnchecked Name = "outer-unchecked"
	// BoundBelowSort keeps only so many rows of a sorted query as are wanted in another order.
	BoundBelowSort Name = "bound-below-sort"
	// NullInAntiJoin makes an anti join of NOT IN without looking for NULL.
	NullInAntiJoin Name = "null-in-anti-join"
	// MergedColumns takes two columns of a type for one.
	MergedColumns Name = "merged-columns"
	// VolatileTwice computes a volatile expression wherever its column is named.
	VolatileTwice Name = "volatile-twice"
	// ResidualDropped forgets the conditions that the spans of an index do not answer.
	ResidualDropped Name = "residual-dropped"
	// SpanShort ends the span of an index before its last value.
	SpanShort Name = "span-short"
	// StaleSubquery keeps the value of a subquery for other rows of the query around it.
	StaleSubquery Name = "stale-subquery"
	// StaleWith keeps the rows of a WITH for other rows of the query around it.
	StaleWith Name = "stale-with"
	// RoundForgotten keeps, in a recursion, the rows of a WITH for the rounds that follow.
	RoundForgotten Name = "round-forgotten"
	// KeysMerged takes equal expressions of GROUP BY for one key.
	KeysMerged Name = "keys-merged"
	// RowOfNulls makes a row of NULLs of the row that an outer join adds.
	RowOfNulls Name = "row-of-nulls"
	// VolatileEarly calls the volatile functions of a select list before its rows are sorted.
	VolatileEarly Name = "volatile-early"
	// RowPerField runs the query of SET (a, b) = (SELECT …) once per column.
	RowPerField Name = "row-per-field"
	// TypesInTurn changes the types of one ALTER TABLE one after the other.
	TypesInTurn Name = "types-in-turn"
	// LaterColumnSeen lets the query of a view see the columns that its relations got later.
	LaterColumnSeen Name = "later-column-seen"
	// ImpliedUnchecked takes columns that join conditions make equal for equal before they are joined.
	ImpliedUnchecked Name = "implied-unchecked"
	// UnmatchedByAny takes rows for unmatched if any column of the right side of their join is NULL.
	UnmatchedByAny Name = "unmatched-by-any"
	// RaisedUnchecked takes a condition above an outer join, which is done after another, for one of the
	// outer join itself.
	RaisedUnchecked Name = "raised-unchecked"
	// DistinctByNullable takes a unique index for free of duplicates though its columns may be NULL.
	DistinctByNullable Name = "distinct-by-nullable"
	// DistinctOverJoin takes the rows of a join for different if those of its left side are.
	DistinctOverJoin Name = "distinct-over-join"
	// NullsAsValues has kernels over columns take what lies at the position of a NULL for a value.
	NullsAsValues Name = "nulls-as-values"
	// LaterRowFails reports the error of a column's later row before that of an earlier row.
	LaterRowFails Name = "later-row-fails"
	// EmptyAggregate returns no row for aggregates over no rows.
	EmptyAggregate Name = "empty-aggregate"
	// TypmodLost stores values without regard to the modifier of their column's type.
	TypmodLost Name = "typmod-lost"
	// StalePlan executes a prepared statement as it was planned, whatever has changed.
	StalePlan Name = "stale-plan"
	// CursorSkips loses a row between two fetches.
	CursorSkips Name = "cursor-skips"
	// PartitionLost forgets a partition of what found no memory.
	PartitionLost Name = "partition-lost"
	// MatchForgotten forgets which left rows of a hash join in temporary files have a match.
	MatchForgotten Name = "match-forgotten"
	// BarrierPassed has conditions computed for rows that policies hide.
	BarrierPassed Name = "barrier-passed"
	// PolicyUnchecked stores rows that policies forbid, where they are loaded or where a row is there.
	PolicyUnchecked Name = "policy-unchecked"
	// RunsUnmerged has a sort that spilled take the next row from the run that the last one came from.
	RunsUnmerged Name = "runs-unmerged"

	// ReservedForNobody has writers take no notice of what others have reserved.
	ReservedForNobody Name = "reserved-for-nobody"
	// ContentionUnlocked has blocks that keep each other from committing begin without contention locks.
	ContentionUnlocked Name = "contention-unlocked"
	// StatisticsUnheard has a node plan by the statistics that were stored when it started.
	StatisticsUnheard Name = "statistics-unheard"

	// UnknownCommitForgotten lets the catalog change what a transaction used whose commit has an unknown
	// outcome and may happen yet.
	UnknownCommitForgotten Name = "unknown-commit-forgotten"
	// PeersUnlocked changes what the catalog holds while sessions of other nodes use it.
	PeersUnlocked Name = "peers-unlocked"
	// ChangesUnfollowed leaves what changes during an online build out of the index.
	ChangesUnfollowed Name = "changes-unfollowed"
	// LastChangesUnfollowed leaves what changes between the last snapshot of an online build and its lock out of the index.
	LastChangesUnfollowed Name = "last-changes-unfollowed"
	// MoveUnnoted has a job note nothing of the snapshots between which it moves, so that another node goes on as if it had not begun.
	MoveUnnoted Name = "move-unnoted"
	// ClaimUnheeded lets a node make the change of a job that another one has taken over.
	ClaimUnheeded Name = "claim-unheeded"
	// EnforcedEarly verifies a new constraint in one snapshot, as if all that is written since obeyed it.
	EnforcedEarly Name = "enforced-early"
	// ReferredUnfollowed adds a foreign key without looking at what went from the table that it refers to meanwhile.
	ReferredUnfollowed Name = "referred-unfollowed"

	// SplitGap leaves the keys of the right half of a split to nobody for a moment.
	SplitGap Name = "split-gap"

	// PipelineGoesOn executes what a client has sent behind an error, before Sync.
	PipelineGoesOn Name = "pipeline-goes-on"

	// SlowLeads leaves leaderships where they are, however slow the disk there is.
	SlowLeads Name = "slow-leads"

	// TwinAdmitted takes a later process of a node in while the one before goes on.
	TwinAdmitted Name = "twin-admitted"

	// UnheardStays leaves replicas on nodes of which nobody has heard since all others started.
	UnheardStays Name = "unheard-stays"

	// TriggersLoaded loads many rows beside the transaction though the table has triggers.
	TriggersLoaded Name = "triggers-loaded"
	// TriggersBlind has UPSERT replace rows without a look at them though the table has triggers.
	TriggersBlind Name = "triggers-blind"
	// TriggersEarly fires the triggers of many rows before these are stored though their functions could tell.
	TriggersEarly Name = "triggers-early"
	// TriggerKeysUnwatched checks of an UPDATE what it assigns to, whatever its triggers change.
	TriggerKeysUnwatched Name = "trigger-keys-unwatched"
	// TriggerChangesLost skips rows that a trigger has changed before the statement could.
	TriggerChangesLost Name = "trigger-changes-lost"
	// TriggersForgotten drops the deferred triggers that deferred triggers fire.
	TriggersForgotten Name = "triggers-forgotten"

	// PanicSurvived lets a node go on after a panic below kv.
	PanicSurvived Name = "panic-survived"
)
