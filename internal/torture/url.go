package torture

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// URLOptions say what to do to a database that is there already.
type URLOptions struct {
	URL      string // of PostgreSQL or anything that speaks its protocol
	Dir      string // for the history, if there is a violation
	Duration time.Duration
	Seed     uint64
	Clients  int // of the load of single rows, three times
	Keep     bool
	Progress io.Writer
}

// RunURL puts the load on a database, without faults, and judges what clients saw. It
// makes tables whose names begin with torture_, and removes them unless told to keep
// them.
func RunURL(ctx context.Context, o URLOptions) (rep *Report, err error) {
	rep = &Report{}
	node := &Node{url: o.URL}
	t := &test{
		o:   Options{Cluster: ClusterOptions{Dir: o.Dir}, Seed: o.Seed, Clients: o.Clients, Progress: o.Progress},
		c:   &Cluster{Links: NewLinks(), Nodes: []*Node{node}},
		rng: rand.New(rand.NewPCG(o.Seed, 1)),
	}
	defer t.c.Destroy()
	if _, err := node.query(ctx, schema(false)); err != nil {
		return rep, fmt.Errorf("making tables (if they are there from another run: %s): %w", dropSchema, err)
	}
	if !o.Keep {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
			defer cancel()
			if _, derr := node.query(ctx, dropSchema); derr != nil && err == nil {
				err = fmt.Errorf("removing the tables: %w", derr)
			}
		}()
	}
	s := &Scenario{Name: "url", About: "the load alone", play: func(ctx context.Context, s *stage) error {
		return s.watchWithin(ctx, time.Now(), o.Duration, 0, "the load runs")
	}}
	res, err := t.play(ctx, s, time.Time{})
	if res != nil {
		res.Events = 0
		rep.Results = append(rep.Results, res)
	}
	return rep, err
}
