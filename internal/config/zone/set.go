package zone

import (
	"bytes"
	"fmt"
	"slices"
)

// Span is a stored zone: the keys from Start up to End that its record holds for. An
// empty Start is before all keys, an empty End after all.
type Span struct {
	Start []byte
	Record
}

func (s *Span) contains(key []byte) bool {
	return bytes.Compare(s.Start, key) <= 0 && (len(s.End) == 0 || bytes.Compare(key, s.End) < 0)
}

// Set is the zones of a cluster. Two zones are disjoint, or one lies inside the
// other: an index in a table, a table in a database, everything in the default.
// A Set does not change.
type Set struct {
	spans  []Span // by start, of equal starts the larger first
	parent []int  // the smallest zone around each, -1 if none
	full   []Config
}

// NewSet makes a Set. It fails if two zones overlap without one containing the
// other, which no sequence of statements brings about.
func NewSet(spans []Span) (*Set, error) {
	s := &Set{spans: slices.Clone(spans)}
	slices.SortFunc(s.spans, func(a, b Span) int {
		if c := bytes.Compare(a.Start, b.Start); c != 0 {
			return c
		}
		return compareEnds(b.End, a.End)
	})
	s.parent = make([]int, len(s.spans))
	s.full = make([]Config, len(s.spans))
	up := -1
	for i := range s.spans {
		x := &s.spans[i]
		for up >= 0 && !s.spans[up].contains(x.Start) {
			up = s.parent[up]
		}
		if up >= 0 && compareEnds(x.End, s.spans[up].End) > 0 {
			return nil, fmt.Errorf("the zones at %q and %q overlap", s.spans[up].Start, x.Start)
		}
		s.parent[i] = up
		chain := []Config{x.Config}
		for p := up; p >= 0; p = s.parent[p] {
			chain = append(chain, s.spans[p].Config)
		}
		s.full[i] = Resolve(chain...)
		up = i
	}
	return s, nil
}

// compareEnds orders ends of spans; an empty one is after all keys.
func compareEnds(a, b []byte) int {
	switch {
	case len(a) == 0 && len(b) == 0:
		return 0
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a, b)
}

// at returns the smallest zone that holds key, -1 if none does.
func (s *Set) at(key []byte) int {
	i, _ := slices.BinarySearchFunc(s.spans, key, func(x Span, k []byte) int {
		if bytes.Compare(x.Start, k) <= 0 {
			return -1
		}
		return 1
	})
	for i--; i >= 0 && !s.spans[i].contains(key); {
		i = s.parent[i]
	}
	return i
}

// At returns the resolved configuration of a key, and the zone that it comes from
// first of all, nil if no zone holds the key.
func (s *Set) At(key []byte) (Config, *Span) {
	i := s.at(key)
	if i < 0 {
		return Default(), nil
	}
	return s.full[i], &s.spans[i]
}

// Spans returns all zones by their start. They must not be changed.
func (s *Set) Spans() []Span { return s.spans }

// Validate checks the resolved configuration of each zone that lies in the keys
// from start to end; bad is the zone at fault.
func (s *Set) Validate(start, end []byte) (bad *Span, err error) {
	for i := range s.spans {
		x := &s.spans[i]
		if bytes.Compare(x.Start, start) < 0 || compareEnds(x.End, end) > 0 {
			continue
		}
		if err := s.full[i].Validate(); err != nil {
			return x, err
		}
	}
	return nil, nil
}

// SplitKeys returns the keys in (start, end), in order, at which one zone gives way
// to another: ranges have to end there. An empty end is after all keys.
func (s *Set) SplitKeys(start, end []byte) [][]byte {
	var out [][]byte
	add := func(key []byte) {
		if len(key) > 0 && bytes.Compare(key, start) > 0 && (len(end) == 0 || bytes.Compare(key, end) < 0) {
			out = append(out, key)
		}
	}
	for i := range s.spans {
		add(s.spans[i].Start)
		add(s.spans[i].End)
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal)
}
