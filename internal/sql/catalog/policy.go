package catalog

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Policy is a policy of row-level security: which rows of its table roles see, and which they may write.
type Policy struct {
	Oid  uint32
	Name string
	// Restrictive policies must all hold, of the others one.
	Restrictive bool `json:",omitempty"`
	Command     byte // as in pg_policy.polcmd
	// Roles are those that the policy is for, and their members; privilege.Public is everybody.
	Roles []privilege.Role
	// Using and Check are the conditions, each the only column of a query of the table, so that they follow what they
	// name as the queries of views do; nil for none.
	Using   *View  `json:",omitempty"`
	Check   *View  `json:",omitempty"`
	Comment string `json:",omitempty"`
}

// For reports whether the policy is for a command.
func (p *Policy) For(command byte) bool { return p.Command == command || p.Command == ast.PolicyAll }

// Of reports whether the policy is for a role.
func (p *Policy) Of(a *Authority) bool {
	return slices.ContainsFunc(p.Roles, func(r privilege.Role) bool { return r == privilege.Public || a.Has(r) })
}

// Read is the condition for rows that are there.
func (p *Policy) Read() *View { return p.Using }

// Written is the condition for rows that are written.
func (p *Policy) Written() *View {
	if p.Check != nil {
		return p.Check
	}
	return p.Using
}

// Queries returns where the policy has its conditions.
func (p *Policy) Queries() []**View {
	var list []**View
	for _, v := range [...]**View{&p.Using, &p.Check} {
		if *v != nil {
			list = append(list, v)
		}
	}
	return list
}

// PolicyByName returns the position of a policy, -1 if there is none of the name.
func (t *Table) PolicyByName(name string) int {
	return slices.IndexFunc(t.Policies, func(p Policy) bool { return p.Name == name })
}

// AddPolicy adds a policy; they are in the order of their names, in which PostgreSQL looks at them.
func (t *Table) AddPolicy(p Policy) {
	t.Policies = append(slices.Clip(t.Policies), p)
	slices.SortFunc(t.Policies, func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) })
}

// clonePolicies gives the copy of a table policies of its own.
func (t *Table) clonePolicies() {
	t.Policies = slices.Clone(t.Policies)
	for i := range t.Policies {
		p := &t.Policies[i]
		p.Roles = slices.Clone(p.Roles)
		for _, v := range p.Queries() {
			c := **v
			*v = &c
		}
	}
}

// policyOids passes the oids of the policies to f until that says no.
func (t *Table) policyOids(f func(uint32) bool) bool {
	return !slices.ContainsFunc(t.Policies, func(p Policy) bool { return !f(p.Oid) })
}

// eachPolicyText passes the conditions of the policies to f until that says no.
func (t *Table) eachPolicyText(f func(string) bool) bool {
	for i := range t.Policies {
		for _, v := range t.Policies[i].Queries() {
			if !f((*v).Query) {
				return false
			}
		}
	}
	return true
}
