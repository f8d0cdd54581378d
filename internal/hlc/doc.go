// Package hlc is the hybrid logical clock: the timestamps that order every
// version in the database, and the clock of a node that hands them out.
//
// Above it stands everything that reads or writes versions (storage/mvcc,
// replica, kv); below it only must.
//
// Read Timestamp first, then Clock (Now, Update, Forward), then Clock.Start
// for what survives a restart.
//
// Invariants
//
//  1. Two calls of Clock.Now never return the same timestamp, and a call that
//     begins after another returned gets a later one. (Clock.Now: the swap on
//     one word only ever raises it.)
//  2. After Update(t) or Forward(t), Now is later than t. (Clock.raise)
//  3. The physical part never follows a step of the wall clock: the wall is
//     read once, when the clock is made, and the monotonic clock drives it from
//     there. (NewSystem, Clock.Start)
//  4. Once Start returned, no timestamp at or beyond the persisted bound is
//     handed out; so a clock started with the bound of an earlier incarnation is ahead
//     of everything that incarnation handed out. (Clock.Now compares with the limit;
//     Clock.extend raises the limit only after persist returned, Clock.Stop lowers
//     it before it persists a lower one.) After a crash the bound is up to
//     BoundWindow ahead of what was handed out, since nobody knows how much of it
//     was: only the owner of the clock can say that no more will be.
//
// Concurrency: all methods of Clock may be called at once; Now is wait-free but
// for the rare extension of the bound, which one caller at a time persists, with no
// mutex held. Start is called once, before the clock is shared.
//
// It does not synchronise clocks between nodes; Update only refuses a
// timestamp that is further ahead than the clocks of a healthy cluster can be.
package hlc
