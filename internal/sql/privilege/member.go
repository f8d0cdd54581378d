package privilege

// Membership says that a role is a member of another.
type Membership struct {
	Of      Role // the role whose member it is
	Grantor Role
	// Admin says that the member may make others members.
	Admin bool `json:",omitempty"`
}

// Graph knows what roles are members of.
type Graph interface {
	// MemberOf returns the memberships of a role.
	MemberOf(Role) []Membership
	// Inherits reports whether a role uses the privileges of those whose member it is without
	// SET ROLE.
	Inherits(Role) bool
}

// Roles returns a role with all whose member it is, however indirectly: those as which it may act
// after SET ROLE, or, with inherited, those whose privileges it has as it is. It comes first.
func Roles(g Graph, role Role, inherited bool) []Role {
	out := []Role{role}
	seen := map[Role]bool{role: true}
	for i := 0; i < len(out); i++ {
		if inherited && !g.Inherits(out[i]) {
			continue
		}
		for _, m := range g.MemberOf(out[i]) {
			if !seen[m.Of] {
				seen[m.Of] = true
				out = append(out, m.Of)
			}
		}
	}
	return out
}

// Administers reports whether a role may make others members of another: whether it, or a role whose
// member it is, has the ADMIN OPTION.
func Administers(g Graph, role, of Role) bool {
	for _, r := range Roles(g, role, false) {
		for _, m := range g.MemberOf(r) {
			if m.Of == of && m.Admin {
				return true
			}
		}
	}
	return false
}

// Circular reports whether making a role a member of another would make it one of itself.
func Circular(g Graph, role, of Role) bool {
	for _, r := range Roles(g, of, false) {
		if r == role {
			return true
		}
	}
	return false
}
