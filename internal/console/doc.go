// Package console serves the pages of the console, and the JSON API that they use, at a node's HTTP address.
//
//	browser ─▶ pages (assets.go, built from web/)
//	        └▶ /api/v2/… ─▶ access (auth.go) ─▶ endpoint ─▶ SQL as the user who logged in │ node │ metrics │ other nodes
//
// What SQL knows is asked by SQL, in a session of the user who logged in: privileges are those of SQL, and nothing is gathered twice.
// The endpoints are one table, from which the API's description is made too.
//
// Above it: server, which mounts it and takes the metrics. Below it: node, sqlnode, sql.
//
// Read console.go (Console, Options), endpoint.go (endpoint, and how one is served), endpoints.go (the table), auth.go (logins), openapi.go
// (the description), query.go (SQL as a user), then a file per subject: overview.go, problems.go, ranges.go, schema.go, activity.go,
// admin.go (jobs, settings, events), metrics.go, dashboards.go, peers.go (what other nodes are asked), shell.go, assets.go.
//
// Invariants:
//
//  1. Without a login only the pages themselves, the login and what the node is called are served (serveEndpoint;
//     TestNothingWithoutLogin in server).
//  2. What changes something needs the token of the login in a header, which no page of another site can send (serveEndpoint; TestCSRF in server).
//  3. What a user asks for is audited and counted as that of a SQL client (session; TestShellReadOnly in server). The shell writes only where the cluster setting server.console.sql_writes.enabled says so (shell; TestShellReadOnly in server).
//  4. The API's description has every endpoint, and answers are as it says (describe; TestAnswersAsDescribed in server).
//  5. Logins, queries at a time, rows and bytes of an answer have limits (maxLogins, maxQueries, maxRows; TestLimits).
package console
