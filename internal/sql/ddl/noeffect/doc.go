// Package noeffect lists what DDL and maintenance statements accept without effect, each with the
// reason why its promise holds all the same. Parameters of sessions have such a list of their own in
// settings.
//
// Above it: the packages of ddl, and sql, which answer each use with the notice of the Feature.
//
// Invariants:
//
//  1. Each feature that is declared is in the list that the documentation prints (All; TestAll).
package noeffect
