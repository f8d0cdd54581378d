package privilege

import "slices"

// Item is what one role has granted another.
type Item struct {
	Grantee Role // or Public
	Grantor Role
	// Privileges are granted; Options are those of them that the grantee may grant on.
	Privileges Bits
	Options    Bits `json:",omitempty"`
}

// ACL is who may do what with an object: see the package's comment on nil.
type ACL []Item

// Or returns the list, the default one of the kind if it is nil.
func (a ACL) Or(k Kind, owner Role) ACL {
	if a == nil {
		return k.Default(owner)
	}
	return a
}

// Mask returns which of the privileges wanted the list grants to who acts as the roles that has
// reports, everybody's included, and which of them they may grant on. An owner may grant everything
// on.
func (a ACL) Mask(owner Role, has func(Role) bool, want Bits) (privileges, options Bits) {
	for i := range a {
		if it := &a[i]; it.Grantee == Public || has(it.Grantee) {
			privileges |= it.Privileges
			options |= it.Options
		}
	}
	if has(owner) {
		options = want
	}
	return privileges & want, options & want
}

// optionsOf returns what a role itself may grant on.
func (a ACL) optionsOf(owner, role Role) (options Bits) {
	if role == owner {
		return ^Bits(0)
	}
	for i := range a {
		if a[i].Grantee == role {
			options |= a[i].Options
		}
	}
	return options
}

// Grantor returns as whom somebody grants or revokes privileges: as the owner where it acts as that,
// otherwise as that of its roles which may grant most of them on. roles are its own first. options are
// those that the grantor may grant on, which may be none.
func (a ACL) Grantor(owner Role, roles []Role, want Bits) (grantor Role, options Bits) {
	if slices.Contains(roles, owner) {
		return owner, want
	}
	grantor = roles[0]
	for _, r := range roles {
		may := a.optionsOf(owner, r) & want
		if may == want {
			return r, may
		}
		if count(may) > count(options) {
			grantor, options = r, may
		}
	}
	return grantor, options
}

// count returns how many privileges there are in a set.
func count(b Bits) (n int) {
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}

// Mentions reports whether the list has a role as grantee or grantor.
func (a ACL) Mentions(r Role) bool {
	return slices.ContainsFunc(a, func(it Item) bool { return it.Grantee == r || it.Grantor == r })
}

// valid says what is wrong with the list of an object with that owner; "" if nothing is.
func (a ACL) valid(owner Role) string {
	for i, it := range a {
		switch {
		case it.Privileges == 0:
			return "an item grants nothing"
		case it.Options&^it.Privileges != 0:
			return "an option without its privilege"
		case it.Grantee == Public && it.Options != 0:
			return "everybody may grant on"
		case it.Privileges&^a.optionsOf(owner, it.Grantor) != 0:
			return "the grantor may not grant it"
		}
		for _, o := range a[:i] {
			if o.Grantee == it.Grantee && o.Grantor == it.Grantor {
				return "two items of one grantee and grantor"
			}
		}
	}
	return ""
}

// OfColumn returns the list of a table with that of a column: what both grant, as it may be granted on, once.
func (a ACL) OfColumn(column ACL) ACL {
	list := slices.Clone(a)
	for _, it := range column {
		for bit := Bits(1); bit != 0; bit <<= 1 {
			one := Item{Grantee: it.Grantee, Grantor: it.Grantor, Privileges: it.Privileges & bit, Options: it.Options & bit}
			same := func(x Item) bool {
				return x.Grantee == one.Grantee && x.Grantor == one.Grantor && x.Privileges&bit != 0 && x.Options&bit == one.Options
			}
			if one.Privileges != 0 && !slices.ContainsFunc(list, same) {
				list = append(list, one)
			}
		}
	}
	return list
}
