// Package window computes window functions, one partition after the other.
//
// Above it: exec. Below it: aggregate (aggregates as window functions), operator, rowcontainer.
//
// Main types in reading order: windowOp (a partition and its peer groups), windowFunc, segment
// (frame.go: what a frame consists of), windowFunctions (functions.go), movingFrame (aggregates over
// frames that move, without adding them up anew for each row).
//
// Invariants:
//
//  1. Frames that move are put together from parts only for aggregates that do not depend on the order
//     of their rows (windowFunc.moving).
//
//  2. A partition and its results are accounted for, and at most one partition is held
//     (windowOp.fill; exec's TestMemoryLimit).
//
// Concurrency: an operator belongs to one goroutine.
package window
