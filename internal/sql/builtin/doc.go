// Package builtin is the registry of everything SQL text can call: operators, scalar functions,
// set-returning functions and aggregates, with PostgreSQL 15's names, signatures, results and errors,
// and PostgreSQL's rules for choosing among overloads.
//
// The packages below it declare the overloads, one package a subject (datefuncs, jsonfuncs, ...), in the
// vocabulary of package call. A new function is an entry in the file of its subject; buildRegistry
// collects all and gives each its oid by its signature: that of oids.txt if PostgreSQL has the
// function, else that of ownoids.txt. What else is known of functions lies in text files, too:
// argnames.txt has the names of the arguments, oprcodes.txt the functions behind operators, and for
// those that PostgreSQL has pgcatalog/procs.txt is what pg_proc shows (pgcatalog.TestRoutines
// compares it with the entries).
//
// Above it: the planner, which resolves calls; the optimizer, which folds calls without side effects;
// the executor, which runs them.
//
// Reading order: buildRegistry (registry.go), then ResolveFunction, ResolveOperator and
// ResolveAggregate (resolve.go), which choose an overload for the types of a call; conversion_funcs.go
// and operator_funcs.go (functions named as types and as operators), castfuncs.go (functions behind casts), argnames.go, tablesample.go, extension.go (what extensions bring, and who finds it),
// leakproof.go (what may be called for rows that are hidden), restricted.go (what not everybody may call).
//
// Invariants:
//
//  1. Every overload has a distinct oid per kind, and the same one in every version
//     (TestRegistryOids, TestOwnOids, TestExtensionOids).
//  2. No function panics, whatever values of the declared types it is given (TestNoPanics).
//  3. Functions over integers, floats, booleans and comparisons allocate nothing (TestNoAllocation).
//  4. A function that is not Volatile returns the same result for the same arguments within one
//     statement. The volatilities are PostgreSQL's (TestRoutines in pgcatalog).
//
// Concurrency: the registry is built once, on first use, and is immutable then.
//
// It does not: parse, evaluate syntax (CASE, COALESCE, AND, IS DISTINCT FROM, casts), run window
// functions, or know the catalog; what functions need from there they ask of call.Session.
package builtin
