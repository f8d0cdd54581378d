// Command roundtrip checks that what pg_dump writes of a Lichen database restores.
//
//	go run ./test/roundtrip -lichen URL -postgres URL
//
// It runs each logic script, without its DROPs so that many objects remain, in a database of
// its own, and dumps it in several ways: as a script, without rows and the rows as INSERTs, as
// an archive that pg_restore reads with two jobs, and with --clean over what is there already.
// Each is restored in an empty database, without an error, and dumped again: the two dumps are
// the same text. The script is also restored in PostgreSQL 15, whose dump of it is compared
// with Lichen's. The last state of the script, its DROPs included, goes the first way too.
//
// It needs PostgreSQL's psql, pg_dump and pg_restore 15 (-tools names their directory) and
// begins no script after -time. Its databases, roundtrip_…, are dropped unless -keep is set,
// those of a run that was killed by the next one on the same machine.
//
// Reading order: main.go (rounds and the report), script.go (logic scripts), tools.go
// (PostgreSQL's programs), round.go (the ways of one script), compare.go (what counts as the same), known.go
// (differences that docs/differences.md explains).
package main
