// Package password makes and checks what is stored of passwords: SCRAM-SHA-256 verifiers in PostgreSQL's
// form. No password can be read from one.
//
// Above it: pgwire (logins), ddl/roles (PASSWORD). Below it: github.com/xdg-go/scram. Read verifier.go (New,
// Verifier), then exchange.go (Exchange, the server's side of a login).
//
// Invariants:
//
//  1. Whoever reads a verifier can't log in with it: it has neither the password nor the client's key
//     (TestVerifier).
//  2. An exchange for a role without a verifier takes the same course as one with a wrong password, with the
//     same salt each time (Mock; TestMock).
//
// A Verifier is immutable. An Exchange belongs to one login.
package password
