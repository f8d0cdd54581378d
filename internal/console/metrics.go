package console

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/timeseries"
)

// MetricSeries are the points of a metric of a node.
type MetricSeries struct {
	Name string `json:"name"`
	Node uint64 `json:"node"`
	// Values has one for each step; null where there is none. A counter's are what it grows by per second.
	Values []*float64 `json:"values"`
}

// Metrics are metrics over a time span.
type Metrics struct {
	From   int64          `json:"from"` // milliseconds since 1970, of the first point
	Step   int64          `json:"step"` // milliseconds
	Series []MetricSeries `json:"series"`
	// Missing are the nodes that did not answer.
	Missing []uint64 `json:"missing"`
}

const (
	// maxMetrics bounds the names of a request.
	maxMetrics = 50
	// defaultSpan is the time span where none is given.
	defaultSpan = time.Hour
)

// isCounter reports whether a metric only grows.
func isCounter(name string) bool { return strings.HasSuffix(name, "_total") }

// getMetrics returns the points of metrics.
func getMetrics(c *Console, r *request) (any, error) {
	q, err := metricsRequest(r)
	if err != nil {
		return nil, err
	}
	statuses := c.o.Node.Statuses()
	wanted, err := nodesWanted(r)
	if err != nil {
		return nil, err
	}
	var ids []kvpb.NodeID
	out := &Metrics{Series: []MetricSeries{}, Missing: []uint64{}}
	for i := range statuses {
		id := statuses[i].ID
		if len(wanted) == 0 || slices.Contains(wanted, uint64(id)) {
			ids = append(ids, id)
		}
	}
	answers := c.askAll(r, ids, &peerRequest{Series: q})
	for _, id := range ids {
		a := answers[id]
		if a == nil || a.Series == nil {
			out.Missing = append(out.Missing, uint64(id))
			continue
		}
		out.From, out.Step = a.Series.From, a.Series.Step // the same of all nodes
		for i, name := range a.Series.Names {
			out.Series = append(out.Series, MetricSeries{name, uint64(id), a.Series.Values[i]})
		}
	}
	return out, nil
}

// metricsRequest reads what a request asks for.
func metricsRequest(r *request) (*timeseries.Request, error) {
	now := time.Now().UnixMilli()
	to, err := r.number("to", now, 0, math.MaxInt64/2)
	if err != nil {
		return nil, err
	}
	from, err := r.number("from", to-defaultSpan.Milliseconds(), 0, math.MaxInt64/2)
	if err != nil {
		return nil, err
	}
	step, err := r.number("step", 0, 0, (30 * 24 * time.Hour).Milliseconds())
	if err != nil {
		return nil, err
	}
	names := strings.Split(r.param("names"), ",")
	switch {
	case r.param("names") == "" || len(names) > maxMetrics:
		return nil, badRequest("names must have from 1 to %d metrics", maxMetrics)
	case from >= to:
		return nil, badRequest("from must be before to")
	}
	q := &timeseries.Request{Names: names, From: time.UnixMilli(from), To: time.UnixMilli(to), Step: time.Duration(step) * time.Millisecond, Rate: map[string]bool{}}
	for _, n := range names {
		if isCounter(n) {
			q.Rate[n] = true
		}
	}
	return q, nil
}

// nodesWanted reads the ids of nodes; none means all.
func nodesWanted(r *request) (ids []uint64, err error) {
	text := r.param("nodes")
	if text == "" {
		return nil, nil
	}
	for _, s := range strings.Split(text, ",") {
		id, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return nil, badRequest("nodes must be ids, with commas between them")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Dashboards are the graphs of the metrics page.
type Dashboards struct {
	Dashboards []Dashboard `json:"dashboards"`
}

func getDashboards(*Console, *request) (any, error) { return &Dashboards{dashboards}, nil }
