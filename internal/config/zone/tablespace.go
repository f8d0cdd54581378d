package zone

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// placement is what a tablespace of YugabyteDB says about its replicas.
type placement struct {
	Replicas int              `json:"num_replicas"`
	Blocks   []placementBlock `json:"placement_blocks"`
}

// placementBlock asks for some of the replicas in one place; "*" is any.
type placementBlock struct {
	Cloud   string `json:"cloud"`
	Region  string `json:"region"`
	Zone    string `json:"zone"`
	Min     int    `json:"min_num_replicas"`
	Leaders int    `json:"leader_preference"` // 1 before 2; 0: as good as any
}

// tiers returns the block's place as constraints.
func (b *placementBlock) tiers() []Constraint {
	var out []Constraint
	for _, t := range [...]Constraint{{Key: "cloud", Value: b.Cloud}, {Key: "region", Value: b.Region}, {Key: "zone", Value: b.Zone}} {
		if t.Value != "" && t.Value != "*" {
			out = append(out, t)
		}
	}
	return out
}

// FromPlacement reads the replica_placement of a tablespace, which is JSON.
func FromPlacement(text string) (Config, error) {
	var p placement
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Config{}, fmt.Errorf("replica_placement is not as expected: %w", err)
	}
	if p.Replicas < 1 || len(p.Blocks) == 0 || len(p.Blocks) > MaxConstraints {
		return Config{}, fmt.Errorf("replica_placement needs num_replicas and 1 to %d placement_blocks", MaxConstraints)
	}
	c := Config{NumReplicas: ptr(p.Replicas), Constraints: []Conjunction{}, LeasePreferences: [][]Constraint{}}
	total := 0
	for i := range p.Blocks {
		b := &p.Blocks[i]
		if b.Min < 1 {
			return Config{}, fmt.Errorf("min_num_replicas of a placement block must be 1 or more")
		}
		if total += b.Min; total > p.Replicas {
			return Config{}, fmt.Errorf("num_replicas is %d, the placement blocks ask for more", p.Replicas)
		}
		tiers := b.tiers()
		for _, t := range tiers {
			if err := checkTier(t.Value); err != nil {
				return Config{}, err
			}
		}
		if len(tiers) > 0 {
			c.Constraints = append(c.Constraints, Conjunction{NumReplicas: b.Min, Constraints: tiers})
		}
	}
	preferred := slices.DeleteFunc(slices.Clone(p.Blocks), func(b placementBlock) bool { return b.Leaders < 1 || len(b.tiers()) == 0 })
	slices.SortStableFunc(preferred, func(a, b placementBlock) int { return a.Leaders - b.Leaders })
	for i := range preferred {
		c.LeasePreferences = append(c.LeasePreferences, preferred[i].tiers())
	}
	return c, nil
}
