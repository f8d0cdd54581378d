// Package tempschema drops the temporary schemas of sessions that have ended without doing so: with
// their node, or in its absence.
//
// sql runs a Sweeper on each node, and drops what it finds through a session. The catalog knows
// whose each temporary schema is.
//
// Invariants:
//
//  1. No schema is dropped whose session may still be there: of this node, as Alive says; of
//     another one, if that has started again or was out of sight for grace
//     (Sweeper.abandoned; TestAbandoned).
package tempschema
