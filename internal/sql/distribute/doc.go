// Package distribute decides which parts of optimized plans run on the nodes that have their rows, and cuts them out of the plan: the
// optimizer's rule of that name.
//
// Above it: optimizer. Below it: fragment, which knows what can travel, plan.
//
// Read distribute.go: Plan, what of a plan may be cut out (chain, gather), groups and top-k in two steps (splitGroups, splitTopK), when it is
// worth it (worthSending).
//
// Invariants:
//
//  1. What is cut out yields rows in no order, and parts of the same group: nothing above relies on more
//     (takesParts, plan.Scan.Ordered; TestDistributedQueries in sql, and the logic tests when distributed).
//
//  2. An aggregate whose result would show how rows were divided stays whole (splitAggregate).
package distribute
