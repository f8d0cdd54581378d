package zone

import (
	"errors"
	"fmt"
	"time"
)

// Limits of a configuration.
const (
	MaxReplicas = 9
	// MinRangeMaxBytes bounds range_max_bytes from below: smaller ranges would
	// cost more to keep than they hold.
	MinRangeMaxBytes = 64 << 10
	// MaxRangeMaxBytes bounds it from above: a range is copied as a whole.
	MaxRangeMaxBytes = 64 << 30
	// MaxGCTTL bounds how long old versions are kept.
	MaxGCTTL = 10 * 365 * 24 * time.Hour
	// MaxConstraints bounds the constraints of one field, and the lengths of the
	// lists within.
	MaxConstraints = 64
	// MaxTierLen bounds the key and the value of a constraint.
	MaxTierLen = 128
)

// Default is the configuration of a cluster in which nothing was set.
func Default() Config {
	return Config{
		NumReplicas: ptr(3), Constraints: []Conjunction{}, VoterConstraints: []Conjunction{},
		LeasePreferences: [][]Constraint{}, RangeMaxBytes: ptr(int64(512 << 20)), RangeMinBytes: ptr(int64(128 << 20)),
		GCTTL: ptr(600 * time.Second),
	}
}

func ptr[T any](v T) *T { return &v }

// Resolve fills what a configuration leaves open from those above it, and at last
// from Default. The chain begins with the most specific one. Only NumVoters may
// stay nil.
func Resolve(chain ...Config) Config {
	var out Config
	for i := range chain {
		out.inherit(&chain[i])
	}
	d := Default()
	out.inherit(&d)
	return out
}

// inherit takes from parent what c does not set. NumVoters belongs to the
// NumReplicas beside it: who sets the number of replicas alone wants them to vote.
func (c *Config) inherit(parent *Config) {
	if c.NumReplicas == nil && c.NumVoters == nil {
		c.NumVoters = parent.NumVoters
	}
	for _, f := range fields {
		if f.name != numVoters && !f.isSet(c) {
			f.copy(c, parent)
		}
	}
}

// Validate checks a resolved configuration.
func (c *Config) Validate() error {
	if c.NumReplicas == nil || c.RangeMaxBytes == nil || c.RangeMinBytes == nil || c.GCTTL == nil {
		return errors.New("the configuration is not complete")
	}
	switch n := *c.NumReplicas; {
	case n < 1 || n > MaxReplicas:
		return fmt.Errorf("num_replicas must be 1, 3, 5, 7 or 9, not %d", n)
	case c.NumVoters == nil && n%2 == 0:
		return fmt.Errorf("num_replicas must be 1, 3, 5, 7 or 9, not %d: an even number survives no more failures", n)
	}
	if n := c.Voters(); n < 1 || n%2 == 0 {
		return fmt.Errorf("num_voters must be 1, 3, 5, 7 or 9, not %d", n)
	} else if n > *c.NumReplicas {
		return fmt.Errorf("num_voters is %d, more than num_replicas, %d", n, *c.NumReplicas)
	}
	if err := c.validateSizes(); err != nil {
		return err
	}
	if err := validateCounts("constraints", c.Constraints, "num_replicas", *c.NumReplicas); err != nil {
		return err
	}
	return validateCounts("voter_constraints", c.VoterConstraints, "num_voters", c.Voters())
}

func (c *Config) validateSizes() error {
	switch lo, hi := *c.RangeMinBytes, *c.RangeMaxBytes; {
	case hi < MinRangeMaxBytes || hi > MaxRangeMaxBytes:
		return fmt.Errorf("range_max_bytes must be between %d and %d, not %d", int64(MinRangeMaxBytes), int64(MaxRangeMaxBytes), hi)
	case lo < 0:
		return fmt.Errorf("range_min_bytes must not be negative")
	case lo >= hi:
		return fmt.Errorf("range_min_bytes, %d, must be less than range_max_bytes, %d", lo, hi)
	}
	if ttl := *c.GCTTL; ttl < time.Second || ttl > MaxGCTTL || ttl%time.Second != 0 {
		return fmt.Errorf("gc.ttlseconds must be between 1 and %d", int64(MaxGCTTL/time.Second))
	}
	return nil
}

// validateCounts checks that no more replicas are asked for than there are.
func validateCounts(field string, list []Conjunction, limitName string, limit int) error {
	sum := 0
	for _, c := range list {
		if c.NumReplicas < 0 {
			return fmt.Errorf("%s asks for %d replicas", field, c.NumReplicas)
		}
		if sum += c.NumReplicas; sum > limit {
			return fmt.Errorf("%s asks for more replicas than %s, %d", field, limitName, limit)
		}
	}
	return nil
}
