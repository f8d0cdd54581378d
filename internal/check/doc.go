// Package check holds the checkers of histories: what clients did and saw of a
// database, and whether any correct database could have answered so.
//
// Above it: the simulation and the tests of whole clusters. It is a leaf: plain
// data, the standard library and porcupine.
//
// Reading order: [Op] and [History], the recorder (history.go); [Violation] and
// [Undecided], the two ways in which a checker refuses (verdict.go); then the
// checkers: [Bank], [Ring], [Linearizable], and the strongest, [Timestamps]
// (timestamps.go; timestamps_unknown.go for transactions of unknown outcome); and
// [Lists], which needs no timestamps, tells isolation levels apart and works against any
// database (lists.go, listcycles.go), with [MonotonicReads] for what it does not look at:
// real time (monotonic.go). Each checker's comment says what it can't notice.
//
// Invariants:
//
//  1. No checker refuses a history that a correct database can produce (checked by
//     TestValidHistoriesPass on histories that a serial execution made).
//  2. Each checker refuses the planted errors it is there for (checked by
//     TestPlantedTimestamps, TestPlantedStores, TestPlantedRegisters, TestPlantedBank,
//     TestPlantedRing, TestCorruptedHistoriesFail).
//  3. Ends and beginnings of operations have one order, that in which the recorder
//     learnt of them: an operation that is recorded as begun after another ended
//     did so (checked by TestHistoryOrder).
//  4. A history read back from its lines is the same (checked by TestHistoryLines).
//  5. Lists finds each class of anomaly, and allows what its level does (checked by
//     TestPlantedLists, TestLevels and TestListsOfEngines); MonotonicReads finds a list that
//     gets shorter, for one client or for all (checked by TestMonotonicReads).
//
// Concurrency: a History may be used by many goroutines; each Pending belongs to
// one. Checkers are functions of their arguments.
//
// It does not run operations.
package check
