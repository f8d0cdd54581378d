package console

import (
	"math"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// RangeInfo is a range.
type RangeInfo struct {
	ID uint64 `json:"id"`
	// Start and End are its keys, as SHOW CLUSTER RANGES prints them.
	Start    string        `json:"start"`
	End      string        `json:"end"`
	Bytes    int64         `json:"bytes"`
	Leader   uint64        `json:"leader"` // the node; 0: none is known
	Rate     float64       `json:"rate"`   // requests per second
	Replicas []ReplicaInfo `json:"replicas"`
	Problems []string      `json:"problems"`
}

// ReplicaInfo is a replica of a range.
type ReplicaInfo struct {
	Node     uint64 `json:"node"`
	Store    uint64 `json:"store"`
	Votes    bool   `json:"votes"`
	Leads    bool   `json:"leads"`
	Locality string `json:"locality"`
}

// Ranges are ranges of the cluster.
type Ranges struct {
	Ranges []RangeInfo `json:"ranges"`
	// Total is how many there are.
	Total int `json:"total"`
}

// maxRanges bounds the ranges of an answer.
const maxRanges = 5000

// getRanges returns the ranges that serve most requests, or those with problems, or those of a text in their keys.
func getRanges(c *Console, r *request) (any, error) {
	most, err := r.number("limit", 200, 1, maxRanges)
	if err != nil {
		return nil, err
	}
	list, err := c.allRanges(r)
	if err != nil {
		return nil, err
	}
	names, err := c.rangeKeys(r)
	if err != nil {
		return nil, err
	}
	text, onlyBad := strings.ToLower(r.param("search")), r.param("problems") == "true"
	node, err := r.number("node", 0, 1, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	out := make([]RangeInfo, 0, len(list))
	for i := range list {
		x := rangeInfo(&list[i], names)
		if onlyBad && len(x.Problems) == 0 || text != "" && !strings.Contains(strings.ToLower(x.Start+" "+x.End+" "+formatUint(x.ID)), text) {
			continue
		}
		if node != 0 && !slices.ContainsFunc(x.Replicas, func(rep ReplicaInfo) bool { return rep.Node == uint64(node) }) {
			continue
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b RangeInfo) int {
		switch {
		case a.Rate > b.Rate:
			return -1
		case a.Rate < b.Rate:
			return 1
		}
		return 0
	})
	return &Ranges{Ranges: out[:min(len(out), int(most))], Total: len(list)}, nil
}

// rangeKeys returns the keys of ranges as SQL prints them for the user: the rows in them are for who may read their tables.
func (c *Console) rangeKeys(r *request) (map[int64][2]string, error) {
	out := map[int64][2]string{}
	err := c.use(r, r.login, defaultDatabase, func(s *sql.Session) error {
		found, err := runIn(r, s, "SHOW CLUSTER RANGES", maxRows)
		if err != nil {
			return err
		}
		found.each(func(x row) { out[x.int("range_id")] = [2]string{x.text("start_key"), x.text("end_key")} })
		return nil
	})
	return out, err
}

func rangeInfo(i *ranges.Info, names map[int64][2]string) RangeInfo {
	x := RangeInfo{ID: uint64(i.Desc.RangeID), Bytes: i.SizeBytes, Rate: i.QPS, Problems: []string{}, Replicas: []ReplicaInfo{}}
	x.Start, x.End = names[int64(i.Desc.RangeID)][0], names[int64(i.Desc.RangeID)][1]
	for _, rep := range i.Desc.Replicas {
		leads := rep.Store == i.Leader && i.Leader != 0
		if leads {
			x.Leader = uint64(rep.Node)
		}
		x.Replicas = append(x.Replicas, ReplicaInfo{
			Node: uint64(rep.Node), Store: uint64(rep.Store), Votes: rep.Type.Votes(), Leads: leads, Locality: i.Localities[rep.Node],
		})
	}
	for _, p := range i.Problems {
		x.Problems = append(x.Problems, p.Text)
	}
	return x
}
