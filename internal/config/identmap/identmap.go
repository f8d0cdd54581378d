package identmap

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// found stands in the name of a role for what the first group of the regular expression has found.
const found = `\1`

// Mapping is a line: in the map of a name, whom a name elsewhere lets in as which role.
type Mapping struct {
	Line           int
	Map            string
	System         string // a name, or behind a slash a regular expression for it
	Role           string
	expr           *regexp.Regexp // nil if System is a name
	replacesInRole bool
}

// Maps are the lines of all maps.
type Maps []Mapping

// Parse reads maps, a line for each mapping.
func Parse(text string) (Maps, error) {
	lines, err := rulelines.Split(text)
	if err != nil {
		return nil, err
	}
	var out Maps
	for _, l := range lines {
		m, err := parse(l.Fields)
		if err != nil {
			return nil, l.Errorf("%w", err)
		}
		m.Line = l.Number
		out = append(out, m)
	}
	return out, nil
}

func parse(fields [][]rulelines.Name) (m Mapping, err error) {
	if len(fields) != 3 {
		return m, errors.New("a line has three fields: the name of the map, the name that a client shows, or /REGULAR-EXPRESSION for it, and the role")
	}
	for i, f := range fields {
		if len(f) != 1 {
			return m, fmt.Errorf("multiple values in field %d of an ident line", i+1)
		}
	}
	m.Map, m.System, m.Role = fields[0][0].Text, fields[1][0].Text, fields[2][0].Text
	expr, is := strings.CutPrefix(m.System, "/")
	if !is {
		return m, nil
	}
	if m.expr, err = regexp.Compile(expr); err != nil {
		return m, fmt.Errorf("invalid regular expression %q: %w", expr, err)
	}
	m.replacesInRole = strings.Contains(m.Role, found)
	if m.replacesInRole && m.expr.NumSubexp() == 0 {
		return m, fmt.Errorf("regular expression %q has no subexpressions as requested by backreference in %q", expr, m.Role)
	}
	return m, nil
}

// Allow reports whether a map lets in as a role whoever has a name elsewhere. As in PostgreSQL, a regular expression need
// not fit the whole name unless it says so by ^ and $.
func (ms Maps) Allow(name, system, role string) bool {
	for i := range ms {
		if m := &ms[i]; m.Map == name && m.fits(system, role) {
			return true
		}
	}
	return false
}

func (m *Mapping) fits(system, role string) bool {
	if m.expr == nil {
		return m.System == system && m.Role == role
	}
	groups := m.expr.FindStringSubmatch(system)
	if groups == nil {
		return false
	}
	want := m.Role
	if m.replacesInRole {
		want = strings.Replace(want, found, groups[1], 1)
	}
	return want == role && want != ""
}
