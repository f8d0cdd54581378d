// Package sessionvar executes statements about session parameters: SET, RESET, SHOW and SET SESSION
// CHARACTERISTICS. It also serves set_config and current_setting, and gives a new session its
// initial values.
//
// Above it is sql, whose sessions own a Vars each. Below are settings, which knows the parameters,
// checks values and undoes SET with its transaction, and transaction, whose modes are parameters too.
// Read vars.go (Vars, Session), set.go (SET), value.go (values as text), show.go (SHOW), stored.go
// (initial values from ALTER DATABASE, ALTER ROLE and the client).
//
// Invariants:
//
// 1. A rollback undoes SET, and the end of the transaction undoes SET LOCAL. So settings.Values
// alone keeps all values but the database, the seed and the transaction's modes (Vars.SetText;
// settings' G2).
//
// 2. ALTER DATABASE and ALTER ROLE store a value only if SET would accept it now. A stored value
// that has become invalid keeps nobody from connecting (Vars.Stored, Vars.SetStored; TestStored).
//
// One goroutine at a time uses a Vars.
package sessionvar
