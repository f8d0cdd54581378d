package audit

import (
	"slices"
	"strings"
)

// Actions are what statements do.
type Actions uint8

// The actions.
const (
	// Read is that rows of a relation are read, Write that they change.
	Read Actions = 1 << iota
	Write
	// DDL is a change of what the catalog holds, Role one of roles and privileges.
	DDL
	Role
	// Denied is an attempt that was refused because a privilege is missing, whatever it would have done.
	Denied

	None Actions = 0
	All          = Read | Write | DDL | Role | Denied
)

// names are the actions as rules and events name them.
var names = []struct {
	name string
	a    Actions
}{{"read", Read}, {"write", Write}, {"ddl", DDL}, {"role", Role}, {"denied", Denied}}

// String names the actions, commas between them.
func (a Actions) String() string {
	var out []string
	for _, n := range names {
		if a&n.a != 0 {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ",")
}

// Rule is a line.
type Rule struct {
	Line      int
	roles     []role
	relations []pattern
	told      Actions
}

// Rules are the lines in their order.
type Rules []Rule

// role is whom a rule is about.
type role struct {
	all, members bool
	name         string
}

// pattern is a name of relations from its end: of the relation, of its schema, of its database. An empty one fits all, as do
// names that are missing.
type pattern []string

// everything is the part of a name that fits all, and without quotes the role that everyone is.
const (
	anyName  = "*"
	everyone = "all"
)

// User is who runs a statement.
type User struct {
	Name string
	// MemberOf reports whether the user is a member of a role, or is it.
	MemberOf func(role string) bool
}

// Relation is the full name of a relation; the zero one stands for what belongs to none.
type Relation struct{ Database, Schema, Name string }

// Told returns which of some actions of a user on a relation are told.
func (rs Rules) Told(u *User, on Relation, actions Actions) Actions {
	for i := range rs {
		if rs[i].about(u, on) {
			return actions & rs[i].told
		}
	}
	return None
}

func (r *Rule) about(u *User, on Relation) bool {
	return slices.ContainsFunc(r.roles, func(x role) bool { return x.has(u) }) &&
		slices.ContainsFunc(r.relations, func(p pattern) bool { return p.fits(on) })
}

func (x role) has(u *User) bool {
	switch {
	case x.all:
		return true
	case x.members:
		return u.MemberOf(x.name)
	}
	return x.name == u.Name
}

func (p pattern) fits(on Relation) bool {
	if len(p) > 0 && on == (Relation{}) {
		return false
	}
	for i, name := range [...]string{on.Name, on.Schema, on.Database} {
		if i < len(p) && p[i] != anyName && p[i] != name {
			return false
		}
	}
	return true
}
