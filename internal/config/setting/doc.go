// Package setting knows the cluster settings: their names, types, bounds and defaults, and
// what the stored ones amount to. A cluster setting holds for all nodes, is stored in
// the cluster and is changed while it runs; what concerns one node is a flag, and what concerns
// one session a parameter (sql/settings). Below it: config/hba, config/identmap,
// config/jwt and config/audit.
//
// In reading order: Setting (one of them; All, Find), Values (all of them, typed) and Live
// (the values that hold on a node now).
//
// Invariants:
//
//  1. Every setting has an effect: the field of Values that it sets is read elsewhere
//     (TestEffects).
//  2. The text of a value parses back to the value (TestText).
//  3. docs/settings.md lists exactly these settings (TestPage).
//
// Setting and Values do not change; Live may be used from many goroutines. The package
// neither reads nor writes the stored settings: kv.Settings does.
package setting
