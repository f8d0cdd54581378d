// Package vecexpr computes expressions for the rows of a batch of vectors at a time.
//
// Above it: vectorized operators. Below it: expr (the same expressions for one row), vector.
//
// Main types in reading order: Frame (the rows to compute for, and the first error), Expr, Pred,
// Compiler; arithmetic.go, kernels.go (loops over slices), logic.go
// (conditions), pattern.go (LIKE), rowwise.go (everything else, by the closures of expr).
//
// Kernels compute what is common: operands that are not NULL, results that fit. They hand any other row
// to the closure that expr compiles for the same operator, which knows the errors and the rare forms.
//
// Invariants:
//
//  1. A row's error is the error of the batch exactly if each row before it has none: Frame.Fail cuts
//     the selection before the row, and what is computed afterwards is computed for the rows that are
//     left (TestVectorsLikeRows of exec).
//
//  2. An expression is computed for a row only if expr would compute it: operands of AND, OR and CASE for the
//     rows that need them (TestVectorsLikeRows of exec).
//
//  3. Values and errors are those of expr (TestVectorsLikeRows of exec).
//
// Concurrency: a compiled expression belongs to one goroutine.
package vecexpr
