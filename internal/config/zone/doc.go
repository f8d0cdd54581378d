// Package zone holds the placement configuration of a part of the key space: how
// many replicas, where, how large ranges are, how long versions are kept.
//
// Above it: ddl, which stores what CONFIGURE ZONE says, SQL's SHOW statements,
// kv, which reads the stored zones, and the policy that places replicas. Below
// it: nothing.
//
// Read zone.go (Config and its parts), resolve.go (inheritance, defaults,
// validation), field.go (the fields by the names they have in SQL), parse.go and
// format.go (constraints as text), record.go (the stored form), set.go (Set: which
// zone holds for a key, and where another begins), locality.go (where a node is), tablespace.go (a
// tablespace's replica_placement, in YugabyteDB's JSON).
//
// Invariants
//
//  1. What String prints, the parser reads back as the same value.
//     (TestTextRoundTrip)
//  2. A record decodes to what was encoded; fields of later versions are skipped;
//     any bytes decode or give an error. (TestRecordRoundTrip, FuzzDecode)
//  3. A resolved configuration has every field set, and one that Validate accepted
//     can be met by some cluster. (Resolve, Config.Validate)
//
// All functions are pure and all types plain values. The package does not know
// stores, keys or SQL, and does not choose where replicas go.
package zone
