package zone

import "time"

// Config is a zone configuration as CONFIGURE ZONE sets it. A nil field or slice is
// inherited from the zone above: index, table, database, default. An empty slice
// that is not nil says that there is none.
type Config struct {
	NumReplicas      *int
	NumVoters        *int // not set: all replicas vote
	Constraints      []Conjunction
	VoterConstraints []Conjunction
	LeasePreferences [][]Constraint // the first that can be met wins
	RangeMaxBytes    *int64
	RangeMinBytes    *int64
	GCTTL            *time.Duration
}

// Constraint names stores: those with (or, if Prohibited, without) the attribute
// Value of the locality tier Key.
type Constraint struct {
	Prohibited bool
	Key, Value string
}

// Conjunction asks that NumReplicas replicas (0: all) lie on stores that meet all
// constraints.
type Conjunction struct {
	NumReplicas int
	Constraints []Constraint
}

// IsEmpty reports whether the configuration inherits everything.
func (c *Config) IsEmpty() bool {
	for _, f := range fields {
		if f.isSet(c) {
			return false
		}
	}
	return true
}

// Voters returns how many replicas of a resolved configuration vote.
func (c *Config) Voters() int {
	if c.NumVoters != nil {
		return *c.NumVoters
	}
	return *c.NumReplicas
}
