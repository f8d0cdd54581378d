// Package identmap reads identity maps, in the form of PostgreSQL's pg_ident.conf: as which roles who has another name
// elsewhere, as in a certificate, may log in.
//
// Above it: config/setting (the cluster setting that holds the maps), pgwire (logins), pgcatalog (pg_ident_file_mappings). It
// is above config/rulelines.
//
// Invariants:
//
//  1. What is not understood is an error with its line (TestParse).
//  2. A map lets somebody in as a role only by a line that names both (Maps.Allow; TestAllow).
//
// Maps do not change.
package identmap
