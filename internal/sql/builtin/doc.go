// Package builtin is the registry of everything SQL text can call: operators,
// scalar functions, set-returning functions and aggregates, with PostgreSQL
// 15's names, signatures, results and errors, and PostgreSQL's rules for
// choosing among overloads.
//
// Above it: the planner, which resolves calls; the optimizer, which folds
// calls without side effects; the executor, which runs them. Below it: types
// (values, casts, text forms) and pgerr.
//
// Reading order: Overload and Aggregate (what can be called), Context and
// Session (what a call may need at run time), ResolveFunction,
// ResolveOperator, ResolveAggregate and CommonType (which overload, which
// type), then one file per family.
//
// Contract of a call. The caller coerces every argument to the type that
// Overload.Signature names, and for a Strict overload yields NULL itself as
// soon as one argument is NULL (Overload.Call does both checks' run-time part);
// Eval is then never entered with a NULL. Eval must not keep args.
//
// Invariants:
//
//  1. Every overload has a distinct oid per kind, and the same one in every
//     run of the same version (TestRegistryOids).
//  2. No function panics, whatever values of the declared types it is given
//     (TestNoPanics).
//  3. Functions over integers, floats, booleans and comparisons allocate
//     nothing (TestNoAllocation).
//  4. A function without volatility Volatile returns the same result for the
//     same arguments within one statement (documented per overload; the
//     volatilities are PostgreSQL's).
//
// Concurrency: the registry is built once on first use and is immutable then.
// A Context belongs to one goroutine; an Accumulator as well.
//
// It does not: parse, evaluate syntax-level constructs (CASE, COALESCE, AND,
// IS DISTINCT FROM, casts), window functions, or know the catalog — what it
// needs from there it asks of Session.
package builtin
