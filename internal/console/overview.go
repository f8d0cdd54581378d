package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

const nodeVersion = node.Version

// The states of nodes.
const (
	stateLive            = "live"
	stateSuspect         = "suspect" // it does not answer
	stateDead            = "dead"    // it has not answered for server.time_until_store_dead
	stateUnavailable     = "unavailable"
	stateDraining        = "draining"
	stateDecommissioning = "decommissioning"
	stateDecommissioned  = "decommissioned"
)

// Store is a store of a node, as it told last.
type Store struct {
	ID            uint64  `json:"id"`
	Ranges        int     `json:"ranges"`
	Leaders       int     `json:"leaders"`
	CapacityBytes int64   `json:"capacityBytes"`
	UsedBytes     int64   `json:"usedBytes"` // of the disk
	OwnBytes      int64   `json:"ownBytes"`  // of the store's files
	RequestRate   float64 `json:"requestRate"`
	WriteRate     float64 `json:"writeRate"` // bytes per second
	Disk          string  `json:"disk"`      // ok, slow, full, stalled
}

// NodeInfo is a node.
type NodeInfo struct {
	ID         uint64 `json:"id"`
	State      string `json:"state"`
	SQLAddress string `json:"sqlAddress"`
	// HTTPAddress is where its own console is.
	HTTPAddress string  `json:"httpAddress"`
	Locality    string  `json:"locality"`
	Version     string  `json:"version"`
	StartedAt   int64   `json:"startedAt"`   // milliseconds since 1970; 0: not known
	LastContact int64   `json:"lastContact"` // likewise
	Ranges      int     `json:"ranges"`
	Leaders     int     `json:"leaders"`
	Stores      []Store `json:"stores"`
	// Statements are those of a second, in the last ten seconds; the latencies are in seconds.
	Statements float64 `json:"statements"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	Sessions   int     `json:"sessions"`
	CPU        float64 `json:"cpu"` // processors in use
	Memory     float64 `json:"memoryBytes"`
}

// Totals are those of the cluster.
type Totals struct {
	Statements    float64 `json:"statements"`
	P50           float64 `json:"p50"`
	P99           float64 `json:"p99"`
	Sessions      int     `json:"sessions"`
	CapacityBytes int64   `json:"capacityBytes"`
	UsedBytes     int64   `json:"usedBytes"`
	OwnBytes      int64   `json:"ownBytes"`
	RangeHealth
}

// RangeHealth says how the ranges of the cluster are.
type RangeHealth struct {
	Ranges          int `json:"ranges"`
	Unavailable     int `json:"unavailable"`
	UnderReplicated int `json:"underReplicated"`
	Misplaced       int `json:"misplaced"`
	// RangesKnown is false if the addresses of the ranges can't be read: without a quorum.
	RangesKnown bool `json:"rangesKnown"`
}

// Overview is the state of the cluster.
type Overview struct {
	At       int64      `json:"at"` // milliseconds since 1970
	Totals   Totals     `json:"totals"`
	Nodes    []NodeInfo `json:"nodes"`
	Problems []Problem  `json:"problems"`
}

var errNoCluster = &Error{Status: http.StatusServiceUnavailable, Message: "the node is not part of a cluster yet", Hint: "Run lichen init, once, on any node."}

// getOverview gathers the state of the cluster.
func getOverview(c *Console, r *request) (any, error) {
	n := c.o.Node
	if n.Waiting() {
		return nil, errNoCluster
	}
	out := &Overview{At: time.Now().UnixMilli()}
	var wg sync.WaitGroup
	var health RangeHealth
	var examples []string
	wg.Go(func() { health, examples = c.health(r) })
	var latency obs.Counts
	out.Nodes, latency = c.nodes(r)
	wg.Wait()
	t := &out.Totals
	t.RangeHealth = health
	for i := range out.Nodes {
		t.add(&out.Nodes[i])
	}
	t.P50, t.P99 = latency.Quantile(0.5).Seconds(), latency.Quantile(0.99).Seconds()
	out.Problems = findProblems(&situation{nodes: out.Nodes, health: health, examples: examples, notReady: n.NotReady(), deadAfter: n.Settings.Get().DeadAfter})
	return out, nil
}

// add adds a node to the sums.
func (t *Totals) add(n *NodeInfo) {
	if n.State == stateDecommissioned {
		return
	}
	t.Statements += n.Statements
	t.Sessions += n.Sessions
	for _, s := range n.Stores {
		t.CapacityBytes += s.CapacityBytes
		t.UsedBytes += s.UsedBytes
		t.OwnBytes += s.OwnBytes
	}
}

// nodes returns the nodes of the cluster, and how long the statements of all took.
func (c *Console) nodes(ctx context.Context) ([]NodeInfo, obs.Counts) {
	statuses := c.o.Node.Statuses()
	recent := c.recentOf(ctx, statuses)
	var latency obs.Counts
	out := make([]NodeInfo, len(statuses))
	now, deadAfter := time.Now(), c.o.Node.Settings.Get().DeadAfter
	for i := range statuses {
		out[i] = nodeInfo(&statuses[i], now, deadAfter)
		if p := recent[statuses[i].ID]; p != nil {
			counts := obs.FromSparse(p.Latency)
			latency.Add(&counts)
			out[i].addRecent(p, &counts)
		}
	}
	c.addLoad(out)
	return out, latency
}

// addRecent adds what the node itself tells.
func (n *NodeInfo) addRecent(p *peerRecent, counts *obs.Counts) {
	if p.Seconds > 0 {
		n.Statements = float64(counts.Total()) / p.Seconds
	}
	n.P50, n.P99 = counts.Quantile(0.5).Seconds(), counts.Quantile(0.99).Seconds()
	n.Sessions = int(p.Values["lichen_sql_sessions"])
	n.CPU, n.Memory = p.CPU, p.Values["lichen_process_resident_bytes"]
}

// addLoad adds what the stores have told of their load.
func (c *Console) addLoad(nodes []NodeInfo) {
	known := c.o.Node.KV.Known().Nodes()
	for i := range nodes {
		for j := range nodes[i].Stores {
			s := &nodes[i].Stores[j]
			for k := range known {
				for _, st := range known[k].Stores {
					if uint64(st.ID) == s.ID {
						s.RequestRate, s.WriteRate, s.UsedBytes = st.QPS, st.WriteBytesPerSec, st.UsedBytes
					}
				}
			}
		}
	}
}

// nodeInfo is a node's status as the API tells it.
func nodeInfo(s *node.NodeStatus, now time.Time, deadAfter time.Duration) NodeInfo {
	n := NodeInfo{
		ID: uint64(s.ID), State: nodeState(s, now, deadAfter), SQLAddress: s.SQLAddr, HTTPAddress: s.HTTPAddr, Locality: s.Locality, Version: s.Build,
		StartedAt: unixMilli(s.StartedAt), LastContact: unixMilli(s.UpdatedAt), Ranges: s.Ranges, Leaders: s.Leaders, Stores: []Store{},
	}
	if !s.Live {
		n.Leaders = 0 // others lead them by now, or nobody does
	}
	for _, st := range s.Stores {
		if !s.Live {
			st.Leaders = 0
		}
		n.Stores = append(n.Stores, Store{
			ID: uint64(st.ID), Ranges: st.Ranges, Leaders: st.Leaders, CapacityBytes: st.Capacity, UsedBytes: st.Capacity - st.Available, OwnBytes: st.Used, Disk: diskState(&st),
		})
	}
	return n
}

func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// nodeState is the word for a node's state.
func nodeState(s *node.NodeStatus, now time.Time, deadAfter time.Duration) string {
	switch {
	case s.Membership == node.Decommissioned:
		return stateDecommissioned
	case !s.Live && now.Sub(s.UpdatedAt) > deadAfter:
		return stateDead
	case !s.Live:
		return stateSuspect
	case s.Membership == node.Decommissioning:
		return stateDecommissioning
	case s.Draining:
		return stateDraining
	case !s.Available:
		return stateUnavailable
	}
	return stateLive
}

func diskState(s *node.StoreStatus) string {
	switch {
	case s.Stalled:
		return "stalled"
	case s.Full:
		return "full"
	case s.Slow:
		return "slow"
	}
	return "ok"
}

// rangeCache has the ranges of the cluster, as they were a moment ago: to ask for them takes an answer of every node.
type rangeCache struct {
	mu   sync.Mutex
	at   time.Time
	list []ranges.Info
	err  error
}

const (
	// rangesAge is how old what is told of ranges may be, rangesTimeout bounds the time to gather it.
	rangesAge     = 3 * time.Second
	rangesTimeout = 5 * time.Second
)

// allRanges returns the ranges of the cluster.
func (c *Console) allRanges(ctx context.Context) ([]ranges.Info, error) {
	x := &c.ranges
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.at) < rangesAge {
		return x.list, x.err
	}
	if c.o.Node.SQL.Server() == nil {
		return nil, errNotServing
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rangesTimeout)
	defer cancel()
	x.list, x.err = c.o.Node.SQL.Ranges().Ranges(ctx, keys.ReplicatedSpan())
	x.at = time.Now()
	return x.list, x.err
}

// maxExamples bounds the ranges that a problem names.
const maxExamples = 3

// health counts the ranges that are not as they should be, and describes some.
func (c *Console) health(ctx context.Context) (h RangeHealth, examples []string) {
	list, err := c.allRanges(ctx)
	if err != nil {
		return h, nil
	}
	h.RangesKnown, h.Ranges = true, len(list)
	silent := c.silentNodes()
	for i := range list {
		var unavailable, under, misplaced bool
		var texts []string
		for _, p := range list[i].Problems {
			unavailable = unavailable || p.Unavailable
			under = under || p.UnderReplicated
			misplaced = misplaced || p.Misplaced
			texts = append(texts, p.Text)
		}
		if n, of := votersOn(&list[i].Desc, silent); n > 0 {
			under = true // though its node may come back: nobody replaces it yet
			if len(texts) == 0 {
				texts = append(texts, fmt.Sprintf("%d of its %d voters do not answer", n, of))
			}
		}
		if len(texts) > 0 && len(examples) < maxExamples {
			examples = append(examples, "range "+rangeName(list[i].Desc.RangeID)+": "+strings.Join(texts, ", "))
		}
		count(&h.Unavailable, unavailable)
		count(&h.UnderReplicated, under)
		count(&h.Misplaced, misplaced)
	}
	return h, examples
}

func count(n *int, one bool) {
	if one {
		*n++
	}
}

// silentNodes returns the nodes that do not answer.
func (c *Console) silentNodes() map[kvpb.NodeID]bool {
	out := map[kvpb.NodeID]bool{}
	for _, s := range c.o.Node.Statuses() {
		if !s.Live {
			out[s.ID] = true
		}
	}
	return out
}

// votersOn counts the voters of a range, and those of them on some nodes.
func votersOn(d *kvpb.RangeDescriptor, nodes map[kvpb.NodeID]bool) (on, all int) {
	for _, rep := range d.Replicas {
		if rep.Type.Votes() {
			all++
			count(&on, nodes[rep.Node])
		}
	}
	return on, all
}

func rangeName(id kvpb.RangeID) string { return formatUint(uint64(id)) }
