package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/console"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/timeseries"
)

// metricsDir is the directory in the first store that has the metrics of the past.
const metricsDir = "metrics"

// sampler takes the node's metrics every timeseries.Step, keeps them, and notices nodes that come and go.
type sampler struct {
	n      *Node
	stop   chan struct{}
	once   sync.Once
	ended  sync.WaitGroup
	db     *timeseries.DB // nil: they are not kept
	failed bool           // the last metrics could not be written

	mu      sync.Mutex
	recent  console.Recent
	before  map[string]float64
	latency obs.Counts // of all statements until recent

	states map[kvpb.NodeID]nodeSeen
}

// nodeSeen is how a node was when the sampler looked last.
type nodeSeen struct {
	live       bool
	membership node.Membership
}

func newSampler(n *Node) *sampler { return &sampler{n: n, stop: make(chan struct{})} }

// start begins to take metrics. Where they can't be kept, only the present ones are there.
func (s *sampler) start() {
	o := timeseries.Options{FS: s.n.fs, Dir: s.n.fs.PathJoin(s.n.cfg.Dirs()[0], metricsDir)}
	db, err := timeseries.Open(o)
	if err != nil {
		s.n.log.Warn("metrics are not kept", "err", err)
	} else {
		s.mu.Lock()
		s.db = db
		s.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.ended.Go(func() {
		<-s.stop
		cancel()
	})
	s.ended.Go(func() { s.n.events.Run(ctx) })
	s.ended.Go(func() {
		t := time.NewTicker(timeseries.Step)
		defer t.Stop()
		s.take(time.Now())
		for {
			select {
			case <-s.stop:
				return
			case at := <-t.C:
				s.take(at)
			}
		}
	})
}

// end ends it, and waits until nothing of it asks the stores any more.
func (s *sampler) end() {
	s.once.Do(func() {
		close(s.stop)
		s.ended.Wait()
		if db := s.history(); db != nil {
			if err := db.Close(); err != nil {
				s.n.log.Warn("the file of metrics was not closed", "err", err)
			}
		}
	})
}

// history returns the metrics of the past, nil if they are not kept.
func (s *sampler) history() *timeseries.DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.db
}

// last returns the metrics that were taken last.
func (s *sampler) last() console.Recent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recent
}

// take takes the metrics.
func (s *sampler) take(at time.Time) {
	values := s.n.allMetrics()
	totals := s.n.SQL.Server().Statements().Totals()
	s.mu.Lock()
	r := console.Recent{At: at, Values: values, Latency: totals.Latency.Since(&s.latency)}
	if s.before != nil {
		r.Per = at.Sub(s.recent.At)
		values["lichen_process_cpus"] = max(values["lichen_process_cpu_seconds_total"]-s.before["lichen_process_cpu_seconds_total"], 0) / r.Per.Seconds()
	}
	values["lichen_sql_statement_p50_seconds"] = r.Latency.Quantile(0.5).Seconds()
	values["lichen_sql_statement_p99_seconds"] = r.Latency.Quantile(0.99).Seconds()
	s.recent, s.before, s.latency = r, values, totals.Latency
	db := s.db
	s.mu.Unlock()
	s.keep(db, at, values)
	s.watchNodes()
}

// keep writes metrics. A disk that can't take them is told of once.
func (s *sampler) keep(db *timeseries.DB, at time.Time, values map[string]float64) {
	if db == nil {
		return
	}
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	slices.Sort(names)
	row := make([]float64, len(names))
	for i, n := range names {
		row[i] = values[n]
	}
	err := db.Append(at, names, row)
	if err != nil && !s.failed {
		s.n.log.Warn("metrics were not kept", "err", err)
	}
	s.failed = err != nil
}

// watchNodes tells of nodes that have come and gone, if this is the one of the live nodes that is to tell.
func (s *sampler) watchNodes() {
	statuses := s.n.Statuses()
	first := kvpb.NodeID(0)
	for i := range statuses {
		if st := &statuses[i]; st.Live && st.Membership == node.Active && (first == 0 || st.ID < first) {
			first = st.ID
		}
	}
	seen := map[kvpb.NodeID]nodeSeen{}
	for i := range statuses {
		st := &statuses[i]
		now := nodeSeen{st.Live, st.Membership}
		seen[st.ID] = now
		was, known := s.states[st.ID]
		if s.states != nil && first == s.n.NodeID() && st.ID != first {
			s.tell(st, was, now, known)
		}
	}
	s.states = seen
}

// tell tells what has become of another node.
func (s *sampler) tell(st *node.NodeStatus, was, now nodeSeen, known bool) {
	name := "node " + nodeName(st.ID)
	add := func(kind, text string) { s.n.events.Add(eventlog.Event{Kind: kind, Text: text}) }
	switch {
	case !known:
		add(eventlog.NodeJoined, name+" at "+st.Addr+" is part of the cluster")
		return
	case was.live && !now.live && now.membership != node.Decommissioned:
		add(eventlog.NodeSilent, name+" does not answer")
	case !was.live && now.live:
		add(eventlog.NodeBack, name+" answers again")
	}
	if was.membership != now.membership {
		add(eventlog.NodeMembership, name+" is "+string(now.membership))
	}
}
