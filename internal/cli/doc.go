// Package cli is the command line: one file per subcommand.
//
// Above it is cmd/lichen; below it server and the clients. Read cli.go (Main and
// the list of commands), then the file of the command.
//
// Flags have the names that CockroachDB and PostgreSQL give them. A command
// prints what it is asked for to standard output, everything else to standard
// error, and exits with 0, 1 (it failed) or 2 (it was called wrongly).
package cli
