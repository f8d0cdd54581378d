package zone

import "testing"

func TestFromPlacement(t *testing.T) {
	c, err := FromPlacement(`{"num_replicas": 3, "placement_blocks": [
		{"cloud": "aws", "region": "eu", "zone": "a", "min_num_replicas": 1, "leader_preference": 2},
		{"cloud": "aws", "region": "eu", "zone": "*", "min_num_replicas": 2, "leader_preference": 1}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"num_replicas":      "3",
		"constraints":       `'{"+cloud=aws,+region=eu,+zone=a": 1, "+cloud=aws,+region=eu": 2}'`,
		"lease_preferences": `'[[+cloud=aws, +region=eu], [+cloud=aws, +region=eu, +zone=a]]'`,
	}
	for _, s := range c.Settings() {
		if s.Literal != want[s.Name] {
			t.Errorf("%s = %s, want %s", s.Name, s.Literal, want[s.Name])
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("not set: %v", want)
	}
	for _, bad := range []string{
		``, `[]`, `{"num_replicas": 3}`, `{"num_replicas": 1, "placement_blocks": []}`, `{"nope": 1}`,
		`{"num_replicas": 1, "placement_blocks": [{"region": "a", "min_num_replicas": 2}]}`,
		`{"num_replicas": 1, "placement_blocks": [{"region": "a"}]}`,
		`{"num_replicas": 1, "placement_blocks": [{"region": "a,b", "min_num_replicas": 1}]}`,
	} {
		if _, err := FromPlacement(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
