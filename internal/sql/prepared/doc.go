// Package prepared keeps the prepared statements of sessions, and makes and keeps the plans of
// statements.
//
// sql calls it: Statements are what a session has prepared, a Planner gives a valid plan for a
// statement, and a Cache shares plans among the sessions of a node. Below it are planner and
// optimizer, which make plans, and exec, which compiles them. Read statement.go (Statement),
// planner.go (Planner.For), plan.go (Plan, Cache), statements.go (Statements and their memory).
//
// Invariants:
//
//	P1. A plan is used only under the catalog generation, table statistics and settings that it
//	    was made under, or after its descriptors were found unchanged (Planner.kept).
//	P2. A program serves one execution at a time (Plan.Program, Release).
//	P3. A plan that has values of parameters as constants serves one execution and is kept
//	    nowhere (Plan.Once; optimizer/preparedplans.slt in sql).
//	P4. What sessions keep counts against the memory of the node, and what can be made again
//	    gives way to another statement (Statements.hold; TestMemoryOfPreparedStatements and
//	    TestMemoryOfUnnamed in sql).
package prepared
