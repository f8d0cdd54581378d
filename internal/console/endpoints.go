package console

import "net/http"

// allEndpoints returns the API. Its description is made from it.
func allEndpoints() []endpoint {
	limit := param{"limit", "the most that are returned"}
	node := param{"id", "the id of a node"}
	get := func(path, doc string, answer any, serve func(*Console, *request) (any, error), params ...param) endpoint {
		return endpoint{method: http.MethodGet, path: path, doc: doc, access: loggedIn, params: params, answer: answer, serve: serve}
	}
	post := func(path, doc string, body, answer any, serve func(*Console, *request) (any, error), params ...param) endpoint {
		return endpoint{method: http.MethodPost, path: path, doc: doc, access: loggedIn, params: params, body: body, answer: answer, serve: serve}
	}
	login := post("login", "Log in with a SQL user's password: sets the cookie of the login, and returns the token for what changes something.", Credentials{}, Session{}, logIn)
	login.access = open
	options := get("login", "How one may log in: with a password always, and at an identity provider if that has a name.", LoginOptions{}, getLoginOptions)
	options.access = open
	log := get("nodes/{id}/log", "The end of a node's log.", NodeLog{}, getLog, node)
	log.access = superuser
	bundle := get("statement-diagnostics/{id}", "A bundle, as a zip file.", nil, getBundle, param{"id", "as statement-diagnostics tells it"})
	setting := post("settings/{name}", "Set a cluster setting, or put it back to its default.", NewSetting{}, nil, putSetting, param{"name", "the setting"})
	setting.method = http.MethodPut
	description := get("openapi.json", "This description.", nil, getDescription)
	description.access = open
	return []endpoint{
		login,
		options,
		post("logout", "End the login.", nil, nil, logOut),
		get("session", "Who has logged in, on which node of which cluster.", Session{}, getSession),
		get("overview", "The state of the cluster: nodes, ranges, load, and what is not as it should be.", Overview{}, getOverview),
		get("nodes/{id}", "A node, with its metrics.", NodeDetail{}, getNode, node),
		log,
		get("ranges", "Ranges of the cluster, those that serve most requests first.", Ranges{}, getRanges, limit,
			param{"search", "a text in the range's id or keys"}, param{"problems", "true: only those that are not as they should be"}, param{"node", "the id of a node: only those with a replica there"}),
		get("databases", "The databases.", Databases{}, getDatabases),
		get("databases/{database}/tables", "The tables, views and sequences of a database.", Tables{}, getTables, param{"database", "its name"}),
		get("databases/{database}/tables/{schema}/{table}", "All about a table.", TableDetail{}, getTable, param{"database", "its name"}, param{"schema", "the table's schema"}, param{"table", "the table's name"}),
		get("databases/{database}/index-recommendations", "Changes of indexes that the statements of the cluster speak for.", IndexAdviceList{}, getAdvice, param{"database", "its name"}),
		get("statements", "What statements have cost, by fingerprint.", Statements{}, getStatements, limit),
		get("statements/{fingerprint}/plans", "The plans by which the statements of a fingerprint were run.", StatementPlans{}, getPlans, param{"fingerprint", "as statements tell it"}),
		get("transactions", "What transaction blocks have cost, by the fingerprints of their statements.", Transactions{}, getTransactions, limit),
		get("slow-statements", "The last statements that took long, with their plans.", SlowStatements{}, getSlow, limit),
		get("lock-waits", "The last waits of transactions for others. Tables are named of one database.", LockWaits{}, getWaits, limit, param{"database", "whose tables are named"}),
		get("statement-diagnostics", "What EXPLAIN ANALYZE (DEBUG) has put together on the nodes that live: superusers see all, others their own.", Diagnostics{}, getDiagnostics),
		bundle,
		get("sessions", "The sessions of the cluster.", Sessions{}, getSessions),
		post("queries/{id}/cancel", "Cancel a statement that runs.", nil, nil, cancelQuery, param{"id", "the statement, as sessions tell it"}),
		post("sessions/{id}/cancel", "End a session.", nil, nil, cancelSession, param{"id", "the session"}),
		get("jobs", "Long statements that change tables, and removals of unused data.", Jobs{}, getJobs),
		post("jobs/{id}/{action}", "Pause, resume or cancel a job.", nil, nil, changeJob, param{"id", "the job"}, param{"action", "pause, resume or cancel"}),
		get("settings", "The cluster settings.", Settings{}, getSettings),
		setting,
		get("events", "What happened in the cluster, the newest first.", Events{}, getEvents, limit),
		get("dashboards", "The graphs of the metrics page: which metrics, and what they mean.", Dashboards{}, getDashboards),
		get("metrics", "Metrics over a time span, of each node. Counters are told as their growth per second.", Metrics{}, getMetrics,
			param{"names", "metrics, with commas between them"}, param{"from", "milliseconds since 1970"}, param{"to", "likewise"},
			param{"step", "milliseconds between two points"}, param{"nodes", "ids of nodes, with commas between them; none: all"}),
		post("sql", "Run a SQL statement. It only reads, unless the cluster setting server.console.sql_writes.enabled is true.", Query{}, Result{}, shell),
		description,
	}
}
