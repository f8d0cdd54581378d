package zone

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const numVoters = "num_voters"

// field is a field of Config as SQL names it.
type field struct {
	name  string
	isSet func(*Config) bool
	copy  func(dst, src *Config)
	parse func(c *Config, text string) error
	text  func(*Config) string // SQL literal of a field that is set
}

// fields are all fields in the order in which they are printed. It is not changed.
var fields = []*field{
	sizeField("range_min_bytes", func(c *Config) **int64 { return &c.RangeMinBytes }),
	sizeField("range_max_bytes", func(c *Config) **int64 { return &c.RangeMaxBytes }),
	ttlField("gc.ttlseconds"),
	countField("num_replicas", func(c *Config) **int { return &c.NumReplicas }),
	countField(numVoters, func(c *Config) **int { return &c.NumVoters }),
	constraintsField("constraints", func(c *Config) *[]Conjunction { return &c.Constraints }),
	constraintsField("voter_constraints", func(c *Config) *[]Conjunction { return &c.VoterConstraints }),
	preferencesField("lease_preferences"),
}

func fieldNamed(name string) (*field, error) {
	var known []string
	for _, f := range fields {
		if f.name == name {
			return f, nil
		}
		known = append(known, f.name)
	}
	return nil, fmt.Errorf("unknown zone variable %q; there are %s", name, strings.Join(known, ", "))
}

// Known returns an error that names the fields there are unless name is one.
func Known(name string) error {
	_, err := fieldNamed(name)
	return err
}

// Set sets a field from its text: a number, a size ("64MiB"), constraints.
func (c *Config) Set(name, text string) error {
	f, err := fieldNamed(name)
	if err != nil {
		return err
	}
	if err := f.parse(c, text); err != nil {
		return fmt.Errorf("invalid value for %s: %w", name, err)
	}
	return nil
}

// Copy sets a field to what it is in another configuration.
func (c *Config) Copy(name string, from *Config) error {
	f, err := fieldNamed(name)
	if err == nil {
		f.copy(c, from)
	}
	return err
}

// Setting is a field that is set, with its value as an SQL literal.
type Setting struct{ Name, Literal string }

// Settings returns the fields that are set.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, f := range fields {
		if f.isSet(c) {
			out = append(out, Setting{f.name, f.text(c)})
		}
	}
	return out
}

func countField(name string, at func(*Config) **int) *field {
	return &field{
		name:  name,
		isSet: func(c *Config) bool { return *at(c) != nil },
		copy:  func(dst, src *Config) { *at(dst) = clone(*at(src)) },
		parse: func(c *Config, text string) error {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("%q is not a whole number", text)
			}
			*at(c) = &n
			return nil
		},
		text: func(c *Config) string { return strconv.Itoa(**at(c)) },
	}
}

func sizeField(name string, at func(*Config) **int64) *field {
	return &field{
		name:  name,
		isSet: func(c *Config) bool { return *at(c) != nil },
		copy:  func(dst, src *Config) { *at(dst) = clone(*at(src)) },
		parse: func(c *Config, text string) error {
			n, err := parseSize(text)
			if err == nil {
				*at(c) = &n
			}
			return err
		},
		text: func(c *Config) string { return strconv.FormatInt(**at(c), 10) },
	}
}

func ttlField(name string) *field {
	return &field{
		name:  name,
		isSet: func(c *Config) bool { return c.GCTTL != nil },
		copy:  func(dst, src *Config) { dst.GCTTL = clone(src.GCTTL) },
		parse: func(c *Config, text string) error {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a whole number of seconds", text)
			}
			if n < 1 || n > int64(MaxGCTTL/time.Second) {
				return fmt.Errorf("%d is not between 1 and %d", n, int64(MaxGCTTL/time.Second))
			}
			c.GCTTL = ptr(time.Duration(n) * time.Second)
			return nil
		},
		text: func(c *Config) string { return strconv.FormatInt(int64(*c.GCTTL/time.Second), 10) },
	}
}

func constraintsField(name string, at func(*Config) *[]Conjunction) *field {
	return &field{
		name:  name,
		isSet: func(c *Config) bool { return *at(c) != nil },
		copy:  func(dst, src *Config) { *at(dst) = cloneConjunctions(*at(src)) },
		parse: func(c *Config, text string) error {
			list, err := ParseConstraints(text)
			if err == nil {
				*at(c) = list
			}
			return err
		},
		text: func(c *Config) string { return "'" + FormatConstraints(*at(c)) + "'" },
	}
}

func preferencesField(name string) *field {
	return &field{
		name:  name,
		isSet: func(c *Config) bool { return c.LeasePreferences != nil },
		copy: func(dst, src *Config) {
			dst.LeasePreferences = nil
			for _, p := range src.LeasePreferences {
				dst.LeasePreferences = append(dst.LeasePreferences, append([]Constraint(nil), p...))
			}
			if src.LeasePreferences != nil && dst.LeasePreferences == nil {
				dst.LeasePreferences = [][]Constraint{}
			}
		},
		parse: func(c *Config, text string) error {
			list, err := ParsePreferences(text)
			if err == nil {
				c.LeasePreferences = list
			}
			return err
		},
		text: func(c *Config) string { return "'" + FormatPreferences(c.LeasePreferences) + "'" },
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return ptr(*p)
}

func cloneConjunctions(in []Conjunction) []Conjunction {
	if in == nil {
		return nil
	}
	out := make([]Conjunction, len(in))
	for i, c := range in {
		out[i] = Conjunction{c.NumReplicas, append([]Constraint(nil), c.Constraints...)}
	}
	return out
}

// parseSize reads bytes, or a number with a unit.
func parseSize(text string) (int64, error) {
	t := strings.TrimSpace(text)
	unit := int64(1)
	for _, u := range []struct {
		suffix string
		n      int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(t, u.suffix); ok {
			t, unit = strings.TrimSpace(rest), u.n
			break
		}
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > MaxRangeMaxBytes/unit {
		return 0, fmt.Errorf("%q is not a size between 0 and %d bytes; write bytes or a unit, as in 512MiB", text, int64(MaxRangeMaxBytes))
	}
	return n * unit, nil
}
