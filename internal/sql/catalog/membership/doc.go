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
// M3. What was cached under a registration that ended is void: its end comes before a new number, and the
// number before anything is valid again (Membership.lose, Admit; TestVoid). Distrust during a registration ends
// that one too (Complete; TestDistrustWhileRegistering).
//
// M4. Whoever holds a share lock on a registration (Hold) keeps it: its records are deleted only under an
// update lock. So after their deletion the outcome of all that was committed under such locks is
// settled (deregister; TestHeld).
//
// Why a change of the schema waits up to Timing.Validity for a gateway that has died. A gateway that does not
// answer may live behind a broken network; its sessions then go on with what it has cached, and commit. That its
// address refuses connections does not prove that it is dead: a proxy, a firewall or the next owner of the
// address refuse for it. And what a dead process has sent may still be on its way to ranges, which refuse its
// commits for their deadline alone, the end of the lease. Only a process that starts with the same stores
// proves that the former one is dead, as it holds their lock: it replaces the records at once, and notes until
// when commits of the former may happen (Begin). To fence a gateway earlier, every range that it might reach would
// have to refuse it, and each leader to come. Nor can leases be much shorter: between two renewals lies a
// second, and a leader of the records' range that dies is replaced after more than another; what is left of
// Validity, less the offset of clocks, is what a slow disk or a busy machine may take before all gateways
// stand still.
package membership
