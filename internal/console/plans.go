package console

// StatementPlan is a plan by which statements of a fingerprint were run. Times are in seconds, of the executions that were looked
// at: about one in ten seconds, and those that took longest.
type StatementPlan struct {
	ID       string  `json:"id"`
	Database string  `json:"database"`
	User     string  `json:"user"`
	Text     string  `json:"text"`
	Samples  int64   `json:"samples"`
	Mean     float64 `json:"mean"`
	Max      float64 `json:"max"`
	First    int64   `json:"first"` // milliseconds since 1970
	Last     int64   `json:"last"`
	Nodes    []int64 `json:"nodes"`
}

// StatementPlans are those of a fingerprint, the one seen last first.
type StatementPlans struct {
	Plans   []StatementPlan `json:"plans"`
	Notices []string        `json:"notices"`
}

func getPlans(c *Console, r *request) (any, error) {
	found, err := c.query(r, r.login, defaultDatabase, `SELECT plan_id, database_name, user_name, (array_agg(plan ORDER BY last_seen DESC))[1] AS plan, sum(samples)::bigint AS samples,
		extract(epoch FROM sum(mean_time * samples)) / sum(samples) AS mean, extract(epoch FROM max(max_time)) AS max,
		`+millis("min(first_seen)")+` AS first, `+millis("max(last_seen)")+` AS last, array_agg(node_id ORDER BY node_id) AS nodes
		FROM lichen_internal.cluster_statement_plans WHERE fingerprint_id = `+quote(r.param("fingerprint"))+` GROUP BY 1, 2, 3 ORDER BY last DESC`)
	if err != nil {
		return nil, err
	}
	out := &StatementPlans{Plans: []StatementPlan{}, Notices: noticesOf(found)}
	found.each(func(x row) {
		out.Plans = append(out.Plans, StatementPlan{
			ID: x.text("plan_id"), Database: x.text("database_name"), User: x.text("user_name"), Text: x.text("plan"), Samples: x.int("samples"),
			Mean: x.float("mean"), Max: x.float("max"), First: x.int("first"), Last: x.int("last"), Nodes: x.ints("nodes"),
		})
	})
	return out, nil
}
