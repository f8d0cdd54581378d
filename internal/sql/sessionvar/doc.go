// Package sessionvar executes the statements about the parameters of a session: SET, RESET, SHOW, SET
// SESSION CHARACTERISTICS, what set_config and current_setting ask, and what a session begins with.
//
// Above it is sql, whose sessions own a Vars each. Below are settings, which knows the parameters,
// checks values and undoes SET with its transaction, and transaction, whose modes are parameters too.
// Read vars.go (Vars, Session), set.go (SET), value.go (values as text), show.go (SHOW), stored.go
// (what ALTER DATABASE, ALTER ROLE and the client give a new session).
//
// Invariants:
//
//  1. What SET gives ends with a rollback, what SET LOCAL gives with the transaction: all values
//     but the database, the seed and the modes of the transaction are kept by settings.Values alone
//     (Vars.SetText; settings' G2).
//  2. A value is stored for later sessions only if SET would take it now, and a stored value that is
//     not valid any more keeps nobody from connecting (Vars.Stored, Vars.SetStored; TestStored).
//
// One goroutine at a time uses a Vars.
package sessionvar
