// Package optimizer rewrites canonical plans into efficient ones by an ordered
// list of named rules, each of which can be switched off.
//
// Above it: the session. Below it: plan (what it rewrites), builtin (folding,
// volatility), catalog (indexes), types.
//
// Reading order: Options and Optimize (optimizer.go), the table of rules (rules.go), the
// logical rules in the order they run, one file each (inlinecte.go, fold.go with package crosstype, conditions.go, foldthrough.go, onerow.go, constants.go, empty.go,
// decorrelate.go, pushdown.go with barrier.go and conditionorder.go, distinct.go, minmax.go, outerjoin.go, joinorder.go
// with joingraph.go, joinsearch.go, equivalence.go, relset.go, disjunction.go and semijoin.go, prune.go; colset.go and mergeproject.go serve several), then the physical pass: physical.go (sorts, limits, grouping),
// access.go, constraint.go, orspans.go and tokens.go (indexes), join.go and mergejoin.go (algorithms), locks.go, vectorize.go (columns or rows), parallel.go (workers); and
// the estimates (stats.go, estimate.go, cardinality.go, extended.go, value.go, over package distribution).
//
// The logical rules transform the tree; the physical pass walks it once from
// the top, telling each operator which order and how many rows its consumer
// wants, and chooses among the alternatives by estimated cost.
//
// Invariants:
//
//  1. A plan with any set of rules disabled yields the same rows (up to order
//     where the query leaves it open) (to be checked above this layer, by running the
//     same statements with rules off; here TestGolden plans them).
//  2. A constant that can't be computed fails no optimization: the plan tells what its executions
//     fail with (plan.Prepared.Failed). It is so for what the result may need only, as in PostgreSQL
//     (constantError; optimizer/constants.slt).
//  3. Volatile expressions are neither duplicated nor moved to where they would
//     be evaluated more or less often (plan.Volatile at every move).
//  4. No condition that is not leakproof moves below a plan.Barrier, nor is computed in a scan below one before the conditions
//     there (pushBarrier, lookupInto; rowsecurity/barriers.slt and policies.slt in sql, planted by barrier-passed).
//  5. The result satisfies plan.Verify (TestGolden, FuzzPlan).
//
// Concurrency: an optimization belongs to one goroutine. The plan given is
// consumed: its nodes are changed in place.
//
// It does not: resolve or type anything, cache plans, or collect statistics.
package optimizer
