package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// Parse reads rules, one a line.
func Parse(text string) (Rules, error) {
	lines, err := rulelines.Split(text)
	if err != nil {
		return nil, err
	}
	var out Rules
	for _, l := range lines {
		r, err := parse(l.Fields)
		if err != nil {
			return nil, l.Errorf("%w", err)
		}
		r.Line = l.Number
		out = append(out, r)
	}
	return out, nil
}

func parse(fields [][]rulelines.Name) (r Rule, err error) {
	if len(fields) != 3 {
		return r, fmt.Errorf("a rule has three fields: roles, relations and actions, such as \"all bank.public.accounts read,write\"")
	}
	for _, n := range fields[0] {
		r.roles = append(r.roles, parseRole(n))
	}
	for _, n := range fields[1] {
		p, err := parsePattern(n)
		if err != nil {
			return r, err
		}
		r.relations = append(r.relations, p)
	}
	r.told, err = parseActions(fields[2])
	return r, err
}

func parseRole(n rulelines.Name) role {
	switch {
	case n.Quoted:
		return role{name: n.Text}
	case n.Text == everyone:
		return role{all: true}
	case len(n.Text) > 1 && n.Text[0] == '+':
		return role{members: true, name: n.Text[1:]}
	}
	return role{name: n.Text}
}

func parsePattern(n rulelines.Name) (pattern, error) {
	if !n.Quoted && n.Text == everyone {
		return pattern{}, nil
	}
	p := strings.Split(n.Text, ".")
	if len(p) > 3 || slices.Contains(p, "") {
		return nil, fmt.Errorf("%q is no relation: write all, table, schema.table or database.schema.table, and * for any name", n.Text)
	}
	slices.Reverse(p)
	return p, nil
}

func parseActions(list []rulelines.Name) (a Actions, err error) {
	for _, n := range list {
		i := slices.IndexFunc(names, func(x struct {
			name string
			a    Actions
		}) bool {
			return x.name == n.Text
		})
		switch {
		case n.Text == "all":
			a |= All
		case n.Text == "none" && len(list) == 1:
		case i >= 0:
			a |= names[i].a
		default:
			return a, fmt.Errorf("%q is no action; there are read, write, ddl, role, denied, all, and none by itself", n.Text)
		}
	}
	return a, nil
}
