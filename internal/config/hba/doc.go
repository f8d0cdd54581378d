// Package hba reads rules of host-based authentication, in the form of PostgreSQL's pg_hba.conf, and finds the one that
// says how a client shows who it is.
//
// Above it: config/setting (the cluster setting that holds the rules), pgwire (logins), pgcatalog (pg_hba_file_rules). It
// is above config/rulelines. Reading order: hba.go (Rule, Client, Find), parse.go.
//
// Invariants:
//
//  1. What is not understood is an error with its line: a rule is never left out or taken for another (TestParse).
//  2. The first rule that fits decides, whatever comes of it (Find; TestFind).
//
// Rules do not change.
package hba
