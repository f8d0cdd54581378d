// Package fingerprint lets simple queries that differ in integers only share a plan.
//
// Clients of the simple protocol write values into the text of a statement. The statement's
// fingerprint is the text without its integers: they become parameters, declared with the
// types that they have as constants, so that all statements of one fingerprint share one
// syntax tree, one plan and its compiled programs.
//
// It is done only where a constant and a parameter of its type mean the same: as
// operands of a comparison with a column in WHERE, as assigned values and what is
// added to or taken from a column in SET, and as the values of INSERT. If a text has
// an integer elsewhere, among those that parser.Literals finds, it has no fingerprint.
// So it is too if its plan with parameters fails: the text is then run as it is, and
// the client sees that error.
//
// sql's simple queries call it (Session.Find, Statement, Learn); it reads texts by the parser.
//
// Invariants:
//
//  1. Texts of one fingerprint differ in the values of integers only, not in their number, signs or
//     types (Session.read; TestKeys).
//  2. An integer becomes a parameter only where a parameter of its type means the same; if the
//     plan then fails the text is run as it is (withParams, Shared.TurnOff; TestFingerprints in
//     sql).
package fingerprint
