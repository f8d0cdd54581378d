//go:build plants

package plant

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// All returns the names of all plants.
func All() []Name {
	return []Name{
		SkipRefresh, SkipLockCheck, ReadsUnnoted, SeenUnchanged, IgnoreUncertainty, ObservedForAll, StaleClock,
		DelegateUnrecorded, DelegateLate, RestUnread,
		ReadAfterTimeoutNow, VoteAfterRestart, ForgetReads,
		AckBeforeSync, TruncateEarly, MendAlways, TableJoinsBatch, TableOfAnother, TableUnheard,
		CollectAboveReaders, IgnoreThreshold,
		SplitDropsLocks, SplitForgetsReads, LocksBesideRecord,
		CountedReplaced, InFlightUnseen, RecoverIncomplete,
		CloseOverCommits, CloseUnmarked, TrackThroughCommits, ClosedUnapplied, FollowerAboveClosed, FollowerUncertain,
		SkipUniqueLock, WriteUnchecked, PeersUnlocked, ChangesUnfollowed, LastChangesUnfollowed, MoveUnnoted, ClaimUnheeded, EnforcedEarly, ReferredUnfollowed, UnknownCommitForgotten, NullsAsValues, LaterRowFails,
		FilterBelowOuter, OuterUnchecked, BoundBelowSort, NullInAntiJoin, MergedColumns, VolatileTwice, ResidualDropped, SpanShort,
		StaleSubquery, StaleWith, EmptyAggregate, TypmodLost, StalePlan, CursorSkips,
		StatisticsUnheard, PanicSurvived, TwinAdmitted, SlowLeads, UnheardStays, SplitGap, PipelineGoesOn,
		RoundForgotten, KeysMerged, RowOfNulls, VolatileEarly, RowPerField, TypesInTurn, LaterColumnSeen,
		ImpliedUnchecked, UnmatchedByAny, ContentionUnlocked, ReservedForNobody,
		RaisedUnchecked, DistinctByNullable, DistinctOverJoin,
		RunsUnmerged, PartitionLost, MatchForgotten, BarrierPassed, PolicyUnchecked,
		TriggersLoaded, TriggersBlind, TriggersEarly, TriggerKeysUnwatched, TriggerChangesLost, TriggersForgotten,
	}
}

var chosen atomic.Pointer[Name]

// Choose makes a plant the chosen one, "" for none, until undo is called.
func Choose(n Name) (undo func()) {
	if n != "" && !slices.Contains(All(), n) {
		panic(fmt.Sprintf("plant: there is no %q", n))
	}
	old := chosen.Swap(&n)
	return func() { chosen.Store(old) }
}

// fromEnvironment chooses what LICHEN_PLANT names, once.
var fromEnvironment = sync.OnceFunc(func() {
	if n := Name(os.Getenv("LICHEN_PLANT")); n != "" {
		Choose(n)
	}
})

// On reports whether a plant is chosen.
func On(n Name) bool {
	p := chosen.Load()
	if p == nil {
		fromEnvironment()
		p = chosen.Load()
	}
	return p != nil && *p == n
}
