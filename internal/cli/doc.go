// Package cli is the command line.
//
// Above it is cmd/lichen; below it server and the clients. Read cli.go (Main and
// the list of commands), then the file of the command, and a file per part of it that is
// long: democluster.go, clusterrun.go. node.go, nodeconn.go and clients.go connect to what runs.
//
// The shell (lichen sql) is sql.go (the command and its flags), sqlshell.go (its loop and what it
// keeps), sqlscan.go (where a statement ends), sqlprompt.go (prompts and history), sqledit.go (\e),
// sqlmeta.go (the backslash commands), sqldescribe.go (\d and its like), sqlcopy.go (\copy),
// sqlwatch.go (\watch), sqlformat.go (how rows print) and sqlerror.go (how errors do).
//
// Flags have the names that CockroachDB and PostgreSQL give them. A command
// prints what it is asked for to standard output, everything else to standard
// error, and exits with 0, 1 (it failed) or 2 (it was called wrongly).
package cli
