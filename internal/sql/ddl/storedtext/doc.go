// Package storedtext makes, reads and changes the expressions and queries that descriptors hold as
// text: defaults, checks, generated columns, predicates of indexes, conditions of triggers, queries of views.
//
// Above it: the packages of ddl that store such texts. Below it: planner, which gives them their
// meaning, and statement. Read expr.go (the form of expressions, and names that search_path does not
// change), rowtext.go (expressions over rows), trigger.go (conditions of triggers), literal.go (constants that mean the same in every
// session), collation.go, query.go (queries that are part of a statement), retext.go (new names in
// stored texts).
//
// Invariants:
//
//  1. A stored text means the same whatever search_path and the formats of a session are: its names
//     have schemas, and its constants are printed for all sessions (PinNames, FixLiterals;
//     types/storedliterals.slt and views/meaning.slt in sql).
//  2. A stored expression has no subquery, aggregate or window function, and no parameter
//     (CheckExprNode).
package storedtext
