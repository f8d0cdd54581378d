// Package advise says which indexes plans read, which they lack, and which nobody uses.
//
//	plan ─▶ Reads ─▶ stmtstats ─▶ Missing, Unused ─▶ lichen_internal.index_recommendations
//
// sql calls Reads for the plans of fingerprints that it looks at, statview the rest. Below it is plan. Read reads.go (Reads),
// recommend.go (Missing, Unused).
//
// Invariants:
//
//  1. An index is recommended only for conditions that it would find by its key: columns compared with values that are known
//     before the table is read (comparison; TestMissing in sql).
//  2. No index is recommended whose first columns another has already (covered; TestMissing in sql).
//  3. Only an index that nothing else than reads needs is recommended to be dropped (Unused; TestUnused).
//
// All of it is pure.
package advise
