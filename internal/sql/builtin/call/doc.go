// Package call is the vocabulary of what SQL text can call: how an operator, a function or an
// aggregate is declared (Fn, Op, SRF, Agg), what it is then (Overload, Aggregate), what a call of it
// gets (Context, with the Session that runs it), and what it answers (Datum, RowIterator, Accumulator).
//
// Above it: the packages of builtin, each of which declares the overloads of a subject, and the
// planner and executor, which call them. Below it: coerce (conversions between types) and types.
//
// Reading order: Overload and Aggregate, then Fn (the form of a signature), Context, Session, and
// Step (how a long call counts its work).
//
// Contract of a call. The caller coerces every argument to the type that Overload.Signature names,
// and for a Strict overload yields NULL itself as soon as one argument is NULL; Eval never sees one.
// Eval must not keep args. A loop whose length is not bounded by a small number calls Context.Step,
// by which a cancelled statement ends; what allocates more than twice its arguments calls
// Context.Reserve first, by which a node's memory is not exceeded.
//
// Invariants:
//
//  1. A call ends soon after its statement is cancelled (TestLongCallsEnd of builtin; layers'
//     TestElementLoopsStep finds loops that do not count, or go on). Large results are collected in pieces
//     (Concat, Repeat, types.Pieces): what a growing buffer copies at once takes too long.
//  2. The memory of large values is reserved before they are made (TestLargeValuesAreReserved of
//     builtin), and a value that outgrew its reservation gives back no more than was reserved
//     (TestValueBeyondItsReservation of builtin).
//
// Concurrency: an Overload is immutable once builtin has registered it. A Context belongs to one
// goroutine, and so does an Accumulator.
package call
