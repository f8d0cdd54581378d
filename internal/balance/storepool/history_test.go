package storepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/balance/placement"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// TestHistory runs testdata/history: each line is a time, whether the node is heard of then, and
// what it says of itself; the output adds the state of its stores.
func TestHistory(t *testing.T) {
	datadriven.RunTest(t, "testdata/history", func(t *testing.T, d *datadriven.TestData) string {
		var h *history
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line)
			past, err := time.ParseDuration(f[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			now := time.Unix(0, 0).Add(past)
			i, live := liveness.NodeInfo{ID: 2}, f[1] == "live"
			for _, word := range f[2:] {
				switch {
				case word == "draining":
					i.Draining = true
				case word == "removed":
					i.Removed = true
				default:
					if _, err := fmt.Sscanf(word, "seq=%d", &i.Seq); err != nil {
						d.Fatalf(t, "%q: %v", word, err)
					}
				}
			}
			if h == nil {
				h = &history{live: live, since: now}
			}
			h.observe(&i, live, now, now)
			fmt.Fprintf(&out, "%s: %s since %v, measured %v\n", strings.TrimSpace(line), stateNames[h.state(i.Removed, now)], sinceStart(h.since), sinceStart(h.measured))
		}
		return out.String()
	})
}

var stateNames = map[placement.State]string{placement.Live: "live", placement.Suspect: "suspect", placement.Down: "down", placement.Gone: "gone"}

func sinceStart(t time.Time) time.Duration { return t.Sub(time.Unix(0, 0)) }

// TestLost runs testdata/lost: descriptors name stores as node:store, and "stores" asks which are
// lost while some are told of, as node:store too.
func TestLost(t *testing.T) {
	var n namedStores
	now := time.Unix(0, 0)
	datadriven.RunTest(t, "testdata/lost", func(t *testing.T, d *datadriven.TestData) string {
		var node kvpb.NodeID
		var id kvpb.StoreID
		var reported []placement.Store
		removed := map[kvpb.NodeID]bool{}
		desc := &kvpb.RangeDescriptor{}
		for _, word := range strings.Fields(d.Input) {
			word, gone := strings.CutSuffix(word, "/gone")
			if _, err := fmt.Sscanf(word, "%d:%d", &node, &id); err != nil {
				d.Fatalf(t, "%q: %v", word, err)
			}
			desc.Replicas = append(desc.Replicas, kvpb.ReplicaDescriptor{Node: node, Store: id})
			s := placement.Store{ID: id, Node: node}
			if gone {
				s.State = placement.Gone
				removed[node] = true
			}
			reported = append(reported, s)
		}
		if d.Cmd == "named" {
			n.note(desc)
			return ""
		}
		now = now.Add(time.Second)
		var out strings.Builder
		for _, s := range n.appendLost(reported, removed, now)[len(reported):] {
			fmt.Fprintf(&out, "store %d of node %d: %s since %v\n", s.ID, s.Node, stateNames[s.State], sinceStart(s.Since))
		}
		return out.String()
	})
}

// TestDistance: a tier that differs counts more than any round trip, an unknown round trip as a
// long one.
func TestDistance(t *testing.T) {
	near := Distance("region=a,zone=1", "region=a,zone=1", 500*time.Millisecond, true)
	unknown := Distance("region=a,zone=1", "region=a,zone=1", 0, false)
	zone := Distance("region=a,zone=1", "region=a,zone=2", time.Millisecond, true)
	region := Distance("region=a,zone=1", "region=b,zone=1", time.Millisecond, true)
	if near >= unknown || unknown >= zone || zone >= region {
		t.Errorf("distances %d, %d, %d, %d do not rise", near, unknown, zone, region)
	}
}
