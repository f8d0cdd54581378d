// Package logictest runs scripts of SQL statements with the results they must have, as
// tests. The same scripts run on one node and on several, with tables in many ranges,
// batches of one row, and rules of the optimizer switched off: all must agree (DESIGN §9).
//
// Scripts lie in a folder for each area, a file per subject, and are named by both:
//
//	go test ./internal/sql -run 'TestLogic/local/ddl'              an area
//	go test ./internal/sql -run 'TestLogic/local/ddl/namespaces'   a script
//	go test ./internal/sql -run 'TestLogic/local//namespaces'      one in whatever area
//
// A script is a list of records with blank lines between them:
//
//	statement ok            a statement that succeeds
//	statement error CODE    one that fails with that SQLSTATE
//	query [rowsort]         a query, then ---- and its rows, two spaces between columns
//	session NAME            the following records use another session
//	restart                 the node restarts; all sessions are new
//	skip CONFIGURATION      the script does not run there; a comment above says why
package logictest
