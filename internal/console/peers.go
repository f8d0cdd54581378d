package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/sql/diag"
	"github.com/lichendb/lichen/internal/timeseries"
)

// methodConsole is what the console of a node asks another.
const methodConsole = rpc.MethodConsole

const (
	// peerTimeout bounds the wait for another node, logTimeout that for its log.
	peerTimeout = 2 * time.Second
	logTimeout  = 10 * time.Second
	// maxLog bounds what is told of a log.
	maxLog = 512 << 10
)

// peerRequest asks for one of these.
type peerRequest struct {
	Recent bool                `json:",omitempty"`
	Series *timeseries.Request `json:",omitempty"`
	Log    bool                `json:",omitempty"`
	// Configuration asks how the node was started.
	Configuration bool `json:",omitempty"`
	// Bundles asks for the bundles of statements, Bundle for what one of them has.
	Bundles bool   `json:",omitempty"`
	Bundle  string `json:",omitempty"`
}

// peerRecent are a node's Recent as they travel.
type peerRecent struct {
	Values  map[string]float64
	Latency []uint64
	Seconds float64
	CPU     float64
}

// peerAnswer is the answer.
type peerAnswer struct {
	Recent *peerRecent `json:",omitempty"`
	Series *peerSeries `json:",omitempty"`
	Log    string      `json:",omitempty"`

	Bundles []*diag.Bundle `json:",omitempty"`

	Configuration []NodeOption `json:",omitempty"`
}

// peerSeries are the points of a time span; nil where there is none.
type peerSeries struct {
	From   int64 // milliseconds since 1970
	Step   int64 // milliseconds
	Names  []string
	Values [][]*float64
}

// handlePeers has the node answer.
func (c *Console) handlePeers() {
	c.o.Node.RPC.Handle(methodConsole, func(ctx context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) {
		var q peerRequest
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, err
		}
		a, err := c.answerPeer(ctx, &q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
}

// answerPeer answers for this node.
func (c *Console) answerPeer(ctx context.Context, q *peerRequest) (*peerAnswer, error) {
	a := &peerAnswer{}
	if q.Recent {
		r := c.o.Recent()
		a.Recent = &peerRecent{Values: finite(r.Values), Latency: r.Latency.Sparse(), Seconds: r.Per.Seconds(), CPU: r.Values["lichen_process_cpus"]}
	}
	if q.Series != nil {
		db := c.o.History()
		if db == nil {
			return nil, errors.New("the node keeps no metrics")
		}
		found, err := db.Query(ctx, *q.Series)
		if err != nil {
			return nil, err
		}
		a.Series = &peerSeries{From: found.From.UnixMilli(), Step: found.Step.Milliseconds()}
		for _, s := range found.Series {
			a.Series.Names = append(a.Series.Names, s.Name)
			a.Series.Values = append(a.Series.Values, nullable(s.Values))
		}
	}
	if srv := c.o.Node.SQL.Server(); (q.Bundles || q.Bundle != "") && srv != nil {
		for _, b := range srv.Diagnostics() {
			if one := *b; q.Bundles || b.ID == q.Bundle {
				if q.Bundles {
					one.Zip = nil
				}
				a.Bundles = append(a.Bundles, &one)
			}
		}
	}
	if q.Configuration {
		a.Configuration = c.o.Configuration()
	}
	if q.Log {
		if c.o.Log == nil {
			return nil, errors.New("the node writes no log file")
		}
		var err error
		if a.Log, err = c.o.Log(maxLog); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// finite leaves out what JSON can't tell.
func finite(m map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[k] = v
		}
	}
	return out
}

func nullable(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i := range values {
		if !math.IsNaN(values[i]) && !math.IsInf(values[i], 0) {
			out[i] = &values[i]
		}
	}
	return out
}

// ask asks a node, which may be this one.
func (c *Console) ask(ctx context.Context, id kvpb.NodeID, q *peerRequest, timeout time.Duration) (*peerAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if id == c.o.Node.NodeID() {
		return c.answerPeer(ctx, q)
	}
	req, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	p, err := c.o.Node.RPC.Call(ctx, id, methodConsole, req)
	if err != nil {
		return nil, err
	}
	a := &peerAnswer{}
	return a, json.Unmarshal(p, a)
}

// askAll asks the nodes that live; who does not answer is left out.
func (c *Console) askAll(ctx context.Context, ids []kvpb.NodeID, q *peerRequest) map[kvpb.NodeID]*peerAnswer {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[kvpb.NodeID]*peerAnswer{}
	for _, id := range ids {
		wg.Go(func() {
			a, err := c.ask(ctx, id, q, peerTimeout)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = a
		})
	}
	wg.Wait()
	return out
}

// recentOf asks the nodes that live for their metrics.
func (c *Console) recentOf(ctx context.Context, nodes []node.NodeStatus) map[kvpb.NodeID]*peerRecent {
	out := map[kvpb.NodeID]*peerRecent{}
	for id, a := range c.askAll(ctx, living(nodes), &peerRequest{Recent: true}) {
		if a.Recent != nil {
			out[id] = a.Recent
		}
	}
	return out
}

// living returns the ids of the nodes that live.
func living(nodes []node.NodeStatus) (ids []kvpb.NodeID) {
	for i := range nodes {
		if nodes[i].Live {
			ids = append(ids, nodes[i].ID)
		}
	}
	return ids
}

// NodeDetail is all about a node.
type NodeDetail struct {
	NodeInfo
	// Values are its metrics, by name.
	Values map[string]float64 `json:"values"`
	// Configuration is how it was started; only superusers are told.
	Configuration []NodeOption `json:"configuration"`
}

// NodeOption is a flag of a node, or what holds where it was not given.
type NodeOption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// nodeOf returns the status of the node that a request names.
func (c *Console) nodeOf(r *request) (*node.NodeStatus, error) {
	id, err := r.number("id", 0, 1, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	for _, s := range c.o.Node.Statuses() {
		if int64(s.ID) == id {
			return &s, nil
		}
	}
	return nil, notFound("there is no node %d in this cluster", id)
}

func getNode(c *Console, r *request) (any, error) {
	s, err := c.nodeOf(r)
	if err != nil {
		return nil, err
	}
	all, _ := c.nodes(r)
	out := &NodeDetail{Values: map[string]float64{}, Configuration: []NodeOption{}}
	for i := range all {
		if all[i].ID == uint64(s.ID) {
			out.NodeInfo = all[i]
		}
	}
	if s.Live {
		if a, err := c.ask(r, s.ID, &peerRequest{Recent: true, Configuration: r.login.super}, peerTimeout); err == nil {
			if a.Recent != nil {
				out.Values = a.Recent.Values
			}
			out.Configuration = append(out.Configuration, a.Configuration...)
		}
	}
	return out, nil
}

// NodeLog is the end of a node's log.
type NodeLog struct {
	Text string `json:"text"`
}

func getLog(c *Console, r *request) (any, error) {
	s, err := c.nodeOf(r)
	if err != nil {
		return nil, err
	}
	a, err := c.ask(r, s.ID, &peerRequest{Log: true}, logTimeout)
	if err != nil {
		return nil, &Error{Status: http.StatusBadGateway, Message: fmt.Sprintf("the log of node %d can't be had: %v", s.ID, err)}
	}
	return &NodeLog{a.Log}, nil
}
