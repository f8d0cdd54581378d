// Package exec compiles plans and runs them.
//
// Above it: the session (sql), ddl and whatever runs plans. Below it: plan (what it runs), and its
// packages by subject:
//
//	expr          expressions to closures
//	vecexpr       expressions over columns
//	rowcontainer  batches, stores, key tables, sorting
//	tableaccess   rows as keys and values; writing them with their index entries
//	operator      what an operator is; the environment and state of an execution
//	scan          reading and locking rows
//	aggregate     groups; window   window functions; join   joins
//	mutation      INSERT, UPDATE, DELETE, MERGE, foreign and deferrable keys
//
// Here: Program (a compiled statement: Open, Next, Close), compiler (which operator a node becomes:
// dispatch.go; queries in expressions: subquery.go), and the operators that need no package, a file per
// operator: filters, projections, limits, sorts, DISTINCT, set operations, set-returning functions, WITH; vectors.go has those over columns.
// profile.go measures for EXPLAIN ANALYZE, constant.go computes without a session.
//
// A Program is compiled once for a prepared statement and run many times: operators keep their
// buffers, so that a point read or write allocates nothing here. Everything but the reading of large
// tables (scan's parallelScan) runs in the caller's goroutine: Next pulls batches of rows through the operators, and a portal that has enough rows
// simply does not call it again.
//
// Invariants:
//
//  1. All memory that grows with the number of rows is reserved from operator.Env.Mem first, and everything is
//     given back at Close (the test harness checks after every statement; TestMemoryLimit). A program
//     that may still hold large values then is not kept for another execution (Program.Reusable;
//     pgwire's TestLargeValuesAreNotKept).
//
//  2. Every loop over rows calls kv, which looks at the context, or Tick or Canceled of an
//     expr.State (TestCancel).
//
//  3. A point read or update allocates nothing (TestPointAllocations).
//
//  4. A comparison of large values that is cut short because the statement was cancelled leads to that error
//     and to no row (Program.fetch; TestCancelledComparison in sql).
//
//  5. What a statement leaves to its end is done before its last row is handed out
//     (Program.fetch calls mutation's Statement.Finish).
//
//  6. Sorts, groups, DISTINCT and UNION that hold more than work_mem, or that the pool refuses memory to, go on in the
//     execution's temporary file, which Close removes (expr.State.Unbind; the logic tests in temporary
//     files). Other operators fail with 53200 where the pool has no more.
//
// Concurrency: a Program, and what it consists of, belongs to one goroutine, but for the workers of scans; plans are only
// read.
//
// It does not: plan, retry, map kv errors to SQLSTATEs, or run DDL or utility statements.
package exec
