// Package cli is the command line.
//
// Above it is cmd/lichen; below it server and the clients. Read cli.go (Main and the list of commands); then
// there is a file per command, and further files of long ones (democluster.go, clusterrun.go).
// node.go, nodeconn.go and clients.go connect to running nodes; api.go connects to the API of a node's console, apicommands.go has
// the commands that show what it shows.
//
// The shell (lichen sql) is sql.go (the command and its flags), sqlshell.go (its loop and state),
// sqlscan.go (ends of statements), sqlprompt.go (prompts and history), sqledit.go (\e), sqlmeta.go
// (backslash commands), sqldescribe.go (\d and similar commands), sqlcopy.go (\copy), sqlwatch.go
// (\watch), sqlformat.go (output of rows) and sqlerror.go (output of errors).
//
// Flags have the names that CockroachDB and PostgreSQL give them. A command prints its result to standard
// output and everything else to standard error. It exits with 0, 1 (failure) or 2 (wrong usage).
package cli
