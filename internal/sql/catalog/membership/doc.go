// Package membership keeps the records by which the nodes that serve SQL, the gateways, know of one
// another: who they are, and until when each may use what it has cached of the catalog.
//
// Above it is catalog, whose gateways lock, change and publish descriptors on all members; below it kv.
// records.go has the records, membership.go a node's own registration, members.go those of others.
//
//	Begin ──▶ the gateway learns others' locks, ──▶ Complete ──▶ Renew ──▶ valid ──▶ Leave
//	  ▲       loads the catalog                                     ▲        │
//	  │                                                             └────────┤ every Timing.Renew
//	  └──────────── void: another gateway has struck it off, or Distrust ◀───┘
//
// Invariants:
//
// M1. A gateway uses what it has cached only while its lease, less the offset of clocks, lasts by its
// own clock (Valid). Nobody passes over a gateway before its records are deleted, which another gateway
// does after the lease's end by its own clock (Gone, deregister). A gateway that stops or begins anew
// deletes or replaces its own before that (Leave, Begin; TestStruckOff).
//
// M2. A gateway that goes leaves the time at which it went, and until which commits of its sessions may
// happen yet (noteLeft; TestLeft).
//
// M3. What was cached under a registration that ended is void: its end comes before a new epoch, and the
// epoch before anything is valid again (Membership.lose, Admit; TestVoid). Distrust during a registration ends
// that one too (Complete; TestDistrustWhileRegistering).
//
// M4. Whoever holds a share lock on a registration (Hold) keeps it: its records are deleted only under an
// update lock. So after their deletion the outcome of all that was committed under such locks is
// settled (deregister; TestHeld).
package membership
