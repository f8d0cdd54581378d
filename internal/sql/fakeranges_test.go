package sql_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// fakeRanges keeps the boundaries between ranges, and nothing else: three nodes hold
// every range, the leader moves on with the number of scatters.
type fakeRanges struct {
	mu       sync.Mutex
	starts   [][]byte
	ids      map[string]kvpb.RangeID
	until    map[string]hlc.Timestamp
	scatters map[string]int
	fail     bool
}

func newFakeRanges() *fakeRanges {
	first := keys.ReplicatedSpan().Start
	return &fakeRanges{
		starts: [][]byte{first}, ids: map[string]kvpb.RangeID{string(first): 1},
		until: map[string]hlc.Timestamp{}, scatters: map[string]int{},
	}
}

// problems are those of every third range.
func (f *fakeRanges) problems(i int) []ranges.Problem {
	if i%3 != 1 {
		return nil
	}
	return []ranges.Problem{{UnderReplicated: true, Text: "has 2 of 3 voters"}, {Text: "s3 is dead"}}
}

func (f *fakeRanges) Ranges(_ context.Context, span keys.Span) ([]ranges.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, start := range f.starts { // splits come in any order
		if f.ids[string(start)] == 0 {
			f.ids[string(start)] = kvpb.RangeID(len(f.ids) + 1)
		}
	}
	var out []ranges.Info
	for i, start := range f.starts {
		end := keys.ReplicatedSpan().End
		if i+1 < len(f.starts) {
			end = f.starts[i+1]
		}
		if !span.Overlaps(keys.Span{Start: start, End: end}) {
			continue
		}
		out = append(out, ranges.Info{
			Desc: kvpb.RangeDescriptor{RangeID: f.ids[string(start)], StartKey: start, EndKey: end, Replicas: []kvpb.ReplicaDescriptor{
				{Node: 1, Store: 1, Replica: 1}, {Node: 2, Store: 2, Replica: 2}, {Node: 3, Store: 3, Replica: 3},
				{Node: 3, Store: 4, Replica: 4, Type: kvpb.Learner},
			}},
			Leader:     kvpb.StoreID(f.scatters[string(start)]%3 + 1),
			SizeBytes:  int64(i+1) * 1_500_000,
			Localities: map[kvpb.NodeID]string{1: "region=eu,zone=a", 2: "region=eu,zone=b", 3: "region=us,zone=c"},
			SplitUntil: f.until[string(start)],
			Survives:   []ranges.Tolerance{{Of: "node", Any: 1}, {Of: "region", Weakest: "region=eu"}},
			Problems:   f.problems(i),
		})
	}
	return out, nil
}

var errFake = errors.New("no quorum")

func (f *fakeRanges) SplitAt(_ context.Context, key []byte, until hlc.Timestamp) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail {
		return errFake
	}
	key = slices.Clone(key)
	i, found := slices.BinarySearchFunc(f.starts, key, bytes.Compare)
	if !found {
		f.starts = slices.Insert(f.starts, i, key)
	}
	f.until[string(key)] = until
	return nil
}

// Unsplit merges at once, as the true one does some time.
func (f *fakeRanges) Unsplit(_ context.Context, key []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, found := slices.BinarySearchFunc(f.starts, key, bytes.Compare)
	if found && !f.until[string(key)].IsEmpty() {
		f.starts = slices.Delete(f.starts, i, i+1)
	}
	delete(f.until, string(key))
	return nil
}

func (f *fakeRanges) Scatter(_ context.Context, span keys.Span) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, start := range f.starts {
		if span.Contains(start) {
			f.scatters[string(start)]++
		}
	}
	return nil
}

func (f *fakeRanges) Size(context.Context, keys.Span) (int64, error) { return 1000, nil }

func (f *fakeRanges) Nodes(context.Context) ([]ranges.Node, error) {
	return []ranges.Node{
		{ID: 1, Stores: []kvpb.StoreID{1}, Locality: "region=eu,zone=a"},
		{ID: 2, Stores: []kvpb.StoreID{2}, Locality: "region=eu,zone=b"},
		{ID: 3, Stores: []kvpb.StoreID{3, 4}, Locality: "region=us,zone=c"},
	}, nil
}
